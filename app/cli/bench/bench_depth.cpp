// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/cli/bench/bench_measure.h"
#include "app/cli/bench/bench_studies.h"
#include "app/cli/bench/short_run.h"
#include "app/cli/reports/braille_plot.h"
#include "app/cli/terminal/interrupt.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/base/median.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"

namespace plimsoll::cli {

namespace {

struct BenchDepthArguments {
    PlanArguments plan;
    std::vector<std::int64_t> layers{6, 24, 96, 384, 1000};
    std::vector<double> rates{1e-3};
    std::vector<std::string> variants;
    std::int64_t steps = 100;
    bool json = false;
};

/// Settings that make the default plan narrow.
const std::vector<std::string> narrow{"model.hidden_size=64",      "model.num_heads=2",       "model.num_kv_heads=2",
                                      "model.ffn_hidden_size=172", "data.sequence_length=64", "layout.micro_batch=8",
                                      "layout.accumulation=1"};

/// By name and settings.
const std::vector<std::pair<std::string, std::string>> usual{
    {"pre", "model.norm_placement=pre"},           {"post", "model.norm_placement=post"},
    {"sandwich", "model.norm_placement=sandwich"}, {"deepnorm", "model.norm_placement=deepnorm"},
    {"pre, qk-norm", "model.qk_norm=true"},        {"pre, all alike", "model.init=plain"},
    {"pre, guide's init", "model.init=guide"},
};

/// One variant at one depth, at the best rate found.
struct DepthRow {
    std::string variant;
    std::int64_t layers = 0;
    double rate = 0;
    std::vector<double> at_start, at_end;  ///< gradient norms by layer
    double perplexity = std::numeric_limits<double>::quiet_NaN();
    Seconds step = 0;
    std::string failure;  ///< why the run failed at every rate

    bool through() const { return std::isfinite(perplexity); }
};

std::vector<double> norms_at(const SeriesStore& store, std::int64_t layers, bool end) {
    std::vector<double> norms;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        const Pyramid* line = store.find(fmt::format("{}{}", series::layer_norm_prefix, layer));
        if (line == nullptr || line->size() == 0) return {};
        norms.push_back(line->value(end ? line->size() - 1 : 0));
    }
    return norms;
}

Result<void> run_at(const Plan& plan, DepthRow& row) {
    return run_shortly(plan, [&](const RunTelemetry& records, const RunState& end) -> Result<void> {
        const SeriesStore& store = records.series();
        if (row.at_start.empty()) row.at_start = norms_at(store, row.layers, false);
        const Pyramid* loss = store.find(series::validation_loss);
        if (end.status != RunStatus::Finished || loss == nullptr || loss->size() == 0) {
            row.failure = end.status == RunStatus::Finished ? "it recorded no validation" : end.reason;
            return {};
        }
        const double perplexity = std::exp(loss->value(loss->size() - 1));
        if (row.through() && row.perplexity <= perplexity) return {};
        row.perplexity = perplexity;
        row.rate = plan.optimizer.lr;
        row.at_end = norms_at(store, row.layers, true);
        if (const Pyramid* time = store.find(series::step_time)) {
            std::vector<double> times;
            for (std::size_t i = 0; i < time->size(); ++i) times.push_back(time->value(i));
            row.step = median(std::move(times));
        }
        return {};
    });
}

Plan study_plan(const Plan& base, const BenchDepthArguments& arguments, std::int64_t layers) {
    Plan plan = base;
    plan.model.num_layers = layers;
    plan.training.steps = arguments.steps;
    plan.training.layer_norms_every = plan.training.validate_every = arguments.steps;
    plan.training.sample_every = plan.training.checkpoint_every = 0;
    plan.guard.detector = GuardDetector::Off;
    plan.lr.warmup_steps = std::max<std::int64_t>(1, arguments.steps / 10);
    return plan;
}

/// The norm of the first layer's gradient / that of the last layer's.
std::string spread(const std::vector<double>& norms) {
    if (norms.empty()) return "";
    return norms.back() > 0 ? fmt::format("{:.2g}", norms.front() / norms.back()) : "none";
}

std::string table(const std::vector<DepthRow>& rows) {
    std::size_t width = 7;
    for (const DepthRow& row : rows) width = std::max(width, std::min<std::size_t>(shown_width(row.variant), 40));
    const auto line = [&](const std::string& name, const std::vector<std::string>& cells) {
        std::string text = fitted(name, width);
        for (const std::string& cell : cells) text += fitted(cell, 15, true);
        return text + "\n";
    };
    std::string text =
        line("variant", {"layers", "lr", "perplexity", "first/last", "after steps", "largest/least", "time/step"});
    for (const DepthRow& row : rows) {
        std::string ratio;
        if (!row.at_start.empty()) {
            const auto [least, most] = std::minmax_element(row.at_start.begin(), row.at_start.end());
            ratio = *least > 0 ? fmt::format("{:.2g}", *most / *least) : "none";
        }
        text += line(printable(row.variant),
                     {fmt::format("{}", row.layers), row.through() ? fmt::format("{:g}", row.rate) : "",
                      row.through() ? fmt::format("{:.3f}", row.perplexity) : "diverged", spread(row.at_start),
                      spread(row.at_end), ratio, row.through() ? format_seconds(row.step) : ""});
    }
    return text;
}

std::string plots(const std::vector<DepthRow>& rows, std::int64_t layers) {
    std::string text = fmt::format(
        "log10 of the gradient norm by layer, of {} layers, at the start (blue) and after the run (orange):\n", layers);
    for (const DepthRow& row : rows) {
        if (row.layers != layers || row.at_start.empty()) continue;
        // Behind an output head that starts at 0, no layer has a gradient at first.
        const auto line = [](const std::vector<double>& norms) {
            Pyramid points;
            for (std::size_t i = 0; i < norms.size(); ++i) {
                if (norms[i] > 0) points.append({i, 0, std::log10(norms[i])});
            }
            return points;
        };
        const Pyramid start = line(row.at_start), end = line(row.at_end);
        Plot plot;
        plot.title = printable(row.variant);
        plot.lines.push_back({&start, 67});
        plot.lines.push_back({&end, 215});
        plot.to = static_cast<double>(layers);
        for (const std::string& each : draw(plot)) text += each + "\n";
    }
    return text;
}

/// The results of Sandwich-LN against Pre-LN, beside the quoted ones.
std::string beside_the_guide(const std::vector<DepthRow>& rows) {
    std::string text;
    for (const DepthRow& sandwich : rows) {
        if (sandwich.variant != "sandwich" || !sandwich.through()) continue;
        const auto pre = std::find_if(rows.begin(), rows.end(), [&](const DepthRow& row) {
            return row.variant == "pre" && row.layers == sandwich.layers && row.through();
        });
        if (pre == rows.end()) continue;
        text += fmt::format("{}{} layers {:+.1f} %", text.empty() ? "" : ", ", sandwich.layers,
                            100 * (sandwich.perplexity / pre->perplexity - 1));
    }
    if (text.empty()) return "";
    return fmt::format("perplexity of norms on both sides against norms before: {} (quoted elsewhere: -3.2 %)\n", text);
}

Json depth_json(const std::vector<DepthRow>& rows, const BenchDepthArguments& arguments) {
    Json list = Json::array();
    for (const DepthRow& row : rows) {
        Json each{{"variant", row.variant},
                  {"layers", row.layers},
                  {"gradient_norms_at_start", row.at_start},
                  {"gradient_norms_at_end", row.at_end}};
        if (row.through()) {
            each["lr"] = row.rate;
            each["perplexity"] = row.perplexity;
            each["seconds_per_step"] = row.step;
        } else {
            each["failure"] = row.failure;
        }
        list.push_back(std::move(each));
    }
    return {{"steps", arguments.steps}, {"rates", arguments.rates}, {"rows", std::move(list)}};
}

Result<std::vector<Variant>> variants_at(const Plan& base, const BenchDepthArguments& arguments, std::int64_t layers) {
    auto named = usual;
    if (!arguments.variants.empty()) named.clear();
    for (const std::string& settings : arguments.variants) named.emplace_back(settings, settings);
    const Plan plan = study_plan(base, arguments, layers);
    std::vector<Variant> variants;
    for (const auto& [name, settings] : named) {
        PLIMSOLL_TRY(auto variant, make_variant(plan, name, settings));
        variants.push_back(std::move(variant));
    }
    PLIMSOLL_CHECK(check_variants(variants));
    return variants;
}

Result<int> bench_depth(BenchDepthArguments& arguments) {
    if (arguments.steps < 2 || arguments.steps > 100'000) {
        return bad_input("--steps is {}: 2 to 100,000 are allowed", arguments.steps);
    }
    for (const double rate : arguments.rates) {
        if (!(rate > 0) || rate > 1e3)
            return bad_input("--lr has {:g}: rates above 0 and up to 1000 are allowed", rate);
    }
    PLIMSOLL_TRY(const auto base, arguments.plan.load([&](Plan plan) -> Result<Plan> {
        return arguments.plan.named() ? Result<Plan>(plan) : with_settings(plan, narrow);
    }));
    std::vector<std::vector<Variant>> by_depth;
    for (const std::int64_t layers : arguments.layers) {
        PLIMSOLL_TRY(auto variants, variants_at(base, arguments, layers));
        by_depth.push_back(std::move(variants));
    }
    count_interrupts();
    std::vector<DepthRow> rows;
    for (const auto& variants : by_depth) {
        for (const Variant& variant : variants) {
            DepthRow row;
            row.variant = variant.name;
            row.layers = variant.plan.model.num_layers;
            for (const double rate : arguments.rates) {
                show_progress(fmt::format("{} layers, {}, lr {:g} …", row.layers, printable(row.variant), rate));
                Plan plan = variant.plan;
                plan.optimizer.lr = rate;
                PLIMSOLL_CHECK(run_at(plan, row));
            }
            rows.push_back(std::move(row));
        }
    }
    if (is_terminal(stderr)) show_progress("");
    if (arguments.json) {
        say_json(depth_json(rows, arguments));
        return 0;
    }
    say(table(rows));
    say(
        fmt::format("{} steps, the best of the rates; perplexity per byte on the text kept for validation. first/last: "
                    "the gradient norm of the first layer against the last one's at the start, and after the run; "
                    "none: a gradient of 0\n",
                    arguments.steps));
    say(beside_the_guide(rows));
    say(plots(rows, *std::max_element(arguments.layers.begin(), arguments.layers.end())));
    return 0;
}

}  // namespace

void add_bench_depth(CLI::App& bench, Work& work) {
    CLI::App* command = add_command(
        bench, "depth", "Norm placements and initial weights by depth: gradient norms by layer, and perplexity");
    const auto arguments = std::make_shared<BenchDepthArguments>();
    arguments->plan.add_to(*command, {});
    command->add_option("--layers", arguments->layers, "Depths, with commas between")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--lr", arguments->rates, "Peak rates, of which the best counts")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--steps", arguments->steps, "Steps of each run")->type_name("N")->capture_default_str();
    command
        ->add_option("--variant", arguments->variants,
                     "Settings of one row in place of the usual ones; may be given again")
        ->type_name("SETTINGS")
        ->allow_extra_args(false);
    command->add_flag("--json", arguments->json, "JSON, with the gradient norms of every layer");
    command->footer("Time grows with the depths: on two CPU cores 1,000 layers of width 64 take about 10 s a step.");
    command->callback([arguments, &work] { work = [arguments] { return bench_depth(*arguments); }; });
}

}  // namespace plimsoll::cli
