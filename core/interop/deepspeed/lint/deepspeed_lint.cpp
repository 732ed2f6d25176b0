// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

#include <algorithm>
#include <array>

#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"
#include "core/plan/parameters.h"

namespace plimsoll {

namespace {

using deepspeed::Case;
using Level = DeepSpeedFinding::Level;

Result<std::int64_t> data_parallel_ranks(const DeepSpeedLaunch& launch) {
    for (const auto& [name, value] : {std::pair{"tp", launch.tp}, {"pp", launch.pp}, {"sp", launch.sp}}) {
        if (value < 1 || value > 1'000'000) return bad_input("--{} is {}: 1 to 1,000,000 is possible", name, value);
    }
    if (launch.world == 0) return 0;
    const std::int64_t each = launch.tp * launch.pp * launch.sp;
    if (launch.world < 0 || launch.world % each != 0) {
        return bad_input("--world {} is not a multiple of tp x pp x sp = {} ranks: give a multiple", launch.world,
                         each);
    }
    return launch.world / each;
}

/// What has to be the same in the training arguments.
void note_training_arguments(Case& c) {
    struct Pair {
        const char* path;
        const char* argument;
    };
    constexpr std::array<Pair, 7> pairs{{{"train_micro_batch_size_per_gpu", "per_device_train_batch_size"},
                                         {"gradient_accumulation_steps", "gradient_accumulation_steps"},
                                         {"gradient_clipping", "max_grad_norm"},
                                         {"optimizer.params.lr", "learning_rate"},
                                         {"optimizer.params.weight_decay", "weight_decay"},
                                         {"scheduler.params.warmup_num_steps", "warmup_steps"},
                                         {"scheduler.params.total_num_steps", "max_steps"}}};
    std::vector<std::string> needed;
    for (const Pair& pair : pairs) {
        if (const Json* value = c.at(pair.path); value && value->is_number()) {
            needed.push_back(fmt::format("{}={}", pair.argument, shown(*value)));
        }
    }
    if (needed.empty()) return;
    c.note("hf-mismatch", "", "the training arguments have to say the same, or the Trainer refuses the file: {}",
           fmt::join(needed, ", "));
}

}  // namespace

std::string_view level_name(Level level) {
    constexpr std::array<std::string_view, 5> names{"refused", "danger", "ignored", "deprecated", "note"};
    return names[static_cast<std::size_t>(level)];
}

bool DeepSpeedLint::accepted() const {
    return std::none_of(findings.begin(), findings.end(),
                        [](const DeepSpeedFinding& each) { return each.level == Level::Refused; });
}

bool DeepSpeedLint::clean() const { return troubles() == 0; }

std::size_t DeepSpeedLint::troubles() const {
    return static_cast<std::size_t>(std::count_if(
        findings.begin(), findings.end(), [](const DeepSpeedFinding& each) { return each.level < Level::Deprecated; }));
}

DeepSpeedLaunch deepspeed_launch(const Plan& plan) {
    DeepSpeedLaunch launch;
    launch.world = plan.layout.world_size();
    launch.tp = plan.layout.tp;
    launch.pp = plan.layout.pp;
    launch.sp = plan.layout.cp;
    launch.gpus_per_node = plan.cluster.gpus_per_node;
    launch.parameters = count_parameters(plan.model).total;
    launch.release = plan.exports.deepspeed_release;
    return launch;
}

Result<DeepSpeedLint> lint_deepspeed(std::string_view text, const std::string& what, const DeepSpeedLaunch& launch) {
    PLIMSOLL_TRY(const DeepSpeedSchema& schema, deepspeed_schema());
    PLIMSOLL_TRY(const DeepSpeedRelease release, known_deepspeed_release(launch.release));
    PLIMSOLL_TRY(const std::int64_t ranks, data_parallel_ranks(launch));
    PLIMSOLL_TRY(const RelaxedJson file, parse_relaxed_json(text, what));
    if (!file.json.is_object()) return bad_input("{}: a DeepSpeed config is an object {{…}}", what);

    Case c(file.json, schema, release, launch);
    c.lint.data_parallel = ranks;
    c.lint.zero_stage = c.stage();
    if (!file.not_strict.empty()) {
        c.add(launch.hugging_face ? Level::Danger : Level::Note, "strict-json", "",
              fmt::format("{}: DeepSpeed reads hjson (comments, missing or trailing commas, names without quotes), "
                          "Accelerate and the Trainer read strict JSON alone",
                          file.not_strict));
    }
    deepspeed::lint_keys(c);
    deepspeed::lint_ranks(c);
    deepspeed::lint_batch(c);
    deepspeed::lint_elasticity(c);
    deepspeed::lint_precision(c);
    deepspeed::lint_zero(c);
    deepspeed::lint_optimizer(c);
    deepspeed::lint_scheduler(c);
    deepspeed::lint_activations(c);
    deepspeed::lint_defaults(c);
    if (launch.hugging_face) note_training_arguments(c);
    std::stable_sort(c.lint.findings.begin(), c.lint.findings.end(),
                     [](const DeepSpeedFinding& a, const DeepSpeedFinding& b) { return a.level < b.level; });
    return std::move(c.lint);
}

Json to_json(const DeepSpeedLint& lint, const DeepSpeedLaunch& launch) {
    Json findings = Json::array();
    for (const DeepSpeedFinding& each : lint.findings) {
        findings.push_back(
            {{"level", level_name(each.level)}, {"rule", each.rule}, {"key", each.key}, {"sentence", each.sentence}});
    }
    Json json{{"release", launch.release},
              {"accepted", lint.accepted()},
              {"clean", lint.clean()},
              {"zero_stage", lint.zero_stage},
              {"findings", std::move(findings)}};
    if (lint.data_parallel > 0) json["data_parallel"] = lint.data_parallel;
    if (lint.batch) {
        json["batch"] = {{"train_batch_size", lint.batch->train},
                         {"train_micro_batch_size_per_gpu", lint.batch->micro},
                         {"gradient_accumulation_steps", lint.batch->accumulation}};
    }
    return json;
}

}  // namespace plimsoll
