// SPDX-License-Identifier: Apache-2.0
#include "core/interop/model_files/dtype_counts.h"

#include <algorithm>

namespace plimsoll {

Result<void> DtypeCounter::add(const std::string& dtype, std::int64_t elements, Bytes bytes) {
    DtypeCount& each = by_dtype_[dtype];
    each.dtype = dtype;
    for (DtypeCount* sum : {&each, &total_}) {
        ++sum->tensors;
        if (__builtin_add_overflow(sum->parameters, elements, &sum->parameters) ||
            __builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
            return bad_input("the tensors have more elements than 64 bits can count");
    }
    return {};
}

DtypeCounts DtypeCounter::counts() const {
    DtypeCounts counts{{}, total_};
    for (const auto& [dtype, each] : by_dtype_) counts.dtypes.push_back(each);
    std::stable_sort(counts.dtypes.begin(), counts.dtypes.end(),
                     [](const DtypeCount& a, const DtypeCount& b) { return a.bytes > b.bytes; });
    return counts;
}

Json to_json(const DtypeCounts& counts) {
    const auto json_of = [](const DtypeCount& each) {
        return Json{{"tensors", each.tensors}, {"parameters", each.parameters}, {"bytes", each.bytes}};
    };
    Json dtypes = Json::object();
    for (const DtypeCount& each : counts.dtypes) dtypes[each.dtype] = json_of(each);
    Json json = json_of(counts.total);
    json["dtypes"] = std::move(dtypes);
    return json;
}

}  // namespace plimsoll
