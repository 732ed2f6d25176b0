// SPDX-License-Identifier: Apache-2.0
// Megatron-LM: megatron/training/arguments.py and what it builds before the first step.
#pragma once

#include <algorithm>

#include <vector>

#include "tests/interop/exports/tool_rule.h"

namespace plimsoll {

namespace megatron_rules {

inline std::int64_t tp(const ToolOptions& o) { return o.number("--tensor-model-parallel-size", 1); }
inline std::int64_t pp(const ToolOptions& o) { return o.number("--pipeline-model-parallel-size", 1); }
inline std::int64_t cp(const ToolOptions& o) { return o.number("--context-parallel-size", 1); }
inline std::int64_t dp(const ToolOptions& o, const Plan& plan) {
    return plan.cluster.world_size() / (tp(o) * pp(o) * cp(o));
}

inline constexpr const char* layout_option = "--pipeline-model-parallel-layout";

/// parse_str_to_list: "x*n" is n of x; "|" is between stages.
inline std::string unrolled(const std::string& layout) {
    std::string words;
    for (std::size_t at = 0; at < layout.size(); ++at) {
        if (layout[at] != '*') {
            words += layout[at];
            continue;
        }
        std::size_t read = 0;
        const std::size_t times = std::stoul(layout.substr(at + 1), &read);
        words += std::string(times - 1, layout[at - 1]);
        at += read;
    }
    return words;
}

inline std::int64_t virtual_stages(const ToolOptions& o) {
    if (!o.has(layout_option)) return o.number("--num-virtual-stages-per-pipeline-rank", 1);
    const std::string layout = unrolled(o.text(layout_option));
    return (std::count(layout.begin(), layout.end(), '|') + 1) / pp(o);
}

inline bool deals_layers(const ToolOptions& o) {
    const std::int64_t layers = o.number("--num-layers", 0);
    if (!o.has(layout_option)) return layers % pp(o) == 0 && layers / pp(o) % virtual_stages(o) == 0;
    const std::string layout = unrolled(o.text(layout_option));
    return layout.starts_with("E") && layout.ends_with("L") &&
           (std::count(layout.begin(), layout.end(), '|') + 1) % pp(o) == 0 &&
           std::count(layout.begin(), layout.end(), 't') == layers;
}

inline bool groups_micro_batches(const ToolOptions& o, const Plan& plan) {
    if (virtual_stages(o) == 1) return true;
    const std::int64_t batches = o.number("--global-batch-size", 0) / o.number("--micro-batch-size", 1) / dp(o, plan);
    const std::int64_t group = o.number("--microbatch-group-size-per-virtual-pipeline-stage", pp(o));
    const std::int64_t rest = batches % group;
    return group >= pp(o) && group <= batches && (rest == 0 || rest >= pp(o));
}

inline bool fsdp(const ToolOptions& o) { return o.has("--use-megatron-fsdp"); }
inline bool is_adam(const ToolOptions& o) { return o.text("--optimizer") == "adam"; }

inline std::vector<ToolRule> rules() {
    using O = const ToolOptions&;
    using P = const Plan&;
    return {
        {"arguments.py:432", [](O o, P p) { return p.cluster.world_size() % (tp(o) * pp(o) * cp(o)) == 0; }},
        {"arguments.py:716",
         [](O o, P p) {
             return o.number("--global-batch-size", 0) % (o.number("--micro-batch-size", 1) * dp(o, p)) == 0;
         }},
        {"arguments.py:929",
         [](O o, P) { return !o.has(layout_option) || !o.has("--num-virtual-stages-per-pipeline-rank"); }},
        {"arguments.py:997, transformer_block.py:157, pipeline_parallel_layer_layout.py:81",
         [](O o, P) { return deals_layers(o); }},
        {"arguments.py:1002", [](O o, P) { return virtual_stages(o) == 1 || pp(o) > 1; }},
        {"arguments.py:1027",
         [](O o, P) {
             return !o.has("--overlap-param-gather") ||
                    (o.has("--use-distributed-optimizer") && o.has("--overlap-grad-reduce"));
         }},
        {"arguments.py:1166, 1169",
         [](O o, P) {
             return !fsdp(o) || (!o.has("CUDA_DEVICE_MAX_CONNECTIONS") && o.text("--ckpt-format") == "fsdp_dtensor");
         }},
        {"arguments.py:1195", [](O o, P) { return !(o.has("--fp16") && o.has("--bf16")); }},
        {"arguments.py:1334", [](O o, P) { return cp(o) == 1 || o.number("--seq-length", 0) % (2 * cp(o)) == 0; }},
        {"arguments.py:1354",
         [](O o, P) { return o.number("--max-position-embeddings", 0) >= o.number("--seq-length", 0); }},
        {"arguments.py:1360", [](O o, P) { return o.real("--min-lr", 0) <= o.real("--lr", 0); }},
        {"arguments.py:1361", [](O o, P) { return !o.has("--save") || o.number("--save-interval", 0) > 0; }},
        {"arguments.py:1425",
         [](O o, P) { return o.text("--recompute-granularity") != "selective" || !o.has("--recompute-method"); }},
        {"arguments.py:1486",
         [](O o, P) { return (tp(o) == 1 && cp(o) == 1) || fsdp(o) || o.text("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; }},
        {"arguments.py:1652",
         [](O o, P) { return o.number("--num-experts", 0) % o.number("--expert-model-parallel-size", 1) == 0; }},
        {"arguments.py:1677", [](O o, P) { return o.has("--mock-data") != o.has("--data-path"); }},
        {"arguments.py:1884, optimizer_config.py:434",
         [](O o, P) {
             return !o.has("--optimizer-cpu-offload") || (o.has("--use-precision-aware-optimizer") && is_adam(o));
         }},
        {"optimizer/__init__.py:1057",
         [](O o, P) { return !o.has("--use-precision-aware-optimizer") || o.has("--use-distributed-optimizer"); }},
        {"distrib_optimizer.py:688", [](O o, P) { return !o.has("--use-distributed-optimizer") || is_adam(o); }},
        {"optimizer_param_scheduler.py:151", [](O o, P) { return o.real("--lr", 0) >= o.real("--lr-warmup-init", 0); }},
        {"optimizer_param_scheduler.py:160",
         [](O o, P) { return o.number("--lr-warmup-iters", 0) < o.number("--lr-decay-iters", 0); }},
        {"transformer_config.py:1442", [](O o, P) { return o.number("--num-attention-heads", 1) % tp(o) == 0; }},
        {"transformer_config.py:1458",
         [](O o, P) {
             const std::int64_t groups = o.number("--num-query-groups", o.number("--num-attention-heads", 1));
             return groups % tp(o) == 0 || tp(o) % groups == 0;
         }},
        {"tensor_parallel/layers.py, divide", [](O o, P) { return o.number("--ffn-hidden-size", 1) % tp(o) == 0; }},
        {"model_parallel_config.py, __post_init__", [](O o, P) { return !o.has("--sequence-parallel") || tp(o) > 1; }},
        {"tensor_parallel/mappings.py:74",
         [](O o, P) { return !o.has("--sequence-parallel") || o.number("--seq-length", 0) / cp(o) % tp(o) == 0; }},
        {"moe/moe_layer.py:636",
         [](O o, P) { return !o.has("--num-experts") || tp(o) == 1 || o.has("--sequence-parallel"); }},
        {"pipeline_parallel/schedules.py:1157, 1173", [](O o, P p) { return groups_micro_batches(o, p); }},
    };
}

}  // namespace megatron_rules

}  // namespace plimsoll
