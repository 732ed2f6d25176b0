// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/json.h"
#include "core/estimate/reduce_bucket.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/plan/parameters.h"

namespace plimsoll::deepspeed {

namespace {

std::string_view offload_name(Offload offload) { return name_of(offload); }

/// The bucket size of the stage with the most parameters, because all stages share one file. The number is even,
/// because ZeRO stages 1 and 2 split the all-gather bucket in two.
std::int64_t bucket_elements(const Plan& plan) {
    Count largest;
    for (const Slice& stage : slices(plan)) largest = std::max(largest, reduce_bucket_elements(stage.trained()));
    const std::int64_t elements = largest.value();
    return std::max<std::int64_t>(elements - elements % 2, 2);
}

/// The largest weight matrix; transformers keeps all experts' gate and up projections of a layer in one tensor.
std::int64_t largest_parameter(const Model& model) {
    const std::int64_t embedding = model.vocab_size * model.hidden_size;
    const std::int64_t matrices = model.moe() ? 2 * model.num_experts : 1;
    return std::max(embedding, matrices * model.hidden_size * model.ffn_hidden_size);
}

/// pin_memory is written because its default changed in 0.19.5.
Json offload(Offload where, const Plan& plan) {
    Json block{{"device", offload_name(where)}};
    if (where == Offload::Nvme) block["nvme_path"] = plan.layout.nvme_path;
    block["pin_memory"] = true;
    return block;
}

Json offload_param(const Plan& plan) {
    Json block = offload(plan.layout.offload_parameters, plan);
    if (plan.layout.offload_parameters == Offload::Nvme) {
        // A rank's part of a parameter that does not fit into a buffer fails an assertion at the first step.
        const std::int64_t part = (largest_parameter(plan.model) + plan.layout.dp - 1) / plan.layout.dp;
        block["buffer_count"] = 5;
        block["buffer_size"] = std::max<std::int64_t>(100'000'000, part);
    }
    return block;
}

/// The sizes that the Hugging Face Trainer fills in for "auto".
void add_stage_3(Json& zero, const Plan& plan) {
    const std::int64_t hidden = plan.model.hidden_size;
    const std::int64_t parameters = count_parameters(plan.model).total;
    zero["sub_group_size"] = 1'000'000'000;
    zero["stage3_prefetch_bucket_size"] = std::min(hidden * hidden * 9 / 10, parameters);
    zero["stage3_param_persistence_threshold"] = 10 * hidden;
    zero["stage3_max_live_parameters"] = 1'000'000'000;
    zero["stage3_max_reuse_distance"] = 1'000'000'000;
    zero["stage3_gather_16bit_weights_on_model_save"] = true;
}

}  // namespace

std::int64_t exported_stage(const Plan& plan) { return deepspeed_stage(plan); }

Json zero_optimization(const Plan& plan, Notes& notes) {
    const std::int64_t stage = exported_stage(plan);
    if (stage != plan.layout.zero_stage) {
        notes.push_back(
            fmt::format("ZeRO stage 1 is exported in place of stage 0: DeepSpeed's stage 0 does not train {} correctly "
                        "(DeepSpeed pull "
                        "requests 8393 and 7839). The mathematics is the same, the optimizer states are sharded.",
                        name_of(plan.numerics.dtype)));
    }
    Json zero{{"stage", stage}};
    if (stage == 0) return zero;

    zero["contiguous_gradients"] = true;
    zero["overlap_comm"] = overlaps_reduction(plan);
    zero["reduce_scatter"] = true;
    zero["reduce_bucket_size"] = bucket_elements(plan);
    if (stage < 3) {
        zero["allgather_partitions"] = true;
        zero["allgather_bucket_size"] = bucket_elements(plan);
    }
    if (plan.layout.offload_optimizer != Offload::None) {
        zero["offload_optimizer"] = offload(plan.layout.offload_optimizer, plan);
    }
    if (stage == 3) {
        if (plan.layout.offload_parameters != Offload::None) zero["offload_param"] = offload_param(plan);
        add_stage_3(zero, plan);
        notes.push_back(
            "With the Hugging Face Trainer, take train_batch_size out of the file: ZeRO-3 builds the model before the ranks "
            "have met, and DeepSpeed then checks the batch against one rank.");
        if (plan.model.moe()) {
            notes.push_back(
                "ZeRO-3 has to fetch a mixture-of-experts block as one: call deepspeed.utils.set_z3_leaf_modules on its "
                "class before deepspeed.initialize (0.18.9 and later know the one of Mixtral).");
        }
    }
    return zero;
}

}  // namespace plimsoll::deepspeed
