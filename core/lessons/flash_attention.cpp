// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/lessons/lesson_parts.h"

namespace plimsoll {

namespace {

constexpr double quoted_share = 0.20;

struct Pair {
    double eager = 0, flash = 0;
    double saved() const { return eager > 0 ? 1 - flash / eager : 0; }
};

}  // namespace

Result<Lesson> flash_attention_lesson() {
    LessonWriter w("flash-attention");
    auto& lesson = w.lesson();
    lesson.title = "Flash attention saves about 20 %";
    lesson.question = "Flash attention is said to save about 20 % of the memory.";

    const auto plan = w.plan_of("llama-7b", "A100 SXM4 80GB", 8,
                                {"layout.zero_stage=3", "layout.recompute=none", "model.max_position=32768"});
    const auto pair = [&](std::int64_t tokens, bool activations_only) {
        const auto of = [&](const char* attention) {
            const auto estimate = w.estimate(w.changed(plan, {fmt::format("numerics.attention={}", attention),
                                                              fmt::format("data.sequence_length={}", tokens)}));
            const auto& rank = estimate.fullest();
            return static_cast<double>(activations_only ? rank.of(Category::Activations) : rank.total());
        };
        return Pair{of("eager"), of("flash")};
    };
    LessonTable table{"LLaMA-7B on 8 × A100 80GB, ZeRO-3, one sequence a rank, nothing recomputed",
                      {"tokens", "activations, eager", "activations, flash", "saved", "whole rank, eager",
                       "whole rank, flash", "saved"},
                      {}};
    std::int64_t closest = 0;
    double miss = 1;
    for (std::int64_t tokens = 256; tokens <= 8192; tokens *= 2) {
        const Pair kept = pair(tokens, true), whole = pair(tokens, false);
        table.rows.push_back({format_count(tokens), gb(kept.eager), gb(kept.flash), percent(kept.saved()),
                              gb(whole.eager), gb(whole.flash), percent(whole.saved())});
        w.step(fmt::format("saved_{}", tokens),
               fmt::format("Saved of a rank's memory with {} tokens", format_count(tokens)), whole.saved(),
               LessonUnit::Share);
    }
    for (std::int64_t tokens = 128; tokens <= 8192; tokens += 128) {
        const double saved = pair(tokens, false).saved();
        if (std::abs(saved - quoted_share) >= miss) continue;
        miss = std::abs(saved - quoted_share);
        closest = tokens;
    }
    lesson.tables.push_back(std::move(table));
    w.step("closest", "Tokens a sequence at which it is nearest to 20 %", static_cast<double>(closest),
           LessonUnit::Times);
    const double scores = 2.0 * static_cast<double>(plan.model.num_heads) * 2048 * 2048;
    w.step("scores",
           fmt::format("One layer's softmax output at 2,048 tokens: 2 B × {} heads × 2,048²", plan.model.num_heads),
           scores);
    const auto recomputed = w.changed(plan, {"layout.recompute=full", "data.sequence_length=2048"});
    const double eager = static_cast<double>(w.total(w.changed(recomputed, {"numerics.attention=eager"})));
    w.step("saved_recomputed", "Saved at 2,048 tokens where every layer is recomputed anyway",
           1 - static_cast<double>(w.total(recomputed)) / std::max(1.0, eager), LessonUnit::Share);
    lesson.plan = w.changed(plan, {fmt::format("data.sequence_length={}", closest)});

    w.right(fmt::format("It holds for this model and layout at about {} tokens a sequence.", format_count(closest)));
    w.wrong(
        "It is no constant: the scores it does not keep grow with the square of the length, everything else with the "
        "length, so that the saving runs from almost nothing to most of the activations.");
    w.wrong(
        "With full recomputation only one layer's scores exist at a time, and there is little left to save; the time saved remains.");
    return w.done();
}

}  // namespace plimsoll
