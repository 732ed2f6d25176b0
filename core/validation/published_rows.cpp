// SPDX-License-Identifier: Apache-2.0
// Rows of published peaks: torchtitan, Megatron-LM, Hugging Face, LitGPT, torchtune.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/validation/peak_row.h"

namespace plimsoll {
namespace {

/// Whose memory is worked out from the sizes in a row, without a plan.
constexpr std::string_view frameworks_of_rows = "megatron, torchtitan or hf-trainer";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The first whole number in a cell ("16384 (default 4h)", "max 1304 (1044 for phi)", "local batch 32"), or nothing.
std::optional<std::int64_t> first_number(std::string_view text) {
    const auto from = text.find_first_of("0123456789");
    if (from == std::string_view::npos) return std::nullopt;
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data() + from, text.data() + text.size(), value);
    return parsed.ec == std::errc() && value <= 1'000'000'000'000 ? std::optional(value) : std::nullopt;
}

class Cells {
public:
    Cells(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
    const std::string& text(std::string_view column) const { return table_.at(row_, column); }
    std::int64_t number(std::string_view column, std::int64_t otherwise) const {
        return first_number(text(column)).value_or(otherwise);
    }

private:
    const CsvTable& table_;
    std::size_t row_;
};

std::optional<double> unit_bytes(std::string_view unit) {
    if (unit == "GiB") return static_cast<double>(GiB);
    if (unit == "MiB") return static_cast<double>(MiB);
    if (unit == "GB") return static_cast<double>(GB);
    if (unit == "B" || unit == "bytes") return 1.0;
    return std::nullopt;
}

PeakMetric metric_of(std::string_view metric) {
    if (contains(metric, "nvml") || contains(metric, "process")) return PeakMetric::Process;
    if (contains(metric, "reserved") || contains(metric, "per GPU")) return PeakMetric::Reserved;
    return PeakMetric::Allocated;
}

/// torchtitan's pull request of about the time of the source: from its number, or from a date or a format that came in.
std::int64_t pull_request(std::string_view source) {
    if (const auto at = source.find("PR "); at != std::string_view::npos)
        return first_number(source.substr(at)).value_or(0);
    if (contains(source, "202412")) return 700;
    if (contains(source, "202506")) return 1300;
    return contains(source, "fp4") ? 4000 : 2500;
}
/// First pull requests (2024-04): the vocabulary's loss came in parallel and gathered sequences were no longer kept.
constexpr std::int64_t loss_parallel_since = 300;
/// Mid-2025: a compiled run compiles the loss as well, and the allocator's segments expand.
constexpr std::int64_t compiled_loss_since = 1250;
/// 2026: dense models' head and loss run in pieces by default.
constexpr std::int64_t chunked_head_since = 3900;

void read_recompute(const Cells& cells, Workload& work) {
    const auto& text = cells.text("checkpointing");
    work.layout.recompute = text.starts_with("full")                                          ? Recompute::Full
                            : text.starts_with("selective") || text.starts_with("config def") ? Recompute::Selective
                                                                                              : Recompute::None;
    work.selective_ops = work.layout.recompute == Recompute::Selective;
    if (work.layout.recompute != Recompute::Full || !contains(text, "except saved")) return;
    if (contains(text, "wo")) work.kept_elements += work.model.hidden_size;
    if (contains(text, "wkv_a")) work.kept_elements += work.latent.kv_rank + work.latent.rotary;
    if (contains(text, "gate")) work.kept_elements += work.model.num_experts;
}

void read_model(const Cells& cells, Workload& work) {
    auto& m = work.model;
    const auto& name = cells.text("model");
    m.num_layers = cells.number("layers", 0);
    m.hidden_size = cells.number("hidden", 0);
    m.num_heads = std::max<std::int64_t>(cells.number("heads", 1), 1);
    m.num_kv_heads = cells.number("kv_heads", m.num_heads);
    m.ffn_hidden_size = cells.number("ffn", 4 * m.hidden_size);
    m.vocab_size = cells.number("vocab", 0);
    work.sequence = cells.number("seq", 0);
    work.vocabulary = m.vocab_size;
    m.activation = Activation::SwiGlu;
    m.norm = Norm::RmsNorm;
    m.position = Position::Rotary;
    m.tied_head = false;
    m.dropout = 0;
    if (contains(name, "Qwen3")) m.head_dim = 128;
    if (contains(name, "BERT") || contains(name, "phi")) {
        m.activation = Activation::Gelu;
        m.norm = Norm::LayerNorm;
        m.linear_bias = m.qkv_bias = true;
    }
    if (contains(name, "BERT")) {
        work.bert = true;
        m.position = Position::Learned;
        m.max_position = 512;
        m.tied_head = true;
        m.dropout = 0.1;
    }
    // "64+2 shared top6, moe_ffn 1408"
    const auto& experts = cells.text("experts");
    if (!experts.empty() && first_number(experts)) {
        m.num_experts = *first_number(experts);
        const auto top = experts.find("top"), inner = experts.find("moe_ffn"), plus = experts.find('+');
        m.experts_per_token = top == std::string::npos ? 1 : first_number(experts.substr(top)).value_or(1);
        if (inner != std::string::npos) work.expert.ffn = first_number(experts.substr(inner)).value_or(0);
        if (plus != std::string::npos)
            work.expert.shared_ffn = first_number(experts.substr(plus)).value_or(0) * work.expert_ffn();
        if (work.expert.ffn > 0) work.expert.dense_layers = m.num_layers > 30 ? 3 : 1;  // DeepSeek-V3; its 16B model 1
    }
    if (cells.text("kv_heads") == "MLA") {
        work.latent = {m.num_layers > 30 ? 1536 : 0, 512, 128, 64, 128};
        m.num_kv_heads = m.num_heads;
        m.head_dim = 128;
    }
}

void read_layout(const Cells& cells, Workload& work) {
    auto& l = work.layout;
    const auto at_least_one = [&](std::string_view column) {
        return std::max<std::int64_t>(cells.number(column, 1), 1);
    };
    l.tp = at_least_one("tp"), l.pp = at_least_one("pp"), l.cp = at_least_one("cp"), l.ep = at_least_one("ep");
    const auto gpus = cells.number("gpus", 0);
    l.dp = cells.number("dp", std::max<std::int64_t>(gpus / (l.tp * l.pp * l.cp), 1));
    l.sequence_parallel = l.tp > 1 && cells.text("sp") != "no";
    work.expert.tp = work.model.moe() ? 1 : l.tp;
    const bool chunks = contains(cells.text("pp_schedule"), "nterleaved");
    l.schedule = chunks ? Schedule::Interleaved : Schedule::OneFOneB;
    l.chunks = 2;
    const auto batch = at_least_one("micro_batch");
    if (l.pp > 1) {
        // torchtitan cuts the local batch into as many micro-batches as there are stages.
        l.accumulation = l.pp * work.chunks();
        l.micro_batch = std::max<std::int64_t>(batch / l.accumulation, 1);
    } else {
        l.micro_batch = batch;
        l.accumulation = 1;
    }
}

void read_torchtitan(const Cells& cells, PeakRow& peak) {
    auto& work = peak.work;
    const auto& compile = cells.text("compile");
    const auto& source = cells.text("source");
    peak.framework = Framework::TorchTitan;
    work.layout.zero_stage = 3;  // every row is sharded
    work.compiled = !compile.empty() && compile != "no";
    work.fused_gate = work.compiled;
    const auto time = pull_request(source);
    work.expandable_segments = time >= compiled_loss_since;
    work.loss_parallel = time >= loss_parallel_since;
    work.keeps_gathered = time < loss_parallel_since;
    work.fp4 = contains(cells.text("precision"), "FP4");
    work.fp8 = contains(cells.text("precision"), "float8") || contains(cells.text("precision"), "FP8");
    work.first_fsdp = contains(cells.text("sharding"), "FSDP1");
    const auto& notes = cells.text("notes");
    if (contains(notes, "chunked CE") && !contains(notes, "baseline"))
        work.loss = LossKind::Chunked;
    else if (time >= chunked_head_since && !work.model.moe())
        work.loss = LossKind::ChunkedHead;
    else if (work.compiled && time >= compiled_loss_since)
        work.loss = LossKind::Fused;
    peak.scope = RankScope::Fullest;
    if (contains(cells.text("checkpointing"), "config default")) peak.unsaid = "recomputation";
}

void read_trainer(const Cells& cells, PeakRow& peak) {
    auto& work = peak.work;
    peak.framework = Framework::HfTrainer;
    peak.scope = RankScope::Fullest;
    const auto& optimizer = cells.text("optimizer");
    work.optimizer.kind = contains(optimizer, "8bit")        ? OptimizerKind::AdamW8bit
                          : contains(optimizer, "Adafactor") ? OptimizerKind::Adafactor
                                                             : OptimizerKind::AdamW;
    if (contains(cells.text("sharding"), "FSDP")) work.layout.zero_stage = 3;
    // torchtune trains in plain bf16 with a chunked loss; its offload takes weights and states to host memory.
    if (contains(cells.text("source"), "torchtune")) {
        work.pure_half = true;
        work.loss = LossKind::Chunked;
        work.compiled = work.fused_gate = true;
        work.step_in_backward = contains(optimizer, "in-backward");
        if (contains(optimizer, "Paged") || contains(optimizer, "offload"))
            work.layout.offload_optimizer = Offload::Cpu;
        if (contains(optimizer, "CPU offload")) work.layout.offload_parameters = Offload::Cpu;
    }
    if (contains(optimizer, "LoRA")) {
        work.adapters.rank = 8;
        work.adapters.base_bytes = contains(cells.text("precision"), "nf4") || contains(optimizer, "nf4") ? 0.516 : 2;
        peak.unsaid = "the adapters' rank and places";
    }
}

}  // namespace

Bytes capacity_of(std::string_view card) {
    for (const auto& [unit, size] : {std::pair{std::string_view(" GiB"), GiB}, {std::string_view("GB"), GB}}) {
        const auto at = card.find(unit);
        if (at == std::string_view::npos) continue;
        auto from = at;
        while (from > 0 && (std::isdigit(static_cast<unsigned char>(card[from - 1])) != 0 || card[from - 1] == '.'))
            --from;
        const double number = std::strtod(std::string(card.substr(from, at - from)).c_str(), nullptr);
        if (number > 0 && number < 1e6) return static_cast<Bytes>(number * static_cast<double>(size));
    }
    // The usual card of that name.
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> usual{{{"gb300", 288},
                                                                              {"gb200", 192},
                                                                              {"b200", 192},
                                                                              {"h200", 141},
                                                                              {"h100", 80},
                                                                              {"a100", 80},
                                                                              {"a6000", 48},
                                                                              {"4090", 24},
                                                                              {"v100", 16}}};
    std::string lower(card);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const auto& [name, gb] : usual)
        if (contains(lower, name)) return gb * GB;
    return 0;
}

Result<PeakRow> published_row(const CsvTable& table, std::size_t row) {
    const Cells cells(table, row);
    const auto& source = cells.text("source");
    const auto& model = cells.text("model");
    if (const auto test = model.find("Megatron-LM test: "); test != std::string::npos) {
        // The same runs as in the golden peaks, with fewer of the flags.
        CsvTable flags;
        const auto name = model.substr(test + 18);
        const auto slash = name.find('/');
        const auto schedule = cells.text("pp_schedule");
        const auto put = [&](const char* flag, std::string value) {
            if (value.empty()) return;
            flags.columns.emplace_back(flag);
            if (flags.rows.empty()) flags.rows.emplace_back();
            flags.rows[0].push_back(std::move(value));
        };
        const auto put_number = [&](const char* flag, const char* column) {
            if (const auto value = first_number(cells.text(column))) put(flag, std::to_string(*value));
        };
        put("suite", name.substr(0, slash));
        put("case", slash == std::string::npos ? name : name.substr(slash + 1));
        put("platform", contains(cells.text("gpu_type"), "A100") ? "dev_dgx_a100" : "dev_dgx_h100");
        put("bf16", contains(cells.text("precision"), "bf16") ? "True" : "");
        put_number("num-layers", "layers"), put_number("hidden-size", "hidden"), put_number("seq-length", "seq");
        put_number("num-attention-heads", "heads"), put_number("num-query-groups", "kv_heads");
        if (!contains(cells.text("ffn"), "default")) put_number("ffn-hidden-size", "ffn");
        put_number("vocab-size", "vocab"), put_number("micro-batch-size", "micro_batch");
        put_number("tensor-model-parallel-size", "tp"), put_number("pipeline-model-parallel-size", "pp");
        put_number("context-parallel-size", "cp"), put_number("expert-model-parallel-size", "ep");
        put_number("num-experts", "experts"), put_number("world-size", "gpus");
        put("sequence-parallel", cells.text("sp") == "yes" ? "True" : "");
        put("use-distributed-optimizer",
            contains(cells.text("sharding"), "dist. opt.") || contains(cells.text("sharding"), "fsdp") ? "True" : "");
        if (contains(cells.text("sharding"), "fsdp")) {
            put("use-megatron-fsdp", "True");
            put("data-parallel-sharding-strategy", "optim_grads_params");
        }
        if (contains(schedule, "interleaved")) {
            if (const auto layers = first_number(schedule))
                put("num-layers-per-virtual-pipeline-stage", std::to_string(*layers));
        }
        const auto& attention = cells.text("attention");
        put("attention-backend", attention == "TE auto" ? "" : attention);
        put("global-batch-size", "32");
        const auto size = unit_bytes(cells.text("unit")).value_or(1);
        put("peak_alloc_bytes", fmt::format("{:.0f}", std::strtod(cells.text("peak").c_str(), nullptr) * size));
        auto peak = megatron_row(flags, 0);
        if (!peak) return bad_input("line {}: {}", row + 2, peak.error().message);
        peak->name = fmt::format("{} {}", cells.text("id"), name);
        peak->kind = cells.text("kind");
        peak->confidence = cells.text("confidence");
        if (contains(cells.text("gpus"), "not stated")) peak->unsaid = "the number of GPUs";
        return peak;
    }

    PeakRow peak;
    peak.name = fmt::format("{} {}", cells.text("id"), model);
    peak.kind = table.has("kind") ? cells.text("kind") : "measured";
    peak.confidence = cells.text("confidence");
    const auto size = unit_bytes(cells.text("unit"));
    if (!size) return bad_input("line {}: unit is \"{}\"; it must be B, MiB, GiB or GB", row + 2, cells.text("unit"));
    const double value = std::strtod(cells.text("peak").c_str(), nullptr);
    if (!(value > 0) || value * *size > 1e18)
        return bad_input("line {}: peak is \"{}\"; it must be a positive number", row + 2, cells.text("peak"));
    peak.truth = static_cast<Bytes>(std::llround(value * *size));
    peak.metric = metric_of(cells.text("metric"));
    peak.capacity = capacity_of(cells.text("gpu_type"));
    // "nvml process total (includes ~1343 MiB CUDA context)"
    if (contains(cells.text("metric"), "MiB CUDA context"))
        peak.context = std::clamp<std::int64_t>(first_number(cells.text("metric")).value_or(0), 0, 100'000) * MiB;

    auto& work = peak.work;
    read_model(cells, work);
    const auto& precision = cells.text("precision");
    work.numerics.dtype = contains(precision, "fp32") && !contains(precision, "bf16") && !contains(precision, "float8")
                              ? Dtype::Fp32
                              : Dtype::Bf16;
    work.numerics.attention = contains(cells.text("attention"), "eager") ? Attention::Eager : Attention::Flash;
    read_layout(cells, work);
    read_recompute(cells, work);
    const auto& named = cells.text("framework");
    const auto framework = find_framework(named);
    if (!named.empty() && framework != Framework::Megatron && framework != Framework::TorchTitan &&
        framework != Framework::HfTrainer)
        return bad_input("line {}: framework is \"{}\"; it must be {}", row + 2, named, frameworks_of_rows);
    if (framework == Framework::HfTrainer) {
        read_trainer(cells, peak);
    } else if (framework == Framework::Megatron) {
        peak.framework = Framework::Megatron;
        peak.scope = RankScope::Fullest;
        if (contains(cells.text("sharding"), "ZeRO")) work.layout.zero_stage = 1;
    } else if (framework || contains(source, "torchtitan")) {
        read_torchtitan(cells, peak);
    } else if (contains(source, "transformers") || contains(source, "LitGPT") || contains(source, "torchtune")) {
        work.selective_ops = false;
        read_trainer(cells, peak);
    } else if (contains(source, "Zero Bubble")) {
        peak.framework = Framework::Megatron;
        peak.unknown = "taken down from memory: to be read again in the paper first";
    } else {
        peak.unknown =
            fmt::format("the row does not say its framework: add a column \"framework\" with {}", frameworks_of_rows);
    }
    if (work.model.num_layers <= 0 || work.model.hidden_size <= 0 || work.model.vocab_size <= 0 || work.sequence <= 0)
        peak.unknown = "the row does not say layers, hidden, vocab or seq";
    return peak;
}

Result<std::vector<PeakRow>> read_peak_rows(const CsvTable& table) {
    const bool golden = table.has("peak_alloc_bytes") && table.has("num-layers");
    if (!golden && !(table.has("peak") && table.has("unit") && table.has("layers") && table.has("hidden")))
        return bad_input(
            "the first line must name Megatron-LM's flags and peak_alloc_bytes, or model, layers, hidden, heads, ffn, "
            "vocab, seq, micro_batch, peak, unit, metric and source");
    std::vector<PeakRow> rows;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        PLIMSOLL_TRY(auto peak, golden ? megatron_row(table, row) : published_row(table, row));
        rows.push_back(std::move(peak));
    }
    return rows;
}

}  // namespace plimsoll
