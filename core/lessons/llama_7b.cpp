// SPDX-License-Identifier: Apache-2.0
#include "core/lessons/lesson_parts.h"

namespace plimsoll {

Result<Lesson> llama_7b_lesson() {
    LessonWriter w("llama-7b");
    auto& lesson = w.lesson();
    lesson.title = "LLaMA-7B in BF16: 56 + 160 = 216 GB";
    lesson.question =
        "Training LLaMA-7B in BF16 is said to take 56 GB for the model and 160 GB for activations, 216 GB in all, so four A100 of 80 GB.";

    constexpr double quoted_parameters = 7e9, bytes = 2, sequences = 32, tokens = 2048;
    const double states = w.step("rule_states", "Model states by the rule: 4 × 7,000,000,000 parameters × 2 B",
                                 4 * quoted_parameters * bytes);
    const auto plan = w.plan_of("llama-7b", "A100 SXM4 80GB", 4, {"layout.micro_batch=8", "layout.recompute=none"});
    const auto& m = plan.model;
    const double activations =
        sequences * tokens * static_cast<double>(m.hidden_size) * static_cast<double>(m.num_layers) * 10 * bytes;
    w.step("rule_activations",
           fmt::format("Activations by the rule: 32 sequences × 2,048 tokens × {} × {} layers × 10 × 2 B",
                       format_count(m.hidden_size), m.num_layers),
           activations);
    w.step("rule_activations_gib", "the same in GiB, with 2^30 B read as a GB: the quoted 160",
           activations / static_cast<double>(GiB) * 1e9);
    w.step("rule_sum", "Both in the same unit", states + activations);

    const auto plain = w.estimate(plan);
    const auto& rank = plain.fullest();
    w.step("parameters", "Parameters, counted", static_cast<double>(plain.parameters), LessonUnit::Parameters);
    w.step("states",
           fmt::format("Model states of a rank: (2 weights + 2 gradients + 4 masters + 8 moments) B × {}",
                       format_count(plain.parameters)),
           states_of(rank));
    w.step("activations", "Activations of a rank: 8 of the 32 sequences, op by op, nothing recomputed",
           rank.of(Category::Activations));
    w.step("rank", "One of four ranks of plain data parallelism, with logits, buffers and overhead", rank.total());
    const auto zero3 = w.changed(plan, {"layout.zero_stage=3"});
    w.step("rank_zero3", "The same under ZeRO-3", w.total(zero3));
    lesson.plan = w.changed(plan, {"layout.zero_stage=2", "layout.recompute=full"});
    const auto good = w.estimate(lesson.plan);
    w.step("rank_fits", "Under ZeRO-2 with full recomputation", good.fullest().total());

    w.right(fmt::format("4 × 2 B × 7 billion is {}, and 10 values a token, hidden element and layer come to 160 GiB.",
                        gb(states)));
    w.wrong("56 is in GB and 160 in GiB: in one unit the sum is " + gb(states + activations) + ".");
    w.wrong(
        fmt::format("Adam in mixed precision keeps 16 B a parameter, not 8: {} in place of {}, and without sharding "
                    "each of the four cards holds them all.",
                    gb(static_cast<double>(states_of(rank))), gb(states)));
    w.wrong(
        fmt::format("Cards do not share a sum. What decides is the fullest rank: it {} on plain data parallelism; "
                    "with ZeRO-2 and full recomputation it {}.",
                    fits_words(plain), fits_words(good)));
    return w.done();
}

}  // namespace plimsoll
