// SPDX-License-Identifier: Apache-2.0
// Weights alone, and what Adam brings with them.
#include <cmath>

#include "core/lessons/lesson_parts.h"

namespace plimsoll {

Result<Lesson> gpt3_weights_lesson() {
    LessonWriter w("gpt3-weights");
    auto& lesson = w.lesson();
    lesson.title = "175 billion parameters are 350 GB in fp16";
    lesson.question = "A model of 175 billion parameters is said to take 350 GB in fp16.";

    const auto alone = w.plan_of("gpt-3-175b", "A100 SXM4 80GB", 1, {"numerics.dtype=fp16"});
    const auto estimate = w.estimate(alone);
    const auto& rank = estimate.fullest();
    w.step("parameters", "Parameters of GPT-3 175B, counted", static_cast<double>(estimate.parameters),
           LessonUnit::Parameters);
    w.step("quoted", "175,000,000,000 × 2 B", 175e9 * 2);
    w.step("weights", fmt::format("Weights: {} × 2 B", format_count(estimate.parameters)),
           rank.of(Category::Parameters));
    const Bytes states = states_of(rank);
    w.step("states", "Weights, gradients, fp32 masters and both moments: 16 B a parameter", states);
    const double cards = std::ceil(static_cast<double>(states) / static_cast<double>(estimate.usable));
    w.step("cards",
           fmt::format("Cards of {} usable that the states alone fill", gb(static_cast<double>(estimate.usable))),
           cards, LessonUnit::Times);

    // Megatron-LM's shape for this model: tensor 8, pipeline 8.
    lesson.plan =
        w.changed(alone, {"cluster.gpus_per_node=8", "cluster.nodes=8", "layout.dp=1", "layout.tp=8", "layout.pp=8",
                          "layout.accumulation=64", "layout.sequence_parallel=true", "layout.recompute=selective"});
    const auto trained = w.estimate(lesson.plan);
    w.step("rank", "The fullest of 64 ranks with tp 8 × pp 8, one sequence of 2,048 at a time",
           trained.fullest().total());

    w.right("Two bytes a parameter is what the weights take, in a file or for inference without its key-value cache.");
    w.wrong(fmt::format("Training takes eight times as much before the first activation: {}.",
                        gb(static_cast<double>(states))));
    w.wrong(
        fmt::format("So the least is not five cards of 80 GB but {:.0f}, and they need tensor or pipeline parallelism "
                    "or ZeRO-3 to share one model: tp 8 × pp 8 {}.",
                    cards, fits_words(trained)));
    return w.done();
}

Result<Lesson> adam_states_lesson() {
    LessonWriter w("adam-states");
    auto& lesson = w.lesson();
    lesson.title = "1 GB of fp16 weights brings 4 GB of Adam states";
    lesson.question = "One GB of fp16 weights is said to bring 4 GB of Adam states.";

    lesson.plan = w.plan_of("gpt2-xl", "A100 SXM4 80GB", 1, {"numerics.dtype=fp16", "data.sequence_length=1024"});
    const auto estimate = w.estimate(lesson.plan);
    const auto& rank = estimate.fullest();
    const auto bytes = [&rank](std::string_view key) {
        const Term* term = rank.find(key);
        return term == nullptr ? 0.0 : static_cast<double>(term->bytes);
    };
    const double weights = bytes("parameters");
    w.step("weights", fmt::format("GPT-2 XL's weights: {} × 2 B", format_count(estimate.parameters)), weights);
    w.step("moments", "Adam's two moments: 2 × 4 B a parameter", bytes("adam_moments"));
    const double each = w.step("moments_per_gb", "Moments for each byte of fp16 weights: 8 / 2",
                               bytes("adam_moments") / std::max(weights, 1.0), LessonUnit::Times);
    w.step("masters", "fp32 masters, 4 B a parameter, without which small updates are rounded away",
           bytes("master_weights"));
    w.step("gradients", "Gradients, 2 B a parameter", bytes("gradients"));
    const double all = w.step("all_per_gb", "All that comes with a byte of weights, itself included: 16 / 2",
                              static_cast<double>(states_of(rank)) / std::max(weights, 1.0), LessonUnit::Times);
    const auto small = w.estimate(w.changed(lesson.plan, {"optimizer.kind=adamw-8bit"}));
    w.step("eight_bit", "With moments in 8 bits: what a byte of weights brings in all",
           static_cast<double>(states_of(small.fullest())) / std::max(weights, 1.0), LessonUnit::Times);

    w.right(
        fmt::format("The moments are {:.0f} times the fp16 weights: two fp32 numbers for each two-byte one.", each));
    w.wrong(
        fmt::format("It is not all: with masters and gradients each GB of fp16 weights stands for {:.0f} GB on a "
                    "rank that shards nothing.",
                    all));
    w.wrong(
        "SGD without momentum has none of it, 8-bit Adam a quarter of the moments, and ZeRO-1 divides them by the "
        "data-parallel ranks.");
    return w.done();
}

}  // namespace plimsoll
