// SPDX-License-Identifier: Apache-2.0
#include "core/validation/step_row.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "core/base/file.h"
#include "core/estimate/estimate.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/step_time/step_time.h"

namespace plimsoll {

namespace {

Result<double> number_in(const CsvTable& table, std::size_t row, std::string_view column) {
    const auto& text = table.at(row, column);
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value) || value < 0)
        return bad_input("line {}: \"{}\" in column \"{}\" is not a number of 0 or more", row + 2, text, column);
    return value;
}

constexpr std::array vtrain_columns{"# GPUs",
                                    "global batch",
                                    "micro batch",
                                    "hidden size",
                                    "attention heads",
                                    "# layers",
                                    "sequence length",
                                    "tensor parallelism",
                                    "data parallelism",
                                    "pipeline parallelism",
                                    "iteration time (ms)"};

Result<void> possible(const Plan& plan, std::size_t row) {
    const auto problems = check_plan(plan);
    if (problems.empty()) return {};
    return bad_input("line {}: {}", row + 2, problems.front().sentence);
}

Result<StepRow> vtrain_row(const CsvTable& table, std::size_t row, const Unsaid& unsaid) {
    std::array<double, vtrain_columns.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        PLIMSOLL_TRY(const auto value, number_in(table, row, vtrain_columns[i]));
        if (value <= 0 || value > 1e12)
            return bad_input("line {}: {} in column \"{}\" has to be above 0 and below 10^12", row + 2, value,
                             vtrain_columns[i]);
        values[i] = value;
    }
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(values[i]); };
    StepRow made;
    Plan& plan = made.plan;
    auto& m = plan.model;
    m.family = Family::Gpt2;
    m.norm = Norm::LayerNorm;
    m.position = Position::Learned;
    m.activation = Activation::Gelu;
    m.qkv_bias = m.linear_bias = m.tied_head = true;
    m.dropout = 0.1;
    m.hidden_size = whole(3);
    m.ffn_hidden_size = 4 * m.hidden_size;
    m.num_heads = m.num_kv_heads = whole(4);
    m.num_layers = whole(5);
    m.max_position = plan.data.sequence_length = whole(6);
    m.vocab_size = unsaid.vocab_size;
    auto& l = plan.layout;
    l.tp = whole(7), l.dp = whole(8), l.pp = whole(9), l.micro_batch = whole(2);
    if (whole(1) % (l.dp * l.micro_batch) != 0)
        return bad_input("line {}: a global batch of {} is not a multiple of micro batch {} x data parallelism {}",
                         row + 2, whole(1), l.micro_batch, l.dp);
    l.accumulation = whole(1) / l.dp / l.micro_batch;
    plan.cluster = {unsaid.gpu, std::min<std::int64_t>(whole(0), 8), std::max<std::int64_t>(whole(0) / 8, 1), 0,
                    unsaid.internode_gbs};
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.attention = Attention::Eager;
    PLIMSOLL_CHECK(possible(plan, row));
    made.truth = values[10] / 1000;
    made.name = fmt::format("h {} L {} on {}: tp {} dp {} pp {} micro-batch {} of {}", m.hidden_size, m.num_layers,
                            whole(0), l.tp, l.dp, l.pp, l.micro_batch, whole(1));
    made.group = fmt::format("h {} L {} s {} on {} batch {}", m.hidden_size, m.num_layers, plan.data.sequence_length,
                             whole(0), whole(1));
    return made;
}

Result<StepRow> settings_row(const CsvTable& table, std::size_t row) {
    StepRow made;
    made.name = table.at(row, "name");
    made.source = table.at(row, "source");
    made.group = made.name;
    const auto model = model_preset(table.at(row, "preset"));
    if (!model) return bad_input("line {}: {}", row + 2, model.error().message);
    made.plan.model = *model;
    std::vector<std::string> settings;
    const std::string_view text = table.at(row, "settings");
    for (std::size_t from = 0; from < text.size();) {
        const auto to = std::min(text.find(';', from), text.size());
        settings.emplace_back(text.substr(from, to - from));
        from = to + 1;
    }
    auto plan = with_settings(made.plan, settings);
    if (!plan) return bad_input("line {}: {}", row + 2, plan.error().message);
    made.plan = *std::move(plan);
    PLIMSOLL_CHECK(possible(made.plan, row));
    PLIMSOLL_TRY(const auto value, number_in(table, row, "value"));
    if (value <= 0) return bad_input("line {}: value has to be above 0", row + 2);
    if (!table.at(row, "gradient_overlap").empty()) {
        PLIMSOLL_TRY(const auto overlap, number_in(table, row, "gradient_overlap"));
        made.gradient_overlap = std::min(overlap, 1.0);
    }
    const auto hardware = hardware_of(made.plan.cluster, made.plan.numerics.dtype);
    if (!hardware) return bad_input("line {}: {}", row + 2, hardware.error().message);
    const auto flops = step_flops(made.plan);
    const double ranks = static_cast<double>(made.plan.layout.world_size());
    const auto& metric = table.at(row, "metric");
    if (metric == "seconds") {
        made.truth = value;
    } else if (metric == "model_tflops") {
        made.truth = flops.model / (value * 1e12 * ranks);
    } else if (metric == "causal_model_tflops") {
        made.truth = step_flops(made.plan, true).model / (value * 1e12 * ranks);
    } else if (metric == "hardware_tflops") {
        made.truth = (flops.model + flops.again) / (value * 1e12 * ranks);
    } else if (metric == "tokens_per_second_per_gpu") {
        const auto tokens = static_cast<double>(made.plan.layout.global_batch() * made.plan.data.sequence_length);
        made.truth = tokens / (value * ranks);
    } else {
        return bad_input(
            "line {}: metric \"{}\" is not one of seconds, model_tflops, causal_model_tflops, hardware_tflops, "
            "tokens_per_second_per_gpu",
            row + 2, metric);
    }
    return made;
}

/// A series of runs of one model has one setting: all layers are recomputed where any of its rows would not fit.
Result<void> recompute_where_needed(std::vector<StepRow>& rows) {
    std::map<std::string, bool> needed;
    const auto series = [](const StepRow& row) {
        const auto& m = row.plan.model;
        return fmt::format("{} {} {}", m.hidden_size, m.num_layers, row.plan.data.sequence_length);
    };
    for (const auto& row : rows) {
        const auto estimate = estimate_memory(row.plan);
        if (!estimate) return bad_input("{}: {}", row.name, estimate.error().message);
        needed[series(row)] |= !estimate->fits();
    }
    for (auto& row : rows)
        if (needed[series(row)]) row.plan.layout.recompute = Recompute::Full;
    return {};
}

}  // namespace

Result<std::vector<StepRow>> read_step_rows(const CsvTable& table, const Unsaid& unsaid) {
    const bool settings = table.has("settings");
    if (settings) {
        for (const auto* column : {"name", "preset", "metric", "value"})
            if (!table.has(column)) return bad_input("there is no column \"{}\"", column);
    } else {
        for (const auto* column : vtrain_columns)
            if (!table.has(column)) return bad_input("there is no column \"{}\"", column);
    }
    std::vector<StepRow> rows;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        PLIMSOLL_TRY(auto row, settings ? settings_row(table, i) : vtrain_row(table, i, unsaid));
        rows.push_back(std::move(row));
    }
    if (!settings) PLIMSOLL_CHECK(recompute_where_needed(rows));
    return rows;
}

Result<std::string> published_step_times() {
    return read_file(data_folder() / "resources" / "published-step-times.csv");
}

}  // namespace plimsoll
