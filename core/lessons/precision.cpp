// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "core/lessons/lesson_parts.h"

namespace plimsoll {

namespace {

/// A binary floating-point format; digits counts the hidden bit.
struct Format {
    const char* name;
    int bytes, exponent_bits, digits;

    int max_exponent() const { return 1 << (exponent_bits - 1); }
    double largest() const { return std::ldexp(1 - std::ldexp(1.0, -digits), max_exponent()); }
    double least_normal() const { return std::ldexp(1.0, 2 - max_exponent()); }
    double epsilon() const { return std::ldexp(1.0, 1 - digits); }
    /// Decimal digits that survive: as std::numeric_limits::digits10.
    int decimals() const { return static_cast<int>(std::floor((digits - 1) * std::log10(2.0))); }
};

constexpr Format fp32{"fp32", 4, 8, 24}, fp16{"fp16", 2, 5, 11}, bf16{"bf16", 2, 8, 8};

}  // namespace

Result<Lesson> precision_lesson() {
    LessonWriter w("precision");
    auto& lesson = w.lesson();
    lesson.title = "Precision: fp32, fp16, bf16, int8";
    lesson.question =
        "fp32 is said to need 4 B a parameter, fp16 and bf16 2 B, int8 1 B, so that halving the precision halves the memory.";

    const auto plan = w.plan_of("llama-7b", "A100 SXM4 80GB", 8, {"layout.zero_stage=1"});
    const double parameters = static_cast<double>(w.estimate(plan).parameters);
    LessonTable table{"The formats",
                      {"dtype", "bytes", "exponent + mantissa bits", "largest", "least normal", "relative step",
                       "decimal digits", "LLaMA-7B's weights"},
                      {}};
    for (const Format& f : {fp32, fp16, bf16}) {
        table.rows.push_back({f.name, std::to_string(f.bytes), fmt::format("{} + {}", f.exponent_bits, f.digits - 1),
                              fmt::format("{:.5g}", f.largest()), fmt::format("{:.3g}", f.least_normal()),
                              fmt::format("{:.3g}", f.epsilon()), std::to_string(f.decimals()),
                              gb(f.bytes * parameters)});
        w.step(fmt::format("{}_largest", f.name),
               fmt::format("Largest {}: (1 − 2^−{}) × 2^{}", f.name, f.digits, f.max_exponent()), f.largest(),
               LessonUnit::Times);
        w.step(fmt::format("{}_epsilon", f.name), fmt::format("Relative step of {}: 2^−{}", f.name, f.digits - 1),
               f.epsilon(), LessonUnit::Times);
    }
    using Int8 = std::numeric_limits<std::int8_t>;
    table.rows.push_back({"int8", "1", "0 + 7", std::to_string(Int8::max()), "1", "of the block's scale, 1/127",
                          std::to_string(Int8::digits10), gb(parameters)});
    lesson.tables.push_back(std::move(table));

    const auto half = w.estimate(plan), full = w.estimate(w.changed(plan, {"numerics.dtype=fp32"}));
    const auto own = [](const MemoryEstimate& e) { return static_cast<double>(states_of(e.fullest())); };
    const auto alone = [&](const char* dtype, std::vector<std::string> settings = {}) {
        settings.insert(settings.end(), {"cluster.gpus_per_node=1", "layout.dp=1", "layout.zero_stage=0",
                                         fmt::format("numerics.dtype={}", dtype)});
        return own(w.estimate(w.changed(plan, settings)));
    };
    const double states32 = w.step("states_fp32", "States in fp32: 4 + 4 + 8 B a parameter", alone("fp32"));
    const double states16 = w.step("states_bf16", "States in bf16 with masters: 2 + 2 + 4 + 8 B", alone("bf16"));
    const double pure = w.step("states_pure", "States in bf16 alone: 2 + 2 + 4 B",
                               alone("bf16", {"numerics.weights=pure", "optimizer.state_dtype=bf16"}));
    const double saved = 1 - static_cast<double>(half.fullest().of(Category::Activations)) /
                                 std::max(1.0, static_cast<double>(full.fullest().of(Category::Activations)));
    w.step("activations_saved", "Activations saved by bf16, full recomputation", saved, LessonUnit::Share);
    lesson.plan = plan;

    w.right(
        "Weights and activations halve with the bytes of their dtype; fp16 tells 2^−10 apart where bf16 tells 2^−7.");
    w.right("bf16 has the exponent of fp32, so its range, and needs no loss scaling; fp16 ends at 65,504.");
    w.wrong(
        fmt::format("The states of training do not halve: masters and moments stay in fp32, so that a rank without "
                    "sharding holds {} in bf16 and {} in fp32.",
                    gb(states16), gb(states32)));
    w.right(
        fmt::format("Without masters, and with moments in bf16, they do halve: {}. Updates below half a last digit of "
                    "bf16 are then lost, unless they are rounded at random or their rest is kept (numerics.rounding).",
                    gb(pure)));
    w.wrong(
        "int8 is for moments (8-bit Adam), saved activations and inference, with a scale a block; nothing here trains "
        "its weights in it.");
    return w.done();
}

}  // namespace plimsoll
