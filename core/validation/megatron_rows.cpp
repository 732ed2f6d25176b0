// SPDX-License-Identifier: Apache-2.0
// Rows of Megatron-LM's golden peaks: its own flags in, a workload out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/plan/presets.h"
#include "core/validation/peak_row.h"

namespace plimsoll {
namespace {

/// A flag's text from the row, else from what is known of the test case, else nothing.
class Flags {
public:
    Flags(const CsvTable& table, std::size_t row) : table_(table), row_(row) {
        known_ = megatron_case_flags(table.at(row, "suite"), table.at(row, "case"));
    }

    std::string text(const std::string& flag) const {
        const auto& cell = table_.at(row_, flag);
        if (!cell.empty()) return cell;
        const auto found = known_.find(flag);
        if (found == known_.end()) return "";
        return found->is_string() ? found->get<std::string>() : found->dump();
    }
    bool is_set(const std::string& flag) const {
        const auto value = text(flag);
        return value == "True" || value == "true" || value == "1";
    }
    bool has_extra(std::string_view flag) const { return table_.at(row_, "extra").find(flag) != std::string::npos; }

    /// A positive whole number up to `most`, or `otherwise` where the flag is not given. The first bad one is kept as an
    /// error.
    std::int64_t number(const std::string& flag, std::int64_t otherwise, std::int64_t most = 1'000'000'000'000) {
        const auto value = text(flag);
        if (value.empty()) return otherwise;
        std::int64_t result = 0;
        const auto* end = value.data() + value.size();
        const auto parsed = std::from_chars(value.data(), end, result);
        if (parsed.ec != std::errc() || parsed.ptr != end || result < 0 || result > most) {
            if (error_.empty())
                error_ =
                    fmt::format("{} is \"{}\"; it must be a whole number up to {}", flag, value, format_count(most));
            return otherwise;
        }
        return result;
    }
    double real(const std::string& flag, double otherwise) const {
        const auto value = text(flag);
        if (value.empty()) return otherwise;
        return std::strtod(value.c_str(), nullptr);
    }
    /// The ranks of one direction of the layout: products of three and four of them are formed.
    std::int64_t ranks(const std::string& flag, std::int64_t otherwise) { return number(flag, otherwise, 30'000); }
    const std::string& error() const { return error_; }

private:
    const CsvTable& table_;
    std::size_t row_;
    Json known_;
    std::string error_;
};

constexpr std::int64_t bpe_vocabulary = 50257, word_piece_vocabulary = 30522;

void megatron_model(Flags& flags, Workload& work, const std::string& suite) {
    auto& m = work.model;
    work.bert = suite == "bert";
    m.family = suite == "t5" ? Family::T5 : Family::Gpt2;
    m.num_layers = flags.number("num-layers", flags.number("decoder-num-layers", 0));
    work.encoder_layers = suite == "t5" ? flags.number("encoder-num-layers", m.num_layers) : 0;
    m.hidden_size = flags.number("hidden-size", 0);
    m.num_heads = flags.number("num-attention-heads", 1);
    m.num_kv_heads = flags.number("num-query-groups", m.num_heads);
    m.head_dim = flags.number("kv-channels", 0);
    const bool gated = flags.is_set("swiglu");
    m.activation = gated ? Activation::SwiGlu : flags.is_set("squared-relu") ? Activation::Relu : Activation::Gelu;
    const auto h = m.hidden_size;
    // arguments.py: 4 h, with --swiglu two thirds of it rounded down to 64.
    m.ffn_hidden_size = flags.number("ffn-hidden-size", gated ? 4 * h * 2 / 3 / 64 * 64 : 4 * h);
    m.vocab_size = flags.number("vocab-size", work.bert ? word_piece_vocabulary : bpe_vocabulary);
    work.sequence = flags.number("seq-length", flags.number("decoder-seq-length", 0));
    work.encoder_sequence = flags.number("encoder-seq-length", work.sequence);
    m.max_position = flags.number("max-position-embeddings", work.sequence);
    const auto position = flags.text("position-embedding-type");
    m.position = position == "rope" || position == "none" ? Position::Rotary : Position::Learned;
    m.norm = flags.text("normalization") == "RMSNorm" ? Norm::RmsNorm : Norm::LayerNorm;
    m.tied_head = !flags.is_set("untie-embeddings-and-output-weights");
    m.linear_bias = m.qkv_bias = !flags.is_set("disable-bias-linear");
    // 0.1 is the program's default; models with RMSNorm are trained without.
    m.dropout = flags.real("attention-dropout", m.norm == Norm::RmsNorm ? 0 : 0.1);
    m.num_experts = flags.number("num-experts", 0);
    m.experts_per_token = flags.number("moe-router-topk", 2);
    work.expert.ffn = flags.number("moe-ffn-hidden-size", 0);
    work.expert.shared_ffn = flags.number("moe-shared-expert-intermediate-size", 0);
    work.expert.dense_layers = flags.number("dense-layers", 0);
    const auto dispatcher = flags.text("moe-token-dispatcher-type");
    work.expert.gathers =
        dispatcher == "allgather" || (dispatcher.empty() && !flags.has_extra("moe-token-dispatcher-type"));
    work.prediction_layers = flags.number("mtp-num-layers", 0);
    if (flags.is_set("multi-latent-attention")) {
        // The program's defaults (arguments.py, MLATransformerConfig).
        work.latent = {flags.number("q-lora-rank", 512), flags.number("kv-lora-rank", 512),
                       flags.number("qk-head-dim", 128), flags.number("qk-pos-emb-head-dim", 64),
                       flags.number("v-head-dim", 128)};
    }
}

void megatron_layout(Flags& flags, Workload& work, const std::string& name) {
    auto& l = work.layout;
    l.tp = std::max<std::int64_t>(flags.ranks("tensor-model-parallel-size", 1), 1);
    l.pp = std::max<std::int64_t>(flags.ranks("pipeline-model-parallel-size", 1), 1);
    l.cp = std::max<std::int64_t>(flags.ranks("context-parallel-size", 1), 1);
    l.ep = std::max<std::int64_t>(flags.ranks("expert-model-parallel-size", 1), 1);
    work.expert.tp = flags.ranks("expert-tensor-parallel-size", l.tp);
    if (work.expert.tp == 0) work.expert.tp = l.tp;
    // Eight GPUs where nothing else is said; four a node in the cases named _1node; release cases have several nodes.
    const auto usual = name.ends_with("_1node") ? 4 : name.find("_release") != std::string::npos ? 64 : 8;
    auto world = flags.number("world-size", usual);
    world = std::max({world, l.tp * l.pp * l.cp, l.ep * work.expert.tp * l.pp});
    l.dp = std::max<std::int64_t>(world / (l.tp * l.pp * l.cp), 1);
    l.micro_batch = std::max<std::int64_t>(flags.number("micro-batch-size", 1), 1);
    // In floating point: a row may hold sizes whose product no whole number holds.
    const double sequences = as_double(l.micro_batch) * as_double(l.dp);
    const double batches = std::floor(as_double(flags.number("global-batch-size", 0)) / sequences);
    l.accumulation = std::max<std::int64_t>(static_cast<std::int64_t>(batches), 1);
    l.sequence_parallel = flags.is_set("sequence-parallel") && l.tp > 1;
    const auto sharding = flags.text("data-parallel-sharding-strategy");
    const bool fsdp = flags.is_set("use-megatron-fsdp");
    l.zero_stage = fsdp && sharding == "optim_grads_params" ? 3 : flags.is_set("use-distributed-optimizer") ? 1 : 0;
    work.optimizer_instances = std::max<std::int64_t>(flags.number("num-distributed-optimizer-instances", 1), 1);
    l.schedule = Schedule::OneFOneB;
    const auto of_chunk = flags.number("num-layers-per-virtual-pipeline-stage", 0);
    const auto chunks = flags.number("num-virtual-stages-per-pipeline-rank", 0);
    if (l.pp > 1 && (of_chunk > 0 || chunks > 1)) {
        l.schedule = Schedule::Interleaved;
        l.chunks = chunks > 0 ? chunks : std::max<std::int64_t>(work.model.num_layers / l.pp / of_chunk, 1);
    }
    const auto granularity = flags.text("recompute-granularity");
    l.recompute = granularity == "full" ? Recompute::Full : Recompute::None;
    const auto modules = flags.text("recompute-modules");
    if (granularity == "selective") {
        const auto recomputes = [&](std::string_view module) { return modules.find(module) != std::string::npos; };
        if (modules.empty() || recomputes("core_attn")) l.recompute = Recompute::Selective;
        const auto drop = [&](const char* tensor) { work.recomputed.emplace_back(tensor); };
        if (recomputes("layernorm")) drop("q, k, v input"), drop("MLP input");
        if (recomputes("mla_up_proj")) drop("up-projections");
        if (recomputes("moe_act")) drop("experts' activations");
        if (modules.find(" mlp ") != std::string::npos || recomputes("[mlp")) drop("MLP inner tensors");
    }
}

/// Tensors that fine-grained offloading takes to host memory, by module.
void offload(const std::string& modules, Workload& work) {
    const auto away = [&](std::string_view module, std::initializer_list<const char*> tensors) {
        if (modules.find(module) != std::string::npos)
            work.recomputed.insert(work.recomputed.end(), tensors.begin(), tensors.end());
    };
    away("attn_norm", {"norm input"});
    away("mlp_norm", {"norm input"});
    away("qkv_linear", {"q, k, v input"});
    away("core_attn", {"q, k and v", "softmax output", "log-sum-exp"});
    away("attn_proj", {"output projection input"});
    away("expert_fc1", {"tokens sent to experts"});
    away("moe_act", {"experts' products"});
}

}  // namespace

Json megatron_case_flags(const std::string& suite, const std::string& name) {
    static const Json all = [] {
        auto json = read_json(data_folder() / "resources" / "megatron-test-cases.json");
        return json && json->is_object() ? *std::move(json) : Json::object();
    }();
    Json flags = Json::object();
    for (const auto& [place, key] : {std::pair{"suites", suite}, std::pair{"cases", name}}) {
        if (!all.contains(place) || !all.at(place).contains(key)) continue;
        for (const auto& [flag, value] : all.at(place).at(key).items()) flags[flag] = value;
    }
    return flags;
}

Result<PeakRow> megatron_row(const CsvTable& table, std::size_t row) {
    Flags flags(table, row);
    const auto suite = table.at(row, "suite"), name = table.at(row, "case"), platform = table.at(row, "platform");
    PeakRow peak;
    peak.name = fmt::format("{}/{} on {}", suite, name, platform);
    peak.kind = "measured";
    peak.confidence = "high";
    peak.truth = flags.number("peak_alloc_bytes", 0);
    peak.capacity = capacity_of(platform);
    auto& work = peak.work;
    megatron_model(flags, work, suite);
    megatron_layout(flags, work, name);
    work.vocabulary = padded(work.model.vocab_size, 128 * work.layout.tp);
    work.numerics.dtype = flags.is_set("fp16") ? Dtype::Fp16 : flags.is_set("bf16") ? Dtype::Bf16 : Dtype::Fp32;
    work.fp8 = !flags.text("fp8-format").empty();
    // arguments.py: bf16 turns --accumulate-allreduce-grads-in-fp32 on.
    work.numerics.fp32_gradients = work.numerics.dtype == Dtype::Bf16 && !flags.is_set("grad-reduce-in-bf16") &&
                                   !flags.has_extra("grad-reduce-in-bf16");
    work.optimizer.kind = flags.text("optimizer") == "sgd" ? OptimizerKind::Sgd : OptimizerKind::AdamW;
    work.fused_gate = true;
    work.hopper = platform.find("a100") == std::string::npos && platform != "lts" && platform != "dev";
    work.loss = flags.is_set("cross-entropy-loss-fusion") ? LossKind::Fused : LossKind::Materialised;

    offload(flags.text("offload-modules"), work);

    // Without a backend the containers choose flash attention; those of the former cluster did not.
    const auto backend = flags.text("attention-backend");
    const bool eager =
        backend == "unfused" || backend == "local" || flags.text("transformer-impl") == "local" ||
        (backend.empty() && !flags.is_set("use-flash-attn") && platform.find("dracooci") != std::string::npos);
    work.numerics.attention = eager ? Attention::Eager : Attention::Flash;
    if (backend.empty() && flags.text("transformer-impl") != "local") peak.unsaid = "attention";
    // Flash attention's backward has no fixed order: such cases do not ask for it elsewhere either.
    work.deterministic = backend != "flash" && name.find("nondeterministic") == std::string::npos &&
                         name.find("release") == std::string::npos;

    if (!flags.error().empty()) return bad_input("line {}: {}", row + 2, flags.error());
    if (peak.truth <= 0) return bad_input("line {}: peak_alloc_bytes must be a positive number", row + 2);
    if (flags.has_extra("rl-") || flags.has_extra("inference-"))
        peak.unknown = "a reinforcement-learning loop: the peak is that of its inference buffers";
    else if (suite == "hybrid" || suite == "nemotron")
        peak.unknown = "layers of state-space models are not worked out";
    else if (suite == "mimo" || suite == "multimodal-llava")
        peak.unknown = "vision encoders are not worked out";
    else if (work.model.num_layers <= 0 || work.model.hidden_size <= 0 || work.sequence <= 0)
        peak.unknown = "the row does not say num-layers, hidden-size or seq-length";
    return peak;
}

}  // namespace plimsoll
