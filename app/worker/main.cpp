// SPDX-License-Identifier: Apache-2.0
// plimsoll-worker: one rank of a run, the store by which the ranks find one another, a step without its memory, or an
// adapter added to its model.
#include <sys/prctl.h>

#include <atomic>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <sstream>

#include "app/worker/fatal_signals.h"
#include "app/worker/worker_dry_run.h"
#include "core/base/json.h"
#include "core/base/output.h"
#include "core/base/version.h"
#include "core/engine/memory/memory_counter.h"
#include "core/engine/ranks/rank_info.h"
#include "core/engine/ranks/run_secret.h"
#include "core/engine/train/trainer.h"
#include "core/engine/weights/peft_weights.h"
#include "core/plan/plan_io.h"
#include "core/telemetry/contract/own_files.h"
#include "core/telemetry/contract/run_layout.h"

namespace {

using plimsoll::engine::RankInfo;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

void on_stop_signal(int) { stop_requested = true; }

/// Says the error in one last line, then ends without destructors, since threads of a broken group may still wait.
[[noreturn]] void end(int code, const std::string& last_line = "") {
    static_cast<void>(plimsoll::flush_output());
    if (!last_line.empty()) plimsoll::worker::say_last_words(last_line + "\n");
    std::_Exit(code);
}

/// Ends well, if what was asked for could be written.
[[noreturn]] void end_with(const std::string& output) {
    plimsoll::print(output);
    const auto written = plimsoll::finish_output();
    if (!written) end(plimsoll::exit_code(written.error()), "plimsoll-worker: " + written.error().message);
    end(0);
}

[[noreturn]] void fail(int rank, const plimsoll::Error& error) {
    end(plimsoll::exit_code(error), fmt::format("plimsoll-worker: rank {}: {}", rank, error.message));
}

[[noreturn]] void train(const std::string& run, double timeout, const std::string& faults) {
    auto info = RankInfo::from_environment();
    if (!info) fail(0, info.error());
    plimsoll::worker::install_last_words(info->rank);
    if (info->world_size > 1) {
        auto secret = plimsoll::engine::run_secret(plimsoll::RunLayout(run).secret(), info->rank, timeout);
        if (!secret) fail(info->rank, secret.error());
        info->secret = *std::move(secret);
    }
    std::signal(SIGTERM, &on_stop_signal);
    std::signal(SIGINT, &on_stop_signal);
    plimsoll::engine::install_memory_counter();

    const auto loaded = plimsoll::load_plan(plimsoll::RunLayout(run).plan());
    if (!loaded) fail(info->rank, loaded.error());
    // A run that torchrun or Slurm starts has met no supervisor that looks.
    if (const auto own = plimsoll::check_own_files(plimsoll::RunLayout(run)); !own) fail(info->rank, own.error());
    plimsoll::engine::TrainerOptions options;
    options.run = run;
    options.stop = &stop_requested;
    options.timeout = timeout;
    auto parsed = plimsoll::parse_faults(faults);
    if (!parsed) fail(info->rank, parsed.error());
    options.faults = *std::move(parsed);
    const auto outcome = plimsoll::engine::train(loaded->plan, *info, options);
    if (!outcome) fail(info->rank, outcome.error());
    end(0);
}

[[noreturn]] void run_dry(const plimsoll::worker::DryRunArguments& arguments) {
    const auto figures = plimsoll::worker::dry_run(arguments);
    if (!figures) end(plimsoll::exit_code(figures.error()), "plimsoll-worker: " + figures.error().message);
    end_with(figures->dump() + "\n");
}

/// The plan comes on standard input.
[[noreturn]] void merge(const std::string& adapter, const std::string& out) {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    constexpr const char* what = "the plan on standard input";
    const auto json = plimsoll::parse_json(text, what);
    const auto loaded = json ? plimsoll::plan_from_json(*json, what)
                             : plimsoll::Result<plimsoll::LoadedPlan>(tl::unexpected(json.error()));
    const auto merged = loaded ? plimsoll::engine::merge_adapter(loaded->plan, adapter, out)
                               : plimsoll::Result<void>(tl::unexpected(loaded.error()));
    if (!merged) end(plimsoll::exit_code(merged.error()), "plimsoll-worker: " + merged.error().message);
    end(0);
}

[[noreturn]] void serve(int port, const std::string& host) {
    const auto served = plimsoll::engine::serve_store(port, host);
    if (!served) end(plimsoll::exit_code(served.error()), "plimsoll-worker: " + served.error().message);
    end(0);
}

}  // namespace

int main(int argc, char** argv) try {
    plimsoll::prepare_output();
    plimsoll::worker::open_last_words();
    CLI::App app(
        "One rank of a training run. The rank comes from RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT\n"
        "(plimsoll train, torchrun --no-python) or from SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS with MASTER_ADDR and\n"
        "MASTER_PORT of a store. SIGTERM ends the run after the current step, with a checkpoint.\n",
        "plimsoll-worker");
    std::string run;
    double timeout = 120;
    bool store = false;
    int port = 0;
    std::string host = "127.0.0.1";
    // `run` without dashes as well: torchrun takes --run for one of its own options.
    app.add_option("run,--run", run, "Run folder that holds plan.json (or PLIMSOLL_RUN)");
    app.add_option("--timeout", timeout, "Seconds after which a rank that neither answers nor computes is given up")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 86400.0));
    app.add_flag("--store", store, "Serve the store of a run until stdin closes; prints its port");
    app.add_option("--port", port, "Port of the store; 0: any free one")
        ->capture_default_str()
        ->check(CLI::Range(0, 65535));
    app.add_option("--host", host, "Address of the store; 0.0.0.0 on a trusted network of several machines")
        ->capture_default_str();
    // For developers: left out of the help. (KIND@step=…,layer=…: core/control/fault.h)
    std::string inject;
    app.add_option("--inject", inject)->group("")->envname("PLIMSOLL_INJECT");
    bool dry = false;
    plimsoll::worker::DryRunArguments dry_run;
    app.add_flag("--dry-run", dry, "Take a step of the plan on standard input without its memory; prints JSON");
    app.add_option("--ranks", dry_run.ranks, "Ranks of a dry run")->delimiter(',')->check(CLI::NonNegativeNumber);
    app.add_option("--allocator-settings", dry_run.allocator_settings, "As PYTORCH_CUDA_ALLOC_CONF");
    app.add_option("--capacity", dry_run.capacity, "Bytes that the card gives to tensors; 0: any number")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--timeline", dry_run.timeline, "File for the first rank's memory over time");
    app.add_option("--memory-trace", dry_run.trace, "File for each allocation of the first rank, a line each");
    app.add_flag("--all-micro-batches", dry_run.all_micro_batches, "Also those that only repeat what others showed");
    std::string adapter, merged;
    app.add_option("--merge", adapter,
                   "Add the PEFT adapter in this folder to its model, of the plan on standard input");
    app.add_option("--out", merged, "Folder to make for a merged model");
    app.set_version_flag("--version", std::string("plimsoll-worker ") + plimsoll::version());
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;
        if (app.exit(error, out, err) == 0) end_with(out.str());  // --help, --version
        plimsoll::print_error(err.str());
        end(2);
    }
    if (dry) run_dry(dry_run);
    if (!adapter.empty()) merge(adapter, merged);
    // A supervisor holds the other end of stdin, or names the run: a worker must not outlive its supervisor.
    const char* supervised = std::getenv("PLIMSOLL_RUN");
    if (supervised != nullptr) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (store) serve(port, host);
    if (run.empty() && supervised != nullptr) run = supervised;
    if (run.empty()) end(2, "plimsoll-worker: name the run folder (plimsoll-worker DIR) or set PLIMSOLL_RUN");
    train(run, timeout, inject);
} catch (const std::exception& error) {
    end(1, fmt::format("plimsoll-worker: an unexpected error: {}; please report it", error.what()));
}
