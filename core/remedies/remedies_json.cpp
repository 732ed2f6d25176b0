// SPDX-License-Identifier: Apache-2.0
#include "core/remedies/remedies_json.h"
#include "core/base/json.h"
#include "core/estimate/estimate_json.h"

namespace plimsoll {

namespace {

Json in_json(const Remedy& remedy) {
    Json json{{"name", remedy.name},         {"settings", remedy.settings}, {"saves_bytes", remedy.saves},
              {"total_bytes", remedy.total}, {"host_bytes", remedy.host},   {"slowdown", remedy.slowdown},
              {"fits", remedy.fits},         {"exact", remedy.exact},       {"adapters", remedy.adapters},
              {"reason", remedy.reason},     {"source", remedy.source}};
    if (!remedy.parts.empty()) json["parts"] = remedy.parts;
    return json;
}

}  // namespace

Json to_json(const Remedies& remedies) {
    Json changes = Json::array();
    for (const Remedy& remedy : remedies.changes) changes.push_back(in_json(remedy));
    return {{"why", remedies.why},
            {"remedies", std::move(changes)},
            {"set", remedies.set ? in_json(*remedies.set) : Json()},
            {"least_bytes", remedies.least}};
}

}  // namespace plimsoll
