// SPDX-License-Identifier: Apache-2.0
// Tensors and their elements, summed up by dtype.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

struct DtypeCount {
    std::string dtype;  ///< as safetensors names it: "BF16"
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
    Bytes bytes = 0;
};

struct DtypeCounts {
    std::vector<DtypeCount> dtypes;  ///< the most bytes first
    DtypeCount total;
};

class DtypeCounter {
public:
    /// Error where the sums exceed 64 bits.
    Result<void> add(const std::string& dtype, std::int64_t elements, Bytes bytes);
    DtypeCounts counts() const;

private:
    std::map<std::string, DtypeCount> by_dtype_;
    DtypeCount total_;
};

/// {"tensors", "parameters", "bytes", "dtypes": {"BF16": {…}}}
Json to_json(const DtypeCounts& counts);

}  // namespace plimsoll
