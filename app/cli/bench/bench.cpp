// SPDX-License-Identifier: Apache-2.0
// plimsoll bench: variants of a plan, measured in real short runs.
#include "app/cli/bench/bench.h"

#include "app/cli/bench/bench_calibrate.h"
#include "app/cli/bench/bench_report.h"
#include "app/cli/bench/bench_studies.h"
#include "app/cli/terminal/plan_arguments.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/supervisor.h"

namespace plimsoll::cli {

namespace {

struct BenchArguments {
    PlanArguments plan;
    std::vector<std::string> variants;
    std::int64_t steps = 10, rounds = 3;
    bool json = false;
};

Result<Plan> base_plan(BenchArguments& arguments) {
    if (arguments.rounds < 1 || arguments.rounds > 1000) {
        return bad_input("--rounds is {}: 1 to 1,000 are allowed", arguments.rounds);
    }
    return arguments.plan.load([&](Plan plan) -> Result<Plan> {
        // A set brings its own model, unless a plan was named.
        if (!arguments.plan.named() && !arguments.plan.word.empty()) {
            auto of_set = with_settings(plan, settings_of_set(arguments.plan.word));
            if (!of_set) return of_set;
            plan = std::move(*of_set);
        }
        return for_bench(std::move(plan), arguments.steps);
    });
}

Result<int> compare(const std::vector<Variant>& variants, const BenchArguments& arguments, bool advise) {
    PLIMSOLL_CHECK(check_variants(variants));
    const std::int64_t batch = variants.front().plan.layout.global_batch();
    for (const Variant& variant : variants) {
        const std::int64_t own = variant.plan.layout.global_batch();
        if (own == batch) continue;
        warn(fmt::format("\"{}\" trains {} sequences a step, and \"{}\" {}: their losses are not comparable",
                         variant.name, own, variants.front().name, batch));
    }
    for (const Variant& variant : variants) {
        for (const std::string& warning : start_warnings(variant.plan)) {
            warn(fmt::format("\"{}\": {}", variant.name, warning));
        }
    }
    PLIMSOLL_TRY(const auto all, measure(variants, arguments.rounds));
    if (arguments.json) {
        say_json(bench_json(variants, all));
        return 0;
    }
    say(bench_table(variants, all));
    say(fmt::format(
        "rounds: {}, of {} steps each, the first {} left out. ratio: tokens/s against the first row in the "
        "same round (median); of a step: measured peak less what stays between steps; loss: of the last step\n",
        arguments.rounds, variants.front().plan.training.steps, steps_left_out(variants.front().plan.training.steps)));
    if (advise) say(bucket_advice(variants, all));
    return 0;
}

Result<int> bench_train(BenchArguments& arguments) {
    PLIMSOLL_TRY(const auto base, base_plan(arguments));
    std::vector<Variant> variants;
    if (arguments.plan.word.empty()) {
        variants.push_back({arguments.plan.plan, base});
    } else {
        PLIMSOLL_TRY(auto of_set, variants_of_set(arguments.plan.word, base));
        variants = std::move(of_set);
    }
    for (const std::string& settings : arguments.variants) {
        PLIMSOLL_TRY(auto variant, make_variant(base, settings, settings));
        variants.push_back(std::move(variant));
    }
    return compare(variants, arguments, false);
}

Result<int> bench_buckets(BenchArguments& arguments) {
    PLIMSOLL_TRY(const auto base, base_plan(arguments));
    if (base.layout.dp * base.layout.cp < 2) {
        return bad_input("layout.dp is {}: buckets travel between data-parallel ranks; set layout.dp=2 or more",
                         base.layout.dp);
    }
    PLIMSOLL_TRY(const auto variants, bucket_variants(base));
    PLIMSOLL_CHECK(check_variants(variants));
    const Bytes gradients = count_parameters(base.model).total * (base.numerics.dtype == Dtype::Fp32 ? 4 : 2);
    if (gradients <= 10 * MiB) {
        warn(fmt::format("the model's gradients take {}: one bucket holds them, whatever its size",
                         format_bytes(gradients)));
    }
    return compare(variants, arguments, true);
}

void add_common(CLI::App& command, BenchArguments& arguments, const std::vector<std::string>& sets) {
    arguments.plan.add_to(command, sets);
    command.add_option("--steps", arguments.steps, "Steps of each run, the first two of which are left out")
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--rounds", arguments.rounds, "How often each is run, in turns")
        ->type_name("N")
        ->capture_default_str();
    command.add_flag("--json", arguments.json, "JSON, with the figures of each round and rank");
}

}  // namespace

void add_bench(CLI::App& app, Work& work) {
    CLI::App* bench = add_command(app, "bench", "Measure variants of a plan in real short runs on this machine");
    bench->require_subcommand(0, 1);
    const auto calibration = std::make_shared<CalibrateArguments>();
    bench->add_flag("--calibrate", calibration->calibrate,
                    "Fit the rates of this machine to short runs; step times and plans for it then use them");
    bench->add_option("--gpu", calibration->gpu, "With --calibrate: \"cpu\", or a GPU of this machine by name")
        ->capture_default_str()
        ->needs("--calibrate");
    bench->add_option("--steps", calibration->steps, "With --calibrate: steps of each run")
        ->capture_default_str()
        ->needs("--calibrate");
    bench->add_option("--rounds", calibration->rounds, "With --calibrate: how often each is run")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000))
        ->needs("--calibrate");
    bench->add_flag("--json", calibration->json, "With --calibrate: JSON")->needs("--calibrate");
    bench->callback([calibration, bench, &work] {
        if (!bench->get_subcommands().empty()) return;
        if (!calibration->calibrate) throw CLI::RequiredError("train, buckets, depth, optimizers or --calibrate");
        work = [calibration] { return calibrate(*calibration); };
    });

    CLI::App* train =
        add_command(*bench, "train", "Tokens/s, peak memory beside its estimate, and loss of a plan and its variants");
    const auto arguments = std::make_shared<BenchArguments>();
    add_common(*train, *arguments, bench_sets);
    train
        ->add_option("--variant", arguments->variants,
                     "Settings of one more row: --variant \"layout.dp=1 layout.tp=2\"; may be given again. Ranks and "
                     "accumulation follow, so that the global batch stays")
        ->type_name("SETTINGS")
        ->allow_extra_args(false);
    train->footer(
        "--set recompute compares recomputation on 32 thin layers, --set data-parallel two ranks with two threads, --set "
        "all-reduce the two-level gradient all-reduce with the flat one over four ranks.");
    train->callback([arguments, &work] { work = [arguments] { return bench_train(*arguments); }; });

    CLI::App* buckets =
        add_command(*bench, "buckets", "training.bucket_mib at 10, 25, 50 and 100, and the fastest of them");
    const auto of_buckets = std::make_shared<BenchArguments>();
    add_common(*buckets, *of_buckets, {});
    buckets->callback([of_buckets, &work] { work = [of_buckets] { return bench_buckets(*of_buckets); }; });
    add_bench_depth(*bench, work);
    add_bench_optimizers(*bench, work);
}

}  // namespace plimsoll::cli
