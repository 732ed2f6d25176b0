// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/lessons/lesson_parts.h"

namespace plimsoll {

namespace {

struct Found {
    std::string settings;
    double bytes = 0;
    Plan plan;
};

/// All ways to have optimizer, parameters and activations in host memory, with each recomputation and micro-batch.
std::vector<Found> every_setting(LessonWriter& w, const Plan& plan) {
    std::vector<Found> all;
    const bool parameters_may_go = plan.layout.zero_stage == 3;
    for (const char* optimizer : {"none", "cpu"})
        for (const char* parameters : {"none", "cpu"})
            for (const char* activations : {"false", "true"})
                for (const char* recompute : {"none", "full"})
                    for (const int batch : {1, 2, 4, 8}) {
                        if (!parameters_may_go && std::string_view(parameters) == "cpu") continue;
                        const std::vector<std::string> settings{
                            fmt::format("layout.offload_optimizer={}", optimizer),
                            fmt::format("layout.offload_parameters={}", parameters),
                            fmt::format("layout.offload_activations={}", activations),
                            fmt::format("layout.recompute={}", recompute), fmt::format("layout.micro_batch={}", batch)};
                        auto changed = w.changed(plan, settings);
                        const auto bytes = static_cast<double>(w.total(changed));
                        std::vector<std::string> away;
                        if (std::string_view(optimizer) == "cpu") away.emplace_back("optimizer");
                        if (std::string_view(parameters) == "cpu") away.emplace_back("parameters");
                        if (std::string_view(activations) == "true") away.emplace_back("activations");
                        all.push_back(
                            {fmt::format("{} in host memory, recompute {}, micro-batch {}",
                                         away.empty() ? "nothing" : fmt::format("{}", fmt::join(away, " and ")),
                                         recompute, batch),
                             bytes, std::move(changed)});
                    }
    return all;
}

std::vector<Found> nearest(std::vector<Found> all, double quoted, std::size_t most) {
    std::stable_sort(all.begin(), all.end(), [&](const Found& a, const Found& b) {
        return std::abs(a.bytes - quoted) < std::abs(b.bytes - quoted);
    });
    if (all.size() > most) all.resize(most);
    return all;
}

LessonTable table_of(const std::string& title, const std::vector<Found>& found, double quoted) {
    LessonTable table{title, {"settings", "a rank", "off the quoted"}, {}};
    for (const Found& each : found)
        table.rows.push_back(
            {each.settings, gb(each.bytes), fmt::format("{:+.1f} %", 100 * (each.bytes / quoted - 1))});
    return table;
}

}  // namespace

Result<Lesson> zero_65b_lesson() {
    LessonWriter w("zero-65b");
    auto& lesson = w.lesson();
    lesson.title = "65B on 8 × A100 80GB: OOM, 48 GB, 22 GB";
    lesson.question =
        "A 65B model on eight A100 of 80 GB is said to run out of memory under plain data parallelism, to take 48 GB a "
        "card under ZeRO-2 and 22 GB under ZeRO-3.";
    constexpr double quoted2 = 48e9, quoted3 = 22e9;

    const auto plain = w.plan_of("llama-65b", "A100 SXM4 80GB", 8);
    const auto plain_estimate = w.estimate(plain);
    const double parameters = static_cast<double>(plain_estimate.parameters);
    const std::string count = format_count(plain_estimate.parameters);
    w.step("parameters", "Parameters of LLaMA-65B, counted", parameters, LessonUnit::Parameters);
    w.step("rank_dp", "A rank of plain data parallelism", plain_estimate.fullest().total());
    const auto zero2 = w.changed(plain, {"layout.zero_stage=2"}), zero3 = w.changed(plain, {"layout.zero_stage=3"});
    const double weights2 =
        w.step("weights_zero2", fmt::format("Weights under ZeRO-2, whole on each rank: 2 B × {}", count),
               static_cast<double>(w.estimate(zero2).fullest().of(Category::Parameters)));
    w.step("rank_zero2", "A rank under ZeRO-2, nothing offloaded: 2 B + (2 + 12) B / 8 a parameter, and the rest",
           w.total(zero2));
    w.step("states_zero3", fmt::format("States under ZeRO-3: 16 B × {} / 8", count),
           states_of(w.estimate(zero3).fullest()));
    w.step("weights_zero3", fmt::format("of that the weights: 2 B × {} / 8", count),
           w.estimate(zero3).fullest().of(Category::Parameters));
    w.step("rank_zero3", "A rank under ZeRO-3, nothing offloaded", w.total(zero3));

    const auto all2 = every_setting(w, zero2), all3 = every_setting(w, zero3);
    double least2 = 0;
    for (const Found& each : all2) least2 = least2 == 0 ? each.bytes : std::min(least2, each.bytes);
    w.step("least_zero2", fmt::format("The least that any of {} settings takes under ZeRO-2", all2.size()), least2);
    const auto near2 = nearest(all2, quoted2, 3), near3 = nearest(all3, quoted3, 5);
    w.step("nearest_zero3", fmt::format("Nearest to 22 GB under ZeRO-3: {}", near3.front().settings),
           near3.front().bytes);
    // ZeRO-2 would have to share the model in another way to come to 48 GB.
    Found tensor{"", 0, zero2};
    for (const int tp : {2, 4, 8}) {
        const auto split = w.changed(zero2, {fmt::format("layout.tp={}", tp), fmt::format("layout.dp={}", 8 / tp),
                                             "layout.offload_optimizer=cpu"});
        const auto bytes = static_cast<double>(w.total(split));
        if (tensor.bytes == 0 || std::abs(bytes - quoted2) < std::abs(tensor.bytes - quoted2))
            tensor = {fmt::format("tp {} × dp {}, optimizer in host memory", tp, 8 / tp), bytes, split};
    }
    w.step("tensor_zero2", fmt::format("Nearest to 48 GB with tensor parallelism as well: {}", tensor.settings),
           tensor.bytes);
    lesson.tables.push_back(table_of("ZeRO-2: the settings nearest to 48 GB", near2, quoted2));
    lesson.tables.push_back(table_of("ZeRO-3: the settings nearest to 22 GB", near3, quoted3));
    lesson.plan = near3.front().plan;

    w.right(fmt::format("Plain data parallelism runs out of memory: a rank needs {}.",
                        gb(static_cast<double>(plain_estimate.fullest().total()))));
    w.right(
        fmt::format("22 GB under ZeRO-3 can be had, with {}; what is left are the sharded weights, {}, and what a "
                    "layer needs while it is gathered.",
                    near3.front().settings, lesson.find("weights_zero3")->result()));
    w.wrong(fmt::format(
        "48 GB under ZeRO-2 cannot be: it never shards the weights, {} on a card of 80 GB, and only ZeRO-3 lets them "
        "leave the card. The least of all settings tried is {}; with tensor parallelism besides ({}) it is {}.",
        gb(weights2), gb(least2), tensor.settings, gb(tensor.bytes)));
    w.wrong(fmt::format("Without offload ZeRO-3 does not fit either: its states alone are {}.",
                        lesson.find("states_zero3")->result()));
    return w.done();
}

}  // namespace plimsoll
