// SPDX-License-Identifier: Apache-2.0
#include "app/cli/validate/validate_engine_memory.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/cli/bench/bench_measure.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/run/processes/dry_run_process.h"

namespace plimsoll::cli {

namespace {

constexpr double dry_run_limit = 0.005, closed_form_limit = 0.02;

using Settings = std::vector<std::string>;

const Settings common{"model.num_layers=4", "model.hidden_size=128", "model.num_heads=4", "model.head_dim=0",
                      "model.vocab_size=256", "layout.micro_batch=8", "data.sequence_length=128", "cluster.gpu=cpu",
                      "layout.dp=2", "training.steps=2", "training.sample_every=0", "training.validate_every=0",
                      "training.checkpoint_every=0", "training.threads=1", "lr.warmup_steps=0",
                      // A learning router may send every token the same way, which the closed form does not expect.
                      "optimizer.lr=1e-6"};

const std::vector<std::pair<std::string, Settings>> families{
    {"gpt2",
     {"model.family=gpt2", "model.norm=layernorm", "model.position=learned", "model.activation=gelu",
      "model.num_kv_heads=4", "model.qkv_bias=true", "model.linear_bias=true", "model.tied_head=true",
      "model.max_position=1024", "model.ffn_hidden_size=512", "numerics.attention=eager"}},
    {"llama", {"model.family=llama", "model.num_kv_heads=2", "model.ffn_hidden_size=344", "numerics.attention=flash"}},
    {"mixtral",
     {"model.family=mixtral", "model.num_kv_heads=2", "model.ffn_hidden_size=344", "model.num_experts=4",
      "model.experts_per_token=2", "numerics.attention=flash"}}};

struct Combination {
    std::string name;
    Settings settings;
};

/// The trained parameters: all weights, or adapters, which support neither ZeRO-3 nor recompute mlp.
const std::vector<Combination> trained{
    {"", {}},
    {" LoRA", {"adapter.rank=8"}},
    {" LoRA-attention", {"adapter.rank=32", "adapter.targets=attention"}},
    {" LoRA packed", {"adapter.rank=8", "layout.compress_activations=true"}},
};

std::vector<Combination> combinations() {
    std::vector<Combination> all;
    for (const auto& [what, of_what] : trained) {
        const bool adapters = !of_what.empty();
        for (const auto& [family, of_family] : families) {
            for (const std::string dtype : {"fp32", "bf16"}) {
                for (const std::string recompute : {"none", "selective", "full", "mlp"}) {
                    for (int zero = 0; zero <= 3; ++zero) {
                        if (adapters && (recompute == "mlp" || zero % 2 == 1)) continue;
                        // Only some of the remaining combinations, so that all take minutes.
                        if (adapters && recompute == "selective") continue;
                        // The closed form is some percent low for experts in 8 bits.
                        if (what.ends_with("packed") && (family == "mixtral" || recompute != "none" || zero > 0))
                            continue;
                        if (what.ends_with("attention") && zero > 0) continue;
                        Settings settings = common;
                        settings.insert(settings.end(), of_family.begin(), of_family.end());
                        settings.insert(settings.end(), of_what.begin(), of_what.end());
                        settings.push_back(fmt::format("numerics.dtype={}", dtype));
                        settings.push_back(fmt::format("layout.recompute={}", recompute));
                        settings.push_back(fmt::format("layout.zero_stage={}", zero));
                        all.push_back({fmt::format("{} {} {} {}{}", family, dtype, recompute,
                                                   zero == 0 ? "DP" : fmt::format("ZeRO-{}", zero), what),
                                       std::move(settings)});
                    }
                }
            }
        }
    }
    return all;
}

Result<std::vector<Variant>> chosen_variants(const std::string& only, std::size_t every) {
    PLIMSOLL_TRY(const auto demo, plan_from_argument("cpu-demo"));
    std::vector<Variant> all;
    std::size_t found = 0;
    for (const Combination& each : combinations()) {
        if (each.name.find(only) == std::string::npos || found++ % every != 0) continue;
        PLIMSOLL_TRY(auto plan, with_settings(demo.plan, each.settings));
        Variant variant;
        variant.name = each.name;
        variant.plan = std::move(plan);
        all.push_back(std::move(variant));
    }
    if (all.empty()) return bad_input("no combination has \"{}\" in its name; one is \"llama bf16 full ZeRO-2\"", only);
    return all;
}

struct Row {
    std::string name;
    Bytes measured = 0, closed_form = 0, dry_run = 0;
    double error(Bytes predicted) const { return static_cast<double>(predicted) / static_cast<double>(measured) - 1; }
};

Result<Bytes> dry_peak(const Plan& plan, const Json& routing) {
    DryRunRequest request;
    request.routing = routing;
    request.ranks.clear();
    for (std::int64_t rank = 0; rank < plan.layout.world_size(); ++rank)
        request.ranks.push_back(static_cast<int>(rank));
    PLIMSOLL_TRY(const auto figures, run_dry(plan, request));
    Bytes peak = 0;
    for (const Json& rank : figures.at("ranks")) peak = std::max(peak, rank.at("peak").get<Bytes>());
    return peak;
}

struct Summary {
    double closed_form_mean = 0, closed_form_worst = 0, dry_run_mean = 0, dry_run_worst = 0;
    std::size_t exact = 0;
};

Summary summary_of(const std::vector<Row>& rows) {
    Summary summary;
    const auto count = static_cast<double>(rows.size());
    for (const Row& row : rows) {
        const double closed = std::abs(row.error(row.closed_form)), dry = std::abs(row.error(row.dry_run));
        summary.closed_form_mean += closed / count;
        summary.dry_run_mean += dry / count;
        summary.closed_form_worst = std::max(summary.closed_form_worst, closed);
        summary.dry_run_worst = std::max(summary.dry_run_worst, dry);
        if (row.dry_run == row.measured) ++summary.exact;
    }
    return summary;
}

Json engine_memory_json(const std::vector<Row>& rows, const Summary& summary) {
    Json json{{"rows", Json::array()}};
    for (const Row& row : rows) {
        json["rows"].push_back({{"name", row.name},
                                {"measured", row.measured},
                                {"closed_form", row.closed_form},
                                {"closed_form_error", row.error(row.closed_form)},
                                {"dry_run", row.dry_run},
                                {"dry_run_error", row.error(row.dry_run)}});
    }
    json["summary"] = {{"rows", rows.size()},
                       {"closed_form_mean_error", summary.closed_form_mean},
                       {"closed_form_worst_error", summary.closed_form_worst},
                       {"dry_run_mean_error", summary.dry_run_mean},
                       {"dry_run_worst_error", summary.dry_run_worst},
                       {"dry_run_exact", summary.exact}};
    return json;
}

std::string engine_memory_text(const std::vector<Row>& rows, const Summary& summary) {
    std::string text = fmt::format("{:<32} {:>13} {:>13} {:>9} {:>13} {:>9}\n", "two CPU ranks", "measured B",
                                   "closed form", "off by", "dry run", "off by");
    for (const Row& row : rows) {
        text += fmt::format("{:<32} {:>13} {:>13} {:>+8.2f}% {:>13} {:>+8.3f}%\n", row.name, format_count(row.measured),
                            format_count(row.closed_form), 100 * row.error(row.closed_form), format_count(row.dry_run),
                            100 * row.error(row.dry_run));
    }
    return text + fmt::format(
                      "{} combinations. Closed form: off by {:.2f} % in the mean, {:.2f} % at most. Dry run: "
                      "{:.3f} % in the mean, {:.3f} % at most, {} to the byte.\n",
                      rows.size(), 100 * summary.closed_form_mean, 100 * summary.closed_form_worst,
                      100 * summary.dry_run_mean, 100 * summary.dry_run_worst, summary.exact);
}

}  // namespace

Result<int> validate_engine_memory(const EngineMemoryArguments& arguments) {
    PLIMSOLL_TRY(const auto variants, chosen_variants(arguments.only, arguments.every));
    PLIMSOLL_CHECK(check_variants(variants));
    PLIMSOLL_TRY(const auto measured, measure(variants, 1));
    std::vector<Row> rows;
    for (std::size_t i = 0; i < variants.size(); ++i) {
        const Variant& variant = variants[i];
        const Measured& one = measured[i];
        if (one.step_peak.empty()) return failed("\"{}\" recorded no memory of its steps", variant.name);
        PLIMSOLL_TRY(const auto dry, dry_peak(variant.plan, one.routing));
        rows.push_back(
            {variant.name, *std::max_element(one.step_peak.begin(), one.step_peak.end()), one.estimate, dry});
    }
    const Summary summary = summary_of(rows);
    if (arguments.json)
        say_json(engine_memory_json(rows, summary));
    else
        say(engine_memory_text(rows, summary));
    return summary.dry_run_worst <= dry_run_limit && summary.closed_form_worst <= closed_form_limit ? 0 : 1;
}

}  // namespace plimsoll::cli
