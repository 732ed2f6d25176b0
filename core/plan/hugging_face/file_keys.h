// SPDX-License-Identifier: Apache-2.0
// What becomes of the keys of another tool's file, and what is said of those that a plan has no word for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"

namespace plimsoll {

enum class KeyUse {
    Understood,  ///< read into a field of the plan
    Harmless,    ///< says nothing of the model: of the file, or of the program that reads it
    Kept,        ///< changes no weight and no loss; an export writes it back
    Judged,      ///< fine where it says what is computed here, else a KeyFinding
};

/// A row of a format's table of keys.
struct FileKey {
    std::string_view name;
    KeyUse use;
    std::string_view reason;  ///< why it is harmless or kept; what a judged key asks for
    /// Judged: the values that ask for nothing, as JSON with | between; empty: false, 0, "", [] and {}. Null never does.
    std::string_view neutral = "";
};

/// Whether a judged key asks for nothing (FileKey::neutral).
bool is_neutral(const Json& value, std::string_view neutral = "");

/// The value under a key; null where the document is no object or has no such key.
const Json& value_under(const Json& document, const char* key);

struct KeyFinding {
    enum class Weight {
        Told,         ///< a key that is not known, or a setting of the training that a plan does not take over
        NotComputed,  ///< another model than the engine computes: a run from its weights is refused
        Refused,      ///< the plan would have other sizes than the model
    };
    std::string key;
    std::string sentence;  ///< "sliding_window is 4096: …"
    Weight weight = Weight::Told;
    /// NotComputed: up to sequences of so many tokens the model is the same nevertheless; 0: for none.
    std::int64_t up_to = 0;

    bool applies_at(std::int64_t sequence_length) const { return up_to == 0 || sequence_length > up_to; }
};
using KeyFindings = std::vector<KeyFinding>;

}  // namespace plimsoll
