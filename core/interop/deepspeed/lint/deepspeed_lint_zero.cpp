// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

constexpr std::string_view zero = "zero_optimization";
std::string zero_key(std::string_view name) { return fmt::format("{}.{}", zero, name); }

void check_old_forms(Case& c) {
    if (const Json* value = c.at(zero); value && value->is_boolean()) {
        c.deprecated("zero-boolean", zero, R"({} is an old form and means stage {}: write {{"stage": {}}})",
                     shown(*value), c.stage(), c.stage());
    }
    constexpr std::array<std::array<std::string_view, 2>, 3> replaced{
        {{"cpu_offload", "offload_optimizer"},
         {"cpu_offload_param", "offload_param"},
         {"stage3_gather_fp16_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save"}}};
    for (const auto& [old, now] : replaced) {
        if (c.has(zero_key(old)) && c.has(zero_key(now))) {
            c.refused("old-and-new", zero_key(old), "it stands beside {}, which replaced it: take it out", now);
        }
    }
    if (c.flag(zero_key("legacy_stage1")) && c.stage() == 1) {
        c.refused("legacy-stage-1", zero_key("legacy_stage1"), "no release since 0.5.9 has it: take it out");
    }
}

void check_pipeline(Case& c) {
    if (c.launch.pp > 1 && c.stage() > 1) {
        c.refused(
            "zero-and-pipeline", zero_key("stage"),
            "ZeRO-{} does not go with pipeline stages, whose micro-batches would reduce gradients each time: write stage 1",
            c.stage());
    }
}

void check_nvme(Case& c, std::string_view block) {
    if (c.offload(block) != "nvme") return;
    const std::string path = zero_key(block);
    if (c.text(path + ".nvme_path").empty()) {
        c.refused("nvme-path", path + ".nvme_path", "device nvme needs a folder on the drive: write nvme_path");
    }
    if (block == "offload_optimizer" && c.stage() != 3) {
        c.danger("nvme-stage", path + ".device", "nvme needs stage 3; stage {} treats it as cpu: write cpu, or stage 3",
                 c.stage());
    }
}

void check_offload(Case& c) {
    for (const std::string_view block : {"offload_optimizer", "offload_param"}) check_nvme(c, block);
    if (c.offload("offload_param") != "none" && c.stage() != 3) {
        c.ignored("offload-param-stage", zero_key("offload_param"),
                  "parameters are sharded at stage 3 only; at stage {} nothing happens: write stage 3, or take it out",
                  c.stage());
    }
    if (c.offload("offload_optimizer") != "none" && c.stage() == 0) {
        c.danger("offload-stage", zero_key("offload_optimizer"),
                 "at stage 0 the optimizer moves to the CPU but nothing is sharded: write stage 1, or take it out");
    }
    const double ratio = c.number(zero_key("offload_optimizer.ratio"));
    if (c.at(zero_key("offload_optimizer.ratio")) && ratio < 1 && c.stage() != 3) {
        constexpr std::string_view cure = "write 1, or stage 3";
        if (c.release > DeepSpeedRelease{14, 5}) {
            c.refused("offload-ratio", zero_key("offload_optimizer.ratio"),
                      "a part of the optimizer is offloaded at stage 3 only: {}", cure);
        } else {
            c.ignored("offload-ratio", zero_key("offload_optimizer.ratio"),
                      "a part of the optimizer is offloaded at stage 3 only: {}", cure);
        }
    }
}

/// Page-locked memory that the optimizer's states take on each rank: fp32 master, two moments and the gradient.
void note_pinned(Case& c) {
    const std::string path = zero_key("offload_optimizer");
    const bool pinned = c.offload("offload_optimizer") == "cpu" && c.flag(path + ".pin_memory");
    if (!pinned || c.launch.parameters == 0) return;
    const std::int64_t ranks = std::max<std::int64_t>(c.launch.world, 1);
    const std::int64_t node = c.launch.gpus_per_node > 0 ? std::min(c.launch.gpus_per_node, ranks) : ranks;
    const double bytes =
        16.0 * static_cast<double>(c.launch.parameters) / static_cast<double>(ranks) * static_cast<double>(node);
    c.note("pinned-memory", path + ".pin_memory",
           "fp32 masters, moments and gradients of {} parameters take {} of page-locked host memory a node: the limit "
           "of locked memory (ulimit -l) and the RAM have to allow it",
           format_count(c.launch.parameters), format_bytes(static_cast<Bytes>(bytes)));
}

void check_buckets(Case& c) {
    const std::int64_t stage = c.stage();
    if (stage == 0) return;
    if (const auto bucket = whole(c.at(zero_key("allgather_bucket_size"))); bucket && stage < 3 && *bucket % 2 != 0) {
        c.refused("odd-bucket", zero_key("allgather_bucket_size"), "{} is odd, and it is split in two: write {}",
                  *bucket, *bucket - 1);
    }
    const double elements = c.number(zero_key("reduce_bucket_size"));
    if (c.launch.parameters > 0 && elements > static_cast<double>(c.launch.parameters)) {
        c.danger(
            "bucket-above-model", zero_key("reduce_bucket_size"),
            "{:.0f} elements are more than the model's {} parameters, and a buffer of that size is taken: write {}",
            elements, format_count(c.launch.parameters), c.launch.parameters - c.launch.parameters % 2);
    }
    const Json* overlap = c.at(zero_key("overlap_comm"));
    const bool twice = overlap && overlap->is_boolean() ? overlap->get<bool>() : stage == 3;
    const bool four = c.dtype() == "fp32" || dtype_word(c.text("data_types.grad_accum_dtype")) == "fp32";
    const double bytes = elements * (four ? 4 : 2) * (twice ? 2 : 1);
    if (bytes < 0x1p60) {
        c.note("bucket-memory", zero_key("reduce_bucket_size"),
               "{:.0f} elements take {} on each GPU{}: a smaller bucket saves it and changes no result", elements,
               format_bytes(static_cast<Bytes>(bytes)), twice ? ", twice because overlap_comm fills a second one" : "");
    }
}

void check_reduction(Case& c) {
    if (c.stage() < 2 || !c.flag(zero_key("reduce_scatter"))) return;
    if (c.flag("prescale_gradients")) {
        c.refused("prescale", "prescale_gradients", "ZeRO-{} with reduce_scatter cannot do it: take it out", c.stage());
    }
    if (c.number("gradient_predivide_factor") != 1) {
        c.refused("prescale", "gradient_predivide_factor", "ZeRO-{} with reduce_scatter takes 1.0 only: take it out",
                  c.stage());
    }
}

/// config.py, _do_error_check of 0.19.6 and later.
void check_summed(Case& c) {
    constexpr const char* key = "gradient_allreduce_op";
    std::string op = c.text(key);
    std::transform(op.begin(), op.end(), op.begin(), [](unsigned char ch) { return std::tolower(ch); });
    if (op != "sum" || c.schema.presence(key, c.release) != DeepSpeedPresence::There) return;
    constexpr std::string_view cure = "write \"mean\", or take one of the two out";
    if (c.stage() == 3) c.refused("summed-gradients", key, "ZeRO stage 3 cannot add gradients up: {}", cure);
    if (const Json* zenflow = c.at(zero_key("zenflow")); zenflow && !zenflow->is_null()) {
        c.refused("summed-gradients", key, "zero_optimization.zenflow cannot add gradients up: {}", cure);
    }
    if (c.flag("compile.deepcompile")) {
        c.refused("summed-gradients", key, "compile.deepcompile cannot add gradients up: {}", cure);
    }
}

void check_grad_norm(Case& c) {
    const std::string key = zero_key("compute_grad_norm");
    if (!c.at(key) || c.flag(key)) return;
    if (c.number("gradient_clipping") > 0) {
        c.refused("gradient-norm", key,
                  "clipping at {:g} needs the norm: write \"gradient_clipping\": 0, or take it out",
                  c.number("gradient_clipping"));
    }
    if (c.offload("offload_optimizer") != "none") {
        c.refused("gradient-norm", key, "optimizer offload needs the norm: take it out");
    }
    if (c.stage() != 1 && c.stage() != 2) {
        c.refused("gradient-norm", key, "stages 1 and 2 only can leave the norm out: take it out");
    }
}

/// ZeRO++: hpZ keeps a second copy within a node, qwZ and qgZ cut tensors into blocks of 8.
void check_zero_plus_plus(Case& c) {
    const std::string key = zero_key("zero_hpz_partition_size");
    const auto size = whole(c.at(key));
    if (size && *size > 1) {
        const std::int64_t dp = c.lint.data_parallel, node = c.launch.gpus_per_node;
        if (c.stage() != 3) {
            c.ignored("zero-plus-plus", key, "a second copy of the shards makes sense at stage 3 only: take it out");
        } else if (dp > 0 && dp % *size != 0) {
            c.refused("zero-plus-plus", key,
                      "{} does not divide the {} data-parallel ranks: write a divisor of both, as "
                      "a rule the ranks of a node",
                      *size, dp);
        } else if (node > 0 && node % *size != 0 && *size % node != 0) {
            c.danger("zero-plus-plus", key,
                     "{} does not divide the {} ranks of a node, so the copy lies across nodes: write {}", *size, node,
                     node);
        } else if (node > 0 && *size > node) {
            c.danger("zero-plus-plus", key,
                     "{} is more than the {} ranks of a node, so the copy saves no traffic "
                     "between nodes: write {}",
                     *size, node, node);
        }
    }
    for (const char* name : {"zero_quantized_weights", "zero_quantized_gradients"}) {
        if (!c.flag(zero_key(name))) continue;
        if (c.stage() != 3) {
            c.ignored("zero-plus-plus", zero_key(name), "it acts at stage 3 only: take it out");
        } else {
            c.danger(
                "zero-plus-plus", zero_key(name),
                "every rank's part of a parameter has to be a multiple of 8 elements, which nobody checks: see that "
                "hidden and vocabulary sizes divide by 8 x {}",
                std::max<std::int64_t>(c.lint.data_parallel, 1));
        }
    }
}

void check_saving(Case& c) {
    const bool gathers = c.flag(zero_key("stage3_gather_16bit_weights_on_model_save")) ||
                         c.flag(zero_key("gather_16bit_weights_on_model_save")) ||
                         c.flag(zero_key("stage3_gather_fp16_weights_on_model_save"));
    if (c.stage() == 3 && !gathers) {
        c.danger(
            "empty-save", zero_key("stage3_gather_16bit_weights_on_model_save"),
            "without it a saved model has no weights at stage 3: write true, or run zero_to_fp32.py on a checkpoint");
    }
    if (c.flag(zero_key("elastic_checkpoint"))) {
        c.danger("resume-elsewhere", zero_key("elastic_checkpoint"),
                 "this old format is read at another world size by stages 1 and 2 only: make a universal checkpoint "
                 "(ds_to_universal.py) and write \"checkpoint\": {{\"load_universal\": true}}");
    }
}

}  // namespace

void lint_zero(Case& c) {
    check_old_forms(c);
    check_pipeline(c);
    check_offload(c);
    note_pinned(c);
    check_buckets(c);
    check_reduction(c);
    check_summed(c);
    check_grad_norm(c);
    check_zero_plus_plus(c);
    check_saving(c);
}

}  // namespace plimsoll::deepspeed
