// SPDX-License-Identifier: Apache-2.0
// "-" for the name of a file that is read: standard input.
#pragma once

#include <string>
#include <vector>

#include "core/base/fd.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll::cli {

/// Standard input, read to its end into memory of this process, where every reader of files can read it.
class StandardInput {
public:
    /// Replaces each "-" among the arguments, but for the value of an option that names an output, by the path of what
    /// standard input holds; reads nothing where there is none. Bad input when standard input holds more than `limit`.
    Result<void> replace_in(std::vector<std::string>& arguments, Bytes limit = GiB);
    /// The sentence with "standard input" in place of that path.
    std::string named(std::string sentence) const;

private:
    Result<void> read_all(Bytes limit);

    Fd memory_;
    std::string path_;
};

/// The argument, or "standard input" where it stands for that.
std::string shown_name(const std::string& argument);

}  // namespace plimsoll::cli
