// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/random_text.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/plan/plan_io.h"
#include "core/run/processes/detached.h"
#include "core/run/processes/last_words.h"
#include "core/run/processes/oom_kills.h"
#include "core/run/processes/process.h"
#include "core/run/processes/start_checks.h"
#include "core/run/processes/store_process.h"
#include "core/run/run_lock.h"
#include "core/run/stop_wait.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/contract/last_words_channel.h"
#include "core/telemetry/contract/run_layout.h"
#include "core/telemetry/last_step.h"
#include "core/telemetry/writer.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int tick_ms = 40;

double since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

struct Worker {
    int rank = 0;
    Process process;
    UniqueFd said;                  ///< last words, in memory
    std::uint64_t log_from = 0;     ///< where this start's output begins
    std::optional<ProcessEnd> end;  ///< once it has ended by itself
    int order = 0;                  ///< of ending
};

class Supervision {
public:
    Supervision(const RunFolder& run, const Plan& plan, const SupervisorOptions& options, fs::path worker,
                TelemetryWriter&& record, RunState state)
        : run_(run),
          plan_(plan),
          options_(options),
          worker_(std::move(worker)),
          record_(std::move(record)),
          state_(std::move(state)) {}

    Result<RunState> run() {
        PLIMSOLL_CHECK(check());
        event(EventKind::Supervise,
              fmt::format("{} {} started", state_.world_size, state_.world_size == 1 ? "rank is" : "ranks are"));
        if (!stop_asked() && start()) watch();
        end_all();
        settle();
        return state_;
    }

private:
    // Start-up: each step ends early when a stop was asked for.

    /// A corpus may take long to load, and a stop must not wait for it: the check is left alone then.
    Result<void> check() {
        std::packaged_task<Result<void>()> task(
            [plan = plan_, place = run_.path()] { return check_start(plan, place); });
        std::future<Result<void>> result = task.get_future();
        std::thread(std::move(task)).detach();
        while (result.wait_for(std::chrono::milliseconds(tick_ms)) != std::future_status::ready) {
            look();
            if (stop_asked()) return {};
        }
        return result.get();
    }

    bool start() {
        if (state_.world_size > 1 && !start_store()) return false;
        for (int rank = 0; rank < state_.world_size; ++rank) {
            look();
            if (stop_asked()) return false;
            if (!start_worker(rank)) return false;
        }
        set_status(RunStatus::Running);
        return true;
    }

    bool start_store() {
        auto secret = random_text(32);
        if (!secret) return fail(secret.error().message);
        secret_ = *std::move(secret);
        auto started = StoreProcess::start(worker_, run_.layout().store_log());
        if (!started) return fail_on_store(started.error().message);
        store_ = std::move(*started);
        while (port_ == 0) {
            look();
            if (stop_asked()) return false;
            const auto port = store_->port(tick_ms, options_.store_timeout);
            if (!port) return fail_on_store(port.error().message);
            port_ = *port;
        }
        return true;
    }

    bool start_worker(int rank) {
        const auto log = LogFile::open(run_.log_path(rank));
        if (!log) return fail(log.error().message);
        auto said = memory_file("last words");
        if (!said) return fail(said.error().message);
        const std::string ranks = std::to_string(state_.world_size);
        ProcessOptions options;
        options.arguments = {worker_.string(), "--run", run_.path().string()};
        if (options_.rank_timeout > 0) {
            options.arguments.insert(options.arguments.end(), {"--timeout", fmt::format("{}", options_.rank_timeout)});
        }
        options.environment = {{"RANK", std::to_string(rank)},
                               {"LOCAL_RANK", std::to_string(rank)},
                               {"WORLD_SIZE", ranks},
                               {"LOCAL_WORLD_SIZE", ranks},
                               {"MASTER_ADDR", "127.0.0.1"},
                               {"MASTER_PORT", std::to_string(port_)},
                               {"PLIMSOLL_RUN", run_.path().string()},
                               {"PLIMSOLL_SECRET", secret_},
                               {last_words_variable, std::to_string(extra_fd)},
                               {"OMP_NUM_THREADS", std::to_string(std::max<std::int64_t>(plan_.training.threads, 1))}};
        options.out = options.err = log->fd.get();
        options.extra = said->get();
        auto started = Process::start(options);
        if (!started) return fail(started.error().message);
        workers_.push_back({rank, std::move(*started), std::move(*said), log->size, std::nullopt, 0});
        return true;
    }

    void watch() {
        while (true) {
            look();
            collect();
            const bool all_ended =
                std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.end.has_value(); });
            if (all_ended || stop_ == StopWish::AtOnce) return;
            if (now_asked_ && overdue(*now_asked_, options_.grace)) {
                had_to_kill_ = true;
                return;
            }
            // The others cannot go on without it; what one of them is writing is finished all the same.
            if (lost_at_ && overdue(*lost_at_, options_.failure_grace)) return;
            if (!stop_asked() && !lost_at_ && store_ && store_->ended()) {
                fail_on_store(store_->obituary());
                return;
            }
            wait();
        }
    }

    /// Reaps what has ended.
    void collect() {
        for (Worker& worker : workers_) {
            if (worker.end) continue;
            worker.end = worker.process.end();
            if (!worker.end) continue;
            worker.order = ++ended_;
            if (worker.end->good() || lost_at_) continue;
            lost_at_ = Clock::now();
            lost_before_stop_ = !stop_asked();
        }
    }

    /// Until a worker ends, a tick at most.
    void wait() {
        std::vector<pollfd> watched;
        for (const Worker& worker : workers_) {
            if (!worker.end && worker.process.pid_fd() >= 0) watched.push_back({worker.process.pid_fd(), POLLIN, 0});
        }
        // A deadline that is nearer than the tick is kept to the millisecond.
        double left = tick_ms / 1000.0;
        if (const double grace = now_asked_ ? options_.grace - since(*now_asked_) : 0; grace > 0) {
            left = std::min(left, grace);
        }
        ::poll(watched.data(), watched.size(), std::clamp(static_cast<int>(left * 1000) + 1, 1, tick_ms));
    }

    bool stop_asked() const { return stop_ != StopWish::None; }

    /// A checkpoint that is being written is finished, and those who wrote it have the same grace after it.
    bool overdue(Clock::time_point from, Seconds grace) {
        // Looked at on every tick: the grace begins where the checkpoint ends, not where the last grace did.
        if (!writer_ended() && save_under_way(run_.layout(), state_.started)) saving_at_ = Clock::now();
        return since(std::max(from, saving_at_)) >= grace;
    }

    /// Rank 0 writes the checkpoints: what it left half-written will never be whole.
    bool writer_ended() const {
        return std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.rank == 0 && w.end; });
    }

    /// Has anybody asked for an end?
    void look() {
        if (options_.wants_stop) ask_stop(options_.wants_stop());
        const auto text = read_file(run_.control_path(), 1 * MiB);
        if (!text || text->size() <= control_read_) return;
        const std::string fresh = text->substr(control_read_);
        const std::size_t whole = fresh.rfind('\n');
        if (whole == std::string::npos) return;
        control_read_ += whole + 1;
        std::size_t at = 0;
        while (at <= whole) {
            const std::size_t end = fresh.find('\n', at);
            const std::string command = fresh.substr(at, end - at);
            if (command == "stop") ask_stop(StopWish::AfterStep);
            if (command == "now") ask_stop(StopWish::Now);
            if (command == "kill") ask_stop(StopWish::AtOnce);
            at = end + 1;
        }
    }

    void ask_stop(StopWish wish) {
        if (wish <= stop_) return;
        const bool first = !stop_asked();
        stop_ = wish;
        if (wish >= StopWish::Now && !now_asked_) now_asked_ = Clock::now();
        if (first) {
            for (const Worker& worker : workers_) worker.process.signal(SIGTERM);
            set_status(RunStatus::Stopping);
        }
        event(EventKind::StopRequested,
              wish == StopWish::AfterStep ? "Stop requested: the step under way is finished and saved."
              : wish == StopWish::Now     ? "Stop requested now: the step under way is not waited for."
                                          : "Stop requested at once: the ranks are killed.");
    }

    void end_all() {
        collect();
        for (Worker& worker : workers_) {
            was_running_ += worker.end ? 0 : 1;
            worker.process.kill_and_wait();
        }
        store_.reset();
    }

    /// The final state, from how the workers ended by themselves.
    void settle() {
        const Worker* culprit = nullptr;
        for (const Worker& worker : workers_) {
            if (is_to_blame(worker) && (culprit == nullptr || more_to_blame(worker, *culprit))) culprit = &worker;
        }
        if (stop_asked() && failure_.empty() && culprit == nullptr) {
            state_.reason = "stopped on request" + how_it_was_stopped();
            finish(RunStatus::Stopped, EventKind::Stopped);
        } else if (stop_asked() && failure_.empty() && !lost_before_stop_) {
            state_.reason = fmt::format("the run was asked to stop, but {}; {}", blame(*culprit), what_counts());
            finish(RunStatus::Failed, EventKind::Failed);
        } else if (!failure_.empty() || culprit != nullptr) {
            state_.reason = failure_.empty() ? blame(*culprit) : failure_;
            finish(RunStatus::Failed, EventKind::Failed);
        } else {
            state_.reason = "";
            finish(RunStatus::Finished, EventKind::Finished);
        }
    }

    /// A rank that SIGTERM met before it could listen has lost nothing: it had taken no step.
    bool is_to_blame(const Worker& worker) const {
        if (!worker.end || worker.end->good()) return false;
        return lost_before_stop_ || !stop_asked() || worker.end->signal != SIGTERM;
    }

    /// "", or what was lost.
    std::string how_it_was_stopped() const {
        if (stop_ != StopWish::AtOnce && !had_to_kill_) return "";
        if (was_running_ == 0) return "";
        const std::string ranks = was_running_ == 1 ? "one rank" : fmt::format("{} ranks", was_running_);
        const char* were = was_running_ == 1 ? "was" : "were";
        if (stop_ == StopWish::AtOnce) return fmt::format("; {} {} killed, so {}", ranks, were, what_counts());
        return fmt::format("; {} had not ended after {:.1f} s and {} killed, so {}", ranks, options_.grace, were,
                           what_counts());
    }

    std::string what_counts() const {
        const auto steps = checkpoint_steps(run_.checkpoints());
        if (steps.empty()) return "nothing is kept, as there is no checkpoint yet";
        return fmt::format("the last checkpoint counts, of step {}", steps.front());
    }

    bool more_to_blame(const Worker& a, const Worker& b) const {
        const bool follows_a = is_follow_up(*a.end, words_of(a)), follows_b = is_follow_up(*b.end, words_of(b));
        return follows_a != follows_b ? follows_b : a.order < b.order;
    }

    /// What the rank left in memory if it could, else the end of its log.
    std::string words_of(const Worker& worker) const {
        const std::string said = last_words(fmt::format("/proc/self/fd/{}", worker.said.get()), 0);
        return said.empty() ? last_words(run_.log_path(worker.rank), worker.log_from) : said;
    }

    std::string blame(const Worker& worker) const {
        const std::string words = words_of(worker);
        return fmt::format("rank {} {}; {}; {}", worker.rank, how_it_ended(*worker.end),
                           words.empty() ? "it left no last words" : "its last words: " + words,
                           what_to_do(*worker.end, words, run_.log_path(worker.rank), oom_killer()));
    }

    OomKiller oom_killer() const {
        const auto now = oom_kills();
        if (!now || !oom_kills_before_) return OomKiller::Unknown;
        return *now > *oom_kills_before_ ? OomKiller::Struck : OomKiller::Quiet;
    }

    void finish(RunStatus status, EventKind kind) {
        state_.ended = wall_clock();
        event(kind, state_.reason.empty() ? std::string("the run finished") : state_.reason);
        std::error_code ignored;
        fs::remove(run_.control_path(), ignored);
        set_status(status);
    }

    void set_status(RunStatus status) {
        state_.status = status;
        // A disk that is full for a moment must not end the run. (write_state() needs no room for the last word.)
        const auto written = run_.write_state(state_);
        if (!written && status >= RunStatus::Finished)
            state_.reason += (state_.reason.empty() ? "" : "; ") + written.error().message;
    }

    /// The store takes the run down with it, though the ranks did nothing wrong.
    bool fail_on_store(const std::string& sentence) {
        return fail(fmt::format("{}; `plimsoll train --resume --run {}` goes on from the last checkpoint", sentence,
                                run_.path().string()));
    }

    bool fail(std::string sentence) {
        failure_ = std::move(sentence);
        return false;
    }

    void event(EventKind kind, const std::string& sentence) {
        // An event that cannot be written (disk full) is not worth the run.
        const std::uint64_t step = last_recorded_step(run_.telemetry_path(0));
        (void)record_.event({step, wall_clock(), kind, sentence, Json::object()});
    }

    const RunFolder& run_;
    const Plan& plan_;
    const SupervisorOptions& options_;
    fs::path worker_;
    TelemetryWriter record_;
    RunState state_;
    std::optional<StoreProcess> store_;
    int port_ = 0;
    std::string secret_;  ///< of this start: without it nobody takes part
    std::vector<Worker> workers_;
    int ended_ = 0;
    int was_running_ = 0;
    std::size_t control_read_ = 0;
    StopWish stop_ = StopWish::None;
    std::optional<Clock::time_point> now_asked_;
    std::optional<Clock::time_point> lost_at_;  ///< when the first rank ended badly
    bool lost_before_stop_ = false;
    Clock::time_point saving_at_{};  ///< when a checkpoint was last seen being written
    bool had_to_kill_ = false;
    std::string failure_;
    std::optional<std::uint64_t> oom_kills_before_ = oom_kills();
};

}  // namespace

Result<fs::path> find_worker(const fs::path& wanted) {
    const char* named = std::getenv("PLIMSOLL_WORKER");
    const fs::path worker = !wanted.empty()    ? wanted
                            : named != nullptr ? fs::path(named)
                                               : program_folder() / "plimsoll-worker";
    if (::access(worker.c_str(), X_OK) == 0) return fs::absolute(worker);
    return bad_input(
        "cannot train: {} is not there; this build has no engine (packaging/setup fetches LibTorch, then "
        "build with -DPLIMSOLL_ENGINE=ON)",
        worker.string());
}

Result<RunState> supervise(const RunFolder& run, const SupervisorOptions& options) {
    PLIMSOLL_TRY(const auto lock, RunLock::take(run.lock_path()));
    RunState state;
    state.supervisor_pid = ::getpid();
    state.started = wall_clock();
    const auto refuse = [&](const Error& error) -> Result<RunState> {
        state.status = RunStatus::Failed;
        state.reason = error.message;
        state.ended = wall_clock();
        (void)run.write_state(state);  // the error itself is what counts
        return tl::unexpected(error);
    };
    const auto plan = run.plan();
    if (!plan) return refuse(plan.error());
    state.world_size = plan->layout.world_size();
    if (auto written = run.write_state(state); !written) return refuse(written.error());
    const auto worker = find_worker(options.worker);
    if (!worker) return refuse(worker.error());
    auto record = TelemetryWriter::open(run.telemetry_path(supervisor_rank));
    if (!record) return refuse(record.error());
    auto ended = Supervision(run, *plan, options, *worker, std::move(*record), state).run();
    return ended ? ended : refuse(ended.error());
}

}  // namespace plimsoll
