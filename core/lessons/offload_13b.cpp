// SPDX-License-Identifier: Apache-2.0
#include "core/lessons/lesson_parts.h"

namespace plimsoll {

Result<Lesson> offload_13b_lesson() {
    LessonWriter w("offload-13b");
    auto& lesson = w.lesson();
    lesson.title = "13B, ZeRO-3, CPU offload, 4 × A100 80GB";
    lesson.question = "A 13B model is said to need ZeRO-3 with CPU offload to be trained on four A100 of 80 GB.";

    const auto plan = w.plan_of("llama-13b", "A100 SXM4 80GB", 4, {"layout.zero_stage=3"});
    const auto none = w.estimate(plan);
    w.step("parameters", "Parameters of LLaMA-13B, counted", static_cast<double>(none.parameters),
           LessonUnit::Parameters);
    w.step("states_shard", fmt::format("States of a rank under ZeRO-3: 16 B × {} / 4", format_count(none.parameters)),
           states_of(none.fullest()));
    w.step("rank_none", "A rank in all, nothing offloaded, one sequence of 2,048, every layer recomputed",
           none.fullest().total());

    LessonTable table{"ZeRO-3 on four cards", {"in host memory", "a rank", "verdict", "host memory of the node"}, {}};
    const auto add = [&](const char* name, const char* what, const std::vector<std::string>& settings) {
        const auto changed = w.changed(plan, settings);
        const auto estimate = w.estimate(changed);
        const auto total = static_cast<double>(estimate.fullest().total());
        const double host = static_cast<double>(estimate.host) * static_cast<double>(changed.cluster.gpus_per_node);
        table.rows.push_back({what, gb(total), fits_words(estimate), gb(host)});
        w.step(fmt::format("rank_{}", name), fmt::format("A rank with {} in host memory", what), total);
        w.step(fmt::format("host_{}", name), fmt::format("Host memory of the node with {} there", what), host);
        return changed;
    };
    table.rows.push_back({"nothing", gb(static_cast<double>(none.fullest().total())), fits_words(none), gb(0)});
    add("optimizer", "optimizer states", {"layout.offload_optimizer=cpu"});
    lesson.plan = add("all", "optimizer states and parameters",
                      {"layout.offload_optimizer=cpu", "layout.offload_parameters=cpu"});
    lesson.tables.push_back(std::move(table));
    const auto zero2 = w.estimate(w.changed(plan, {"layout.zero_stage=2"}));
    w.step("rank_zero2", "ZeRO-2 without offload", zero2.fullest().total());
    std::int64_t batch = 1;
    for (std::int64_t tried = 2; tried <= 256; tried *= 2)
        if (w.estimate(w.changed(lesson.plan, {fmt::format("layout.micro_batch={}", tried)})).fits()) batch = tried;
    w.step("largest_batch", "Largest micro-batch (power of two) that fits with both in host memory",
           static_cast<double>(batch), LessonUnit::Times);

    w.right("It works, with room for large micro-batches.");
    if (none.fits())
        w.wrong(
            fmt::format("It is not needed: ZeRO-3 alone {}, since 16 B × 13 billion / 4 are {}. Offload buys a larger "
                        "micro-batch and is paid for over PCIe at each step.",
                        fits_words(none), gb(static_cast<double>(states_of(none.fullest())))));
    else
        w.wrong(fmt::format("ZeRO-3 alone {}.", fits_words(none)));
    w.wrong(fmt::format("The host is not free: the node needs {} for the states, which has to be pinned RAM.",
                        lesson.find("host_all")->result()));
    return w.done();
}

}  // namespace plimsoll
