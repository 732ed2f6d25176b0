// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/base/units.h"

namespace plimsoll::studio {

Progress::Progress(const std::filesystem::path& telemetry, std::int64_t steps) : reader_(telemetry), steps_(steps) {}

void Progress::read() {
    while (const Result<TelemetryBatch> batch = reader_.poll()) {
        store_.apply(*batch);
        if (reader_.at_end() || batch->empty()) break;
    }
    for (; events_ < store_.events().size(); ++events_) {
        const Event& event = store_.events()[events_];
        fmt::print("step {:>6}  {}\n", format_count(static_cast<std::int64_t>(event.step)), event.sentence);
    }
}

void Progress::print_figures() {
    const Pyramid* loss = store_.find(series::loss);
    if (!loss || loss->size() == 0) return;
    const std::size_t last = loss->size() - 1;
    if (loss->step(last) == printed_step_) return;
    printed_step_ = loss->step(last);
    std::string line =
        fmt::format("step {:>6} of {}  loss {:.4f}", format_count(static_cast<std::int64_t>(printed_step_)),
                    format_count(steps_), loss->value(last));
    if (const Pyramid* rate = store_.find(series::tokens_per_second); rate && rate->size() > 0)
        line += fmt::format("  {} tokens/s", format_short(rate->value(rate->size() - 1)));
    if (const Pyramid* norm = store_.find(series::grad_norm); norm && norm->size() > 0)
        line += fmt::format("  gradient norm {:.3f}", norm->value(norm->size() - 1));
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

void Progress::print() {
    const auto now = std::chrono::steady_clock::now();
    if (now - printed_ < std::chrono::seconds(1)) return;
    printed_ = now;
    read();
    print_figures();
}

void Progress::finish() {
    read();
    print_figures();
}

}  // namespace plimsoll::studio
