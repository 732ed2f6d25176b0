// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
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
#include "core/plan/plan_io.h"

namespace plimsoll::cli {

namespace {

struct BenchOptimizersArguments {
    PlanArguments plan;
    std::vector<std::int64_t> batches{16, 256};
    double tokens = 1'000'000;
    bool json = false;
};

/// An optimizer and the rate at which its search begins.
struct Contender {
    std::string name;
    OptimizerKind kind;
    double first_rate;
};
const std::array contenders{Contender{"adamw", OptimizerKind::AdamW, 3e-3},
                            Contender{"lamb", OptimizerKind::Lamb, 1e-2}};

constexpr double rate_step = 3;
constexpr int most_rates = 7;

struct Trial {
    double rate = 0;
    double validation_loss = std::numeric_limits<double>::infinity();  ///< infinite: the run diverged
    Pyramid loss;                                                      ///< over tokens
};

struct OptimizerRow {
    std::string optimizer;
    std::int64_t batch = 0;  ///< sequences
    std::vector<Trial> trials;
    const Trial& best() const {
        return *std::min_element(trials.begin(), trials.end(),
                                 [](const Trial& a, const Trial& b) { return a.validation_loss < b.validation_loss; });
    }
};

Result<Plan> plan_of(const Plan& base, const Contender& contender, std::int64_t batch, double tokens) {
    Plan plan = base;
    plan.layout.accumulation = std::max<std::int64_t>(1, batch / (plan.layout.dp * plan.layout.micro_batch));
    if (plan.layout.global_batch() != batch) {
        return bad_input("a batch of {} sequences is not a multiple of layout.dp {} x layout.micro_batch {}; take {}",
                         batch, plan.layout.dp, plan.layout.micro_batch, plan.layout.global_batch());
    }
    const double steps = tokens / static_cast<double>(batch * plan.data.sequence_length);
    if (steps < 10) {
        return bad_input("--tokens {:g} is {:.1f} steps of {} sequences; take --tokens={:g} or more", tokens, steps,
                         batch, 10.0 * static_cast<double>(batch * plan.data.sequence_length));
    }
    plan.training.steps = std::llround(steps);
    plan.training.validate_every = plan.training.steps;
    plan.training.layer_norms_every = plan.training.sample_every = plan.training.checkpoint_every = 0;
    plan.guard.detector = GuardDetector::Off;
    plan.lr.warmup_fraction = 0.1;
    plan.optimizer.kind = contender.kind;
    plan.optimizer.always_adapt = contender.kind == OptimizerKind::Lamb;
    return plan;
}

Result<Trial> try_rate(Plan plan, double rate) {
    Trial trial;
    trial.rate = plan.optimizer.lr = rate;
    const auto per_step = static_cast<std::uint64_t>(plan.layout.global_batch() * plan.data.sequence_length);
    auto done = run_shortly(plan, [&](const RunTelemetry& records, const RunState& end) -> Result<void> {
        const SeriesStore& store = records.series();
        if (const Pyramid* loss = store.find(series::loss)) {
            for (std::size_t i = 0; i < loss->size(); ++i) {
                trial.loss.append({loss->step(i) * per_step, 0, loss->value(i)});
            }
        }
        const Pyramid* validation = store.find(series::validation_loss);
        if (end.status != RunStatus::Finished || validation == nullptr || validation->size() == 0) return {};
        const double loss = validation->value(validation->size() - 1);
        if (std::isfinite(loss)) trial.validation_loss = loss;
        return {};
    });
    if (!done) return tl::unexpected(done.error());
    return trial;
}

/// Steps of `rate_step` from the first rate until the best has a worse neighbour on both sides.
Result<OptimizerRow> search_rate(const Plan& plan, const Contender& contender, std::int64_t batch) {
    OptimizerRow row;
    row.optimizer = contender.name;
    row.batch = batch;
    const auto attempt = [&](int exponent) -> Result<double> {
        const double rate = contender.first_rate * std::pow(rate_step, exponent);
        show_progress(fmt::format("{}, {} sequences, lr {:.3g} …", contender.name, batch, rate));
        PLIMSOLL_TRY(auto trial, try_rate(plan, rate));
        row.trials.push_back(std::move(trial));
        return row.trials.back().validation_loss;
    };
    PLIMSOLL_CHECK(attempt(0));
    for (const int direction : {1, -1}) {
        double best = row.trials.front().validation_loss;
        for (int exponent = direction; static_cast<int>(row.trials.size()) < most_rates; exponent += direction) {
            PLIMSOLL_TRY(const auto loss, attempt(exponent));
            if (!(loss < best)) break;
            best = loss;
        }
    }
    return row;
}

Json optimizers_json(const std::vector<OptimizerRow>& rows, const BenchOptimizersArguments& arguments) {
    Json list = Json::array();
    for (const OptimizerRow& row : rows) {
        Json trials = Json::array();
        for (const Trial& trial : row.trials) {
            trials.push_back({{"lr", trial.rate}, {"validation_loss", trial.validation_loss}});
        }
        Json tokens = Json::array(), losses = Json::array();
        for (std::size_t i = 0; i < row.best().loss.size(); ++i) {
            tokens.push_back(row.best().loss.step(i));
            losses.push_back(row.best().loss.value(i));
        }
        list.push_back({{"optimizer", row.optimizer},
                        {"batch_sequences", row.batch},
                        {"lr", row.best().rate},
                        {"validation_loss", row.best().validation_loss},
                        {"trials", std::move(trials)},
                        {"tokens", std::move(tokens)},
                        {"loss", std::move(losses)}});
    }
    return {{"tokens", arguments.tokens}, {"rows", std::move(list)}};
}

void print(const std::vector<OptimizerRow>& rows, const BenchOptimizersArguments& arguments) {
    say(fmt::format("{:<10}{:>10}{:>10}{:>18}   rates tried (validation loss)\n", "optimizer", "batch", "best lr",
                    "validation loss"));
    for (const OptimizerRow& row : rows) {
        std::string tried;
        for (const Trial& trial : row.trials) {
            tried += std::isfinite(trial.validation_loss)
                         ? fmt::format("  {:.3g}: {:.3f}", trial.rate, trial.validation_loss)
                         : fmt::format("  {:.3g}: diverged", trial.rate);
        }
        say(fmt::format("{:<10}{:>10}{:>10.3g}{:>18.4f} {}\n", row.optimizer, row.batch, row.best().rate,
                        row.best().validation_loss, tried));
    }
    for (const std::int64_t batch : arguments.batches) {
        Plot plot;
        plot.title = fmt::format("loss over tokens at {} sequences a batch:", batch);
        static constexpr std::array colours{67, 215};
        for (const OptimizerRow& row : rows) {
            if (row.batch != batch) continue;
            const int colour = colours[plot.lines.size() % colours.size()];
            plot.lines.push_back({&row.best().loss, colour});
            plot.title += fmt::format(" {}{}", row.optimizer, plot.lines.size() == 1 ? " (blue)" : " (orange)");
        }
        plot.to = arguments.tokens;
        for (const std::string& line : draw(plot)) say(line + "\n");
    }
}

Result<int> bench_optimizers(BenchOptimizersArguments& arguments) {
    if (!(arguments.tokens > 0) || arguments.tokens > 1e12) {
        return bad_input("--tokens is {:g}: above 0 and up to 1e12 are allowed", arguments.tokens);
    }
    PLIMSOLL_TRY(const auto base, arguments.plan.load([](Plan plan) { return Result<Plan>(std::move(plan)); }));
    std::vector<Variant> variants;
    for (const std::int64_t batch : arguments.batches) {
        for (const Contender& contender : contenders) {
            PLIMSOLL_TRY(auto plan, plan_of(base, contender, batch, arguments.tokens));
            variants.push_back({fmt::format("{}, {} sequences", contender.name, batch), std::move(plan)});
        }
    }
    PLIMSOLL_CHECK(check_variants(variants));
    count_interrupts();
    std::vector<OptimizerRow> rows;
    for (std::size_t i = 0; i < variants.size(); ++i) {
        auto row =
            search_rate(variants[i].plan, contenders[i % contenders.size()], arguments.batches[i / contenders.size()]);
        if (!row) return tl::unexpected(row.error());
        rows.push_back(std::move(*row));
    }
    if (is_terminal(stderr)) show_progress("");
    if (arguments.json) {
        say_json(optimizers_json(rows, arguments));
        return 0;
    }
    print(rows, arguments);
    return 0;
}

}  // namespace

void add_bench_optimizers(CLI::App& bench, Work& work) {
    CLI::App* command = add_command(
        bench, "optimizers", "Loss over tokens of AdamW and LAMB at small and large batches, each at its best rate");
    const auto arguments = std::make_shared<BenchOptimizersArguments>();
    arguments->plan.add_to(*command, {});
    command->add_option("--batch", arguments->batches, "Sequences a batch, with commas between")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--tokens", arguments->tokens, "Tokens that each run trains on")->capture_default_str();
    command->add_flag("--json", arguments->json, "JSON, with the curves");
    command->footer(
        "Rates are searched in steps of three from 3e-3 (adamw) and 1e-2 (lamb) until both neighbours are worse; lamb "
        "adapts biases and norms too (optimizer.always_adapt).");
    command->callback([arguments, &work] { work = [arguments] { return bench_optimizers(*arguments); }; });
}

}  // namespace plimsoll::cli
