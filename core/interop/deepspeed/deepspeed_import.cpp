// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import.h"

#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/deepspeed_import_parts.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

Result<DeepSpeedImport> import_deepspeed(const Json& file, const Plan& base, const std::string& what) try {
    if (!file.is_object()) return bad_input("{}: a DeepSpeed config is an object {{…}}", what);
    PLIMSOLL_TRY(const DeepSpeedSchema& schema, deepspeed_schema());
    PLIMSOLL_TRY(const DeepSpeedRelease release, deepspeed_release(base.exports.deepspeed_release));
    DeepSpeedImport result{base, {}};
    Plan& plan = result.plan;
    Json source = plan.source->is_object() ? *plan.source : Json::object();
    source.erase("deepspeed");
    plan.source = source;

    std::vector<std::string> names;
    deepspeed::Import import(deepspeed::under_todays_names(file, schema, names), what, plan, schema, release);
    deepspeed::read_batch(import);
    deepspeed::read_optimizer(import);
    deepspeed::read_scheduler(import);
    deepspeed::read_precision(import);
    deepspeed::read_zero(import);
    deepspeed::read_recomputation(import);
    // Ranges are checked when a document is read.
    PLIMSOLL_CHECK(plan_from_json(to_json(plan), what));
    const auto exported = export_deepspeed(plan);
    if (!exported) return bad_input("{}: {}", what, exported.error().message);
    const Json kept = deepspeed::what_is_kept(import, exported->json);
    deepspeed::note_decisions(import);
    result.notes = std::move(names);
    result.notes.insert(result.notes.end(), import.notes.begin(), import.notes.end());
    if (!kept.empty()) {
        source["deepspeed"] = kept;
        plan.source = std::move(source);
    }
    Json final = exported->json;
    deepspeed::add_kept(final, plan);
    deepspeed::note_refused(final, plan, result.notes);
    return result;
} catch (const deepspeed::Wrong& wrong) {
    return tl::unexpected(wrong.error);
}

}  // namespace plimsoll
