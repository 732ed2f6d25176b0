// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/lessons/lesson_parts.h"

namespace plimsoll {

namespace {

constexpr double quoted = 0.68;

}  // namespace

Result<Lesson> checkpointing_lesson() {
    LessonWriter w("checkpointing");
    auto& lesson = w.lesson();
    lesson.title = "Checkpointing saves 68 % on 32 layers";
    lesson.question = "Activation checkpointing is said to save 68 % of the activations of a model with 32 layers.";

    const auto plan = w.plan_of("llama-7b", "A100 SXM4 80GB", 8, {"layout.zero_stage=3", "layout.recompute=none"});
    const auto kept = [&](const std::vector<std::string>& settings) {
        return static_cast<double>(w.estimate(w.changed(plan, settings)).fullest().of(Category::Activations));
    };
    const double none = kept({});
    w.step("none", "Activations of LLaMA-7B, 32 layers, one sequence of 2,048, nothing recomputed", none);
    const auto saved = [&](double bytes) { return none > 0 ? 1 - bytes / none : 0; };

    LessonTable table{"What is recomputed", {"recomputed", "activations", "saved"}, {}};
    double nearest = 1;
    std::int64_t nearest_every = 1;
    for (std::int64_t every = 1; every <= 8; ++every) {
        const double bytes = kept({"layout.recompute=full", fmt::format("layout.recompute_every={}", every)});
        table.rows.push_back(
            {every == 1 ? "every layer" : fmt::format("one layer in {}", every), gb(bytes), percent(saved(bytes))});
        w.step(fmt::format("every_{}", every),
               every == 1 ? "Saved when every layer keeps its input only"
                          : fmt::format("Saved when one layer in {} keeps its input only", every),
               saved(bytes), LessonUnit::Share);
        if (std::abs(saved(bytes) - quoted) < nearest) {
            nearest = std::abs(saved(bytes) - quoted);
            nearest_every = every;
        }
    }
    const double selective = kept({"layout.recompute=selective"});
    table.rows.push_back({"the attention core (flash: nothing to gain)", gb(selective), percent(saved(selective))});
    const double eager = kept({"numerics.attention=eager"}),
                 eager_selective = kept({"numerics.attention=eager", "layout.recompute=selective"});
    const double eager_saved = eager > 0 ? 1 - eager_selective / eager : 0;
    table.rows.push_back({"the attention core, eager attention", gb(eager_selective), percent(eager_saved)});
    w.step("selective_eager", "Saved by recomputing eager attention's core", eager_saved, LessonUnit::Share);
    lesson.tables.push_back(std::move(table));

    const double layers = static_cast<double>(plan.model.num_layers);
    w.step("square_root", "√n segments (Chen 2016) keep about 2 √n of n layers: 1 − 2 √32 / 32",
           1 - 2 * std::sqrt(layers) / layers, LessonUnit::Share);
    lesson.plan = w.changed(plan, {"layout.recompute=full"});

    w.right("Chen's √n scheme, a checkpoint every five or six layers, comes near it: about two thirds.");
    w.wrong(
        fmt::format("What frameworks do today, a checkpoint at every layer, saves {} of a LLaMA layer's "
                    "activations, since its input is a small part of them.",
                    percent(lesson.find("every_1")->value)));
    w.wrong(fmt::format("Recomputing only some layers passes 68 % at no k: one in {} is nearest, with {}.",
                        nearest_every, percent(lesson.find(fmt::format("every_{}", nearest_every))->value)));
    w.wrong("A share of activations is no share of the card: states, logits and buffers stay.");
    return w.done();
}

}  // namespace plimsoll
