// SPDX-License-Identifier: Apache-2.0
// What other tools' own code asserts of the options that it is given, read from its source and recorded here.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "tests/interop/exports/megatron_rules.h"

namespace plimsoll {

namespace tool_rules_of {

using O = const ToolOptions&;
using P = const Plan&;

/// The option of either release: "parallelism.x" in TOML, "--parallelism.x" on the command line.
inline std::int64_t of(O o, const std::string& name, std::int64_t otherwise) {
    return o.number(name, o.number("--" + name, otherwise));
}
inline std::string word(O o, const std::string& name) { return o.text(name, o.text("--" + name)); }

inline std::int64_t degree(O o, const std::string& which) { return of(o, "parallelism." + which + "_degree", 1); }
inline std::int64_t pp(O o) { return degree(o, "pipeline_parallel"); }

inline std::int64_t micro_batches(O o) {
    return of(o, "training.local_batch_size", 1) / of(o, "parallelism.pipeline_parallel_microbatch_size", 1);
}

inline bool is_single(const std::string& schedule) { return schedule == "1F1B" || schedule == "GPipe"; }

/// Stages as pipeline_llm counts them; 0 where it refuses.
inline std::int64_t stages(O o, P plan) {
    const std::string schedule = word(o, "parallelism.pipeline_parallel_schedule");
    if (!o.stages().empty()) return static_cast<std::int64_t>(o.stages().size());
    const std::int64_t each = of(o, "parallelism.pipeline_parallel_layers_per_stage", 0);
    if (each == 0) return pp(o) * (is_single(schedule) ? 1 : 2);
    const std::int64_t ends = of(o, "parallelism.pipeline_parallel_first_stage_less_layers", 1) +
                              of(o, "parallelism.pipeline_parallel_last_stage_less_layers", 1);
    return (plan.model.num_layers + ends + each - 1) / each;
}

inline bool deals_stages(O o, P plan) {
    if (pp(o) == 1) return true;
    const std::int64_t count = stages(o, plan);
    const bool single = is_single(word(o, "parallelism.pipeline_parallel_schedule"));
    return count % pp(o) == 0 && (single ? count == pp(o) : count >= 2 * pp(o)) && count <= plan.model.num_layers;
}

/// Named stages hold each layer once, in order.
inline bool names_layers(O o, P plan) {
    std::int64_t layer = 0;
    for (const auto& stage : o.stages())
        for (const std::string& module : stage)
            if (module.starts_with("layers.") && module != fmt::format("layers.{}", layer++)) return false;
    return o.stages().empty() || (layer == plan.model.num_layers && o.stages().front().front() == "tok_embeddings" &&
                                  o.stages().back().back() == "output");
}

inline bool has_micro_batches(O o, P plan) {
    if (pp(o) == 1) return true;
    const std::string schedule = word(o, "parallelism.pipeline_parallel_schedule");
    if (is_single(schedule)) return micro_batches(o) >= pp(o);
    if (schedule == "Interleaved1F1B")
        return micro_batches(o) % std::max<std::int64_t>(1, micro_batches(o) / pp(o)) == 0;
    return schedule != "DualPipeV" || micro_batches(o) >= stages(o, plan);
}

inline std::int64_t ranks(O o) {
    return degree(o, "data_parallel_replicate") * degree(o, "data_parallel_shard") * degree(o, "tensor_parallel") *
           degree(o, "context_parallel") * pp(o);
}

inline std::vector<ToolRule> torchtitan_rules() {
    return {
        {"distributed/parallel_dims.py:53", [](O o, P p) { return ranks(o) == p.cluster.world_size(); }},
        {"train.py:202",
         [](O o, P) {
             const std::int64_t batches = of(o, "training.local_batch_size", 1) * degree(o, "data_parallel_replicate") *
                                          degree(o, "data_parallel_shard");
             return of(o, "training.global_batch_size", 0) % batches == 0;
         }},
        {"models/common/decoder.py:150 (0.3); model.py:238, a view of whole heads (0.2)",
         [](O o, P p) {
             return p.model.num_heads % degree(o, "tensor_parallel") == 0 &&
                    p.model.num_kv_heads % degree(o, "tensor_parallel") == 0;
         }},
        {"models/llama3: no biases, experts, learned positions or head sizes of its own",
         [](O, P p) {
             const Model& m = p.model;
             return !m.qkv_bias && !m.linear_bias && !m.moe() && m.position == Position::Rotary &&
                    m.head_size() * m.num_heads == m.hidden_size;
         }},
        {"distributed/pipeline_parallel.py:82-108, 456", deals_stages},
        {"distributed/pipeline_parallel.py, pipeline_module_split", names_layers},
        {"torch/distributed/pipelining/schedules.py:828, 2551, 3047", has_micro_batches},
    };
}

inline std::vector<ToolRule> with(std::vector<ToolRule> rules, std::vector<ToolRule> more) {
    rules.insert(rules.end(), more.begin(), more.end());
    return rules;
}

inline std::vector<ToolRule> toml_rules() {
    return with(
        torchtitan_rules(),
        {{"models/llama3/infra/parallelize.py:69, seq_len_divisor",
          [](O o, P) {
              return of(o, "training.seq_len", 1) %
                         (degree(o, "tensor_parallel") * 2 * degree(o, "context_parallel")) ==
                     0;
          }},
         {"models/llama3/infra/parallelize.py:150",
          [](O o, P p) {
              return degree(o, "data_parallel_replicate") == 1 || degree(o, "data_parallel_shard") > 1 ||
                     degree(o, "context_parallel") > 1 ||
                     degree(o, "data_parallel_replicate") == p.cluster.world_size();
          }},
         {"models/llama3/model/model.py: an output layer of its own", [](O, P p) { return !p.model.tied_head; }}});
}

inline std::vector<ToolRule> command_rules() {
    return with(torchtitan_rules(),
                {{"trainer.py:310",
                  [](O o, P) {
                      const bool splits = o.has("--parallelism.enable_sequence_parallel");
                      const std::int64_t cp = degree(o, "context_parallel");
                      return of(o, "training.seq_len", 1) %
                                 ((splits ? degree(o, "tensor_parallel") : 1) * (cp > 1 ? 2 * cp : 1)) ==
                             0;
                  }},
                 {"trainer.py:163", [](O o, P) { return pp(o) == 1 || o.has("--training.disable_cuda_graphs"); }},
                 {"models/common/decoder.py:139", [](O o, P p) { return !p.model.tied_head || pp(o) == 1; }}});
}

inline std::int64_t size(O o, const std::string& which) {
    return o.number("parallelism_config.parallelism_config_" + which + "_size", 1);
}
inline bool is_fsdp(O o) { return o.text("distributed_type") == "FSDP"; }

inline std::vector<ToolRule> accelerate_rules() {
    return {
        {"parallelism_config.py, total_size",
         [](O o, P p) {
             return !o.has("parallelism_config") ||
                    size(o, "dp_replicate") * size(o, "dp_shard") * size(o, "tp") * size(o, "cp") ==
                        p.cluster.world_size();
         }},
        {"parallelism_config.py, FSDP with nothing to shard",
         [](O o, P) {
             return !is_fsdp(o) || !o.has("parallelism_config") || size(o, "dp_shard") > 1 || size(o, "cp") > 1;
         }},
        {"accelerator.py:1883, 4203",
         [](O o, P) { return is_fsdp(o) || (size(o, "cp") == 1 && (size(o, "tp") == 1 || size(o, "dp_shard") == 1)); }},
        {"commands/launch.py:1208",
         [](O o, P p) { return o.text("distributed_type") != "MULTI_GPU" || p.cluster.world_size() >= 2; }},
        {"FSDP shards over pipeline stages", [](O o, P p) { return p.layout.pp == 1 || !is_fsdp(o); }},
    };
}

inline std::vector<ToolRule> axolotl_rules() {
    return {{"utils/schemas/validation.py:1803",
             [](O o, P) {
                 return o.number("context_parallel_size", 1) == 1 ||
                        o.text("attn_implementation") == "flash_attention_2";
             }},
            {"transformers/modeling_utils.py, _flash_attn_2_can_dispatch", [](O o, P p) {
                 return o.text("attn_implementation") != "flash_attention_2" || p.numerics.dtype != Dtype::Fp32;
             }}};
}

inline std::vector<ToolRule> llama_factory_rules() {
    return {{"transformers/modeling_utils.py, _flash_attn_2_can_dispatch",
             [](O o, P p) { return o.text("flash_attn") != "fa2" || p.numerics.dtype != Dtype::Fp32; }}};
}

}  // namespace tool_rules_of

/// Megatron-LM (main, 2026-08), torchtitan 0.2.2 and 0.3.0 with PyTorch 2.11, Accelerate 1.15, Axolotl 0.19, LLaMA-Factory
/// with transformers 5. Of a target without recorded rules: empty.
inline const std::vector<ToolRule>& tool_rules(std::string_view target) {
    using namespace tool_rules_of;
    static const std::map<std::string_view, std::vector<ToolRule>> all{
        {"megatron", megatron_rules::rules()}, {"torchtitan", toml_rules()},
        {"torchtitan-0.3", command_rules()},   {"accelerate-fsdp", accelerate_rules()},
        {"axolotl", axolotl_rules()},          {"llama-factory", llama_factory_rules()}};
    static const std::vector<ToolRule> none;
    const auto found = all.find(target);
    return found == all.end() ? none : found->second;
}

}  // namespace plimsoll
