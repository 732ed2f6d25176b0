// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/cli/terminal/stop_words.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/clock.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::cli {

namespace {

using namespace std::chrono_literals;

double latest(const SeriesStore& store, const char* name) {
    const Pyramid* line = store.find(name);
    return line == nullptr || line->size() == 0 ? std::nan("") : line->value(line->size() - 1);
}

/// Whether the event is the supervisor's last word, which the caller prints at the end.
bool tells_the_end(const Event& event) {
    return event.kind == EventKind::Failed || event.kind == EventKind::Stopped || event.kind == EventKind::Finished;
}

}  // namespace

Progress::Progress(const RunFolder& run, const Plan& plan)
    : telemetry_(run), steps_(plan.training.steps), terminal_(is_terminal(stdout)), since_(wall_clock() - 0.5) {
    // Skips the records of earlier starts.
    while (telemetry_.poll() && !telemetry_.at_end()) {
    }
    events_shown_ = telemetry_.series().events().size();
    shown_step_ = step();
}

std::uint64_t Progress::step() const {
    const Pyramid* loss = telemetry_.series().find(series::loss);
    return loss == nullptr || loss->size() == 0 ? 0 : loss->step(loss->size() - 1);
}

std::string Progress::line() const {
    const Pyramid* loss = telemetry_.series().find(series::loss);
    if (loss == nullptr || loss->size() == 0) return "starting";
    std::vector<std::string> parts{
        fmt::format("step {} of {}", format_count(static_cast<std::int64_t>(step())), format_count(steps_)),
        fmt::format("loss {:.4f}", loss->value(loss->size() - 1))};
    if (const double rate = latest(telemetry_.series(), series::tokens_per_second); std::isfinite(rate)) {
        parts.push_back(fmt::format("{} tokens/s", format_short(std::round(rate))));
    }
    const auto each = telemetry_.series().seconds_a_step();
    const auto left = static_cast<double>(steps_) - static_cast<double>(step());
    if (each && left > 0) parts.push_back(format_seconds(*each * left) + " left");
    return fmt::format("{}", fmt::join(parts, " · "));
}

StopWait Progress::wait() const {
    return stop_wait(telemetry_.series(), save_under_way(telemetry_.run().layout(), since_), since_, wall_clock());
}

/// A sentence at each Ctrl-C, then what is waited for: live in a terminal, else now and then.
void Progress::show_stop(StopWish wish) {
    const auto now = std::chrono::steady_clock::now();
    if (wish > wish_) {
        wish_ = wish;
        last_line_ = now;
        say_line(stop_words(wish, wait()));
    }
    if (terminal_) {
        const std::string next = next_interrupt_words(wish_);
        show_line(fmt::format("stopping: {}{}", wait_words(wait()), next.empty() ? "" : " (" + next + ")"));
    } else if (now - last_line_ >= 10s) {
        last_line_ = now;
        say_line(fmt::format("stopping: {}", wait_words(wait())));
    }
}

void Progress::update(StopWish wish) {
    const auto now = std::chrono::steady_clock::now();
    if (wish <= wish_ && now - last_look_ < 200ms) return;
    last_look_ = now;
    telemetry_.poll();
    show_events();
    if (wish != StopWish::None || stop_told_) {
        show_stop(wish);
    } else if (terminal_) {
        show_line(line());
    } else if (step() != shown_step_ && now - last_line_ >= 5s) {
        last_line_ = now;
        shown_step_ = step();
        say(line() + "\n");
        std::fflush(stdout);
    }
}

void Progress::finish() {
    while (telemetry_.poll() && !telemetry_.at_end()) {
    }
    show_events();
    if (terminal_)
        show_line(line());
    else if (step() != shown_step_)
        say(line() + "\n");
    if (line_open_) say("\n");
    line_open_ = false;
    std::fflush(stdout);
}

void Progress::show_events() {
    const auto& events = telemetry_.series().events();
    for (; events_shown_ < events.size(); ++events_shown_) {
        const Event& event = events[events_shown_];
        if (event.time < since_ || event.sentence.empty() || tells_the_end(event)) continue;
        if (event.kind == EventKind::StopRequested) {
            stop_told_ = true;
            if (wish_ != StopWish::None) continue;  // of a Ctrl-C, which has had its sentence
        }
        say_line(event.kind == EventKind::Sample
                     ? fmt::format("sample after step {}: \"{}\"", event.step, printable(event.sentence))
                     : printable(event.sentence));
    }
    std::fflush(stdout);
}

void Progress::say_line(const std::string& text) {
    if (line_open_) say_exactly("\r\x1b[K");
    line_open_ = false;
    say(text + "\n");
    std::fflush(stdout);
}

void Progress::show_line(const std::string& text) {
    const auto width = static_cast<std::size_t>(terminal_size().columns) - 1;
    const std::string safe = without_escapes(text);
    say_exactly(fmt::format("\r{}\x1b[K", fitted(safe, std::min(width, shown_width(safe)))));
    line_open_ = true;
    std::fflush(stdout);
}

}  // namespace plimsoll::cli
