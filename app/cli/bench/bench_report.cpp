// SPDX-License-Identifier: Apache-2.0
#include "app/cli/bench/bench_report.h"

#include <algorithm>
#include <cmath>

#include "app/cli/terminal/terminal.h"
#include "core/base/median.h"

namespace plimsoll::cli {

namespace {

Bytes fullest(const Measured& measured) { return *std::max_element(measured.peak.begin(), measured.peak.end()); }

/// Memory that a step adds to the memory between steps (activations, logits, transfers), on the rank that adds most.
Bytes added_by_step(const Measured& measured) {
    Bytes most = 0;
    for (std::size_t r = 0; r < measured.peak.size(); ++r) {
        most = std::max(most, measured.peak[r] - measured.resting[r]);
    }
    return most;
}

double share(Bytes a, Bytes b) { return static_cast<double>(a) / static_cast<double>(std::max<Bytes>(b, 1)); }

std::string percent(double value) { return fmt::format("{:+.1f} %", 100 * value); }

}  // namespace

double ratio_to_first(const std::vector<Measured>& all, std::size_t variant) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < all[variant].round_rates.size(); ++round) {
        ratios.push_back(all[variant].round_rates[round] / all.front().round_rates[round]);
    }
    return median(std::move(ratios));
}

double spread_of(const Measured& measured) {
    const double range = quantile(measured.step_rates, 0.75) - quantile(measured.step_rates, 0.25);
    return range / 2 / median(measured.step_rates);
}

std::string bench_table(const std::vector<Variant>& variants, const std::vector<Measured>& all) {
    std::size_t width = 7;
    for (const Variant& variant : variants)
        width = std::max(width, std::min<std::size_t>(shown_width(variant.name), 60));
    const auto row = [&](const std::string& name, const std::vector<std::string>& cells) {
        static constexpr std::array<std::size_t, 9> widths{11, 9, 8, 10, 11, 11, 9, 11, 10};
        std::string line = fitted(name, width);
        for (std::size_t c = 0; c < cells.size(); ++c) line += fitted(cells[c], widths[c], true);
        return line + "\n";
    };
    std::string text =
        row("variant", {"tokens/s", "spread", "ratio", "time", "peak/rank", "estimate", "off", "of a step", "saved"});
    text.insert(text.size() - 1, "      loss");
    for (std::size_t v = 0; v < all.size(); ++v) {
        const Measured& m = all[v];
        const double ratio = ratio_to_first(all, v);
        const Bytes peak = fullest(m), step = added_by_step(m);
        std::string line =
            row(printable(variants[v].name),
                {format_short(std::round(median(m.step_rates))), fmt::format("± {:.1f} %", 100 * spread_of(m)),
                 fmt::format("{:.3f}", ratio), v == 0 ? "" : percent(1 / ratio - 1), format_bytes(peak),
                 format_bytes(m.estimate), percent(share(m.estimate, peak) - 1), format_bytes(step),
                 v == 0 ? "" : fmt::format("{:.1f} %", 100 * (1 - share(step, added_by_step(all[0]))))});
        line.insert(line.size() - 1, fmt::format("{:>10.6f}", m.loss));
        text += line;
    }
    return text;
}

Json bench_json(const std::vector<Variant>& variants, const std::vector<Measured>& all) {
    const std::int64_t steps = variants.front().plan.training.steps;
    Json json{{"steps", steps},
              {"steps_left_out", steps_left_out(steps)},
              {"rounds", all.front().round_rates.size()},
              {"rows", Json::array()}};
    for (std::size_t v = 0; v < all.size(); ++v) {
        const Measured& m = all[v];
        const Layout& layout = variants[v].plan.layout;
        json["rows"].push_back({{"variant", variants[v].name},
                                {"ranks", layout.world_size()},
                                {"global_batch", layout.global_batch()},
                                {"tokens_per_second",
                                 {{"median", median(m.step_rates)},
                                  {"quartiles", {quantile(m.step_rates, 0.25), quantile(m.step_rates, 0.75)}},
                                  {"rounds", m.round_rates}}},
                                {"ratio", ratio_to_first(all, v)},
                                {"peak_bytes", m.peak},
                                {"resting_bytes", m.resting},
                                {"step_bytes", added_by_step(m)},
                                {"estimate_bytes", m.estimate},
                                {"estimate_off", share(m.estimate, fullest(m)) - 1},
                                {"loss", m.loss}});
    }
    return json;
}

std::string bucket_advice(const std::vector<Variant>& variants, const std::vector<Measured>& all) {
    std::size_t best = 0;
    double slowest = 1;
    for (std::size_t v = 0; v < all.size(); ++v) {
        const double ratio = ratio_to_first(all, v);
        if (ratio > ratio_to_first(all, best)) best = v;
        slowest = std::min(slowest, ratio);
    }
    const double gain = ratio_to_first(all, best) / slowest - 1;
    const std::string setting = fmt::format("--set training.bucket_mib={}", variants[best].plan.training.bucket_mib);
    if (gain > spread_of(all[best])) {
        return fmt::format("fastest: {} ({} more tokens/s than the slowest)\n", setting, percent(gain));
    }
    return fmt::format("fastest: {}, but all lie within the spread of the steps ({}): keep what you have\n", setting,
                       percent(gain));
}

}  // namespace plimsoll::cli
