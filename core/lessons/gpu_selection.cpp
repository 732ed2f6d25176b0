// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/lessons/lesson_parts.h"
#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"

namespace plimsoll {

namespace {

struct Way {
    const char* key;
    const char* header;
    std::int64_t gpus;
    std::vector<std::string> settings;
};

const std::vector<Way>& ways() {
    static const std::vector<Way> all{
        {"one", "one card, AdamW", 1, {}},
        {"one_8bit", "one card, 8-bit AdamW", 1, {"optimizer.kind=adamw-8bit", "layout.loss_chunks=8"}},
        {"eight", "8 cards, ZeRO-3", 8, {"layout.zero_stage=3", "layout.loss_chunks=8"}},
        {"eight_offload",
         "8 cards, ZeRO-3, optimizer in host memory",
         8,
         {"layout.zero_stage=3", "layout.loss_chunks=8", "layout.offload_optimizer=cpu"}}};
    return all;
}

/// Decoders that are sized like those people train, from small to large.
std::vector<std::string> models_by_size() {
    std::vector<std::pair<std::int64_t, std::string>> sized;
    for (const std::string& name : model_preset_names()) {
        const auto model = model_preset(name);
        if (model && !model->encoder_decoder() && !model->moe())
            sized.emplace_back(count_parameters(*model).total, name);
    }
    std::sort(sized.begin(), sized.end());
    std::vector<std::string> names;
    for (auto& [count, name] : sized) names.push_back(std::move(name));
    return names;
}

/// The largest model that fits, or "none". Where one fits, all smaller ones do, near enough.
std::string largest(LessonWriter& w, const Gpu& gpu, const Way& way, const std::vector<std::string>& models) {
    std::size_t low = 0, high = models.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        auto plan = w.plan_of(models[middle], gpu.name, way.gpus, way.settings);
        if (gpu.bf16_tflops <= 0) plan = w.changed(plan, {"numerics.dtype=fp16"});
        if (w.estimate(plan).fits())
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? "none" : models[low - 1];
}

struct Advice {
    const char* key;
    const char* quoted;
    const char* model;
    const char* gpu;
    std::int64_t gpus;
    const char* stage;
};

constexpr Advice advice[]{
    {"7b_one", "up to 7B on one A100 80GB", "llama-7b", "A100 SXM4 80GB", 1, "layout.zero_stage=0"},
    {"13b_four", "13B on 4 × H100", "llama-13b", "H100 SXM5 80GB", 4, "layout.zero_stage=3"},
    {"33b_eight", "30B on 8 × H100", "llama-33b", "H100 SXM5 80GB", 8, "layout.zero_stage=3"},
    {"70b_eight", "70B and up with ZeRO-3, on 8 × H100", "llama-2-70b", "H100 SXM5 80GB", 8, "layout.zero_stage=3"},
    {"70b_sixteen", "the same on 16", "llama-2-70b", "H100 SXM5 80GB", 16, "layout.zero_stage=3"}};

}  // namespace

Result<Lesson> gpu_selection_lesson() {
    LessonWriter w("gpu-selection");
    auto& lesson = w.lesson();
    lesson.title = "Which model on which GPU";
    lesson.question =
        "Models up to 7B are said to train on one A100 80GB, 13B to 30B on four to eight H100, 70B and more with FSDP or ZeRO-3.";

    LessonTable checked{"The advice, estimated (one sequence of 2,048 a rank, every layer recomputed, AdamW)",
                        {"advice", "a rank", "verdict"},
                        {}};
    const auto check = [&](const Advice& a) {
        auto plan = w.plan_of(a.model, a.gpu, a.gpus, {a.stage, "layout.loss_chunks=8"});
        const auto estimate = w.estimate(plan);
        const auto total = static_cast<double>(estimate.fullest().total());
        checked.rows.push_back({a.quoted, gb(total), fits_words(estimate)});
        w.step(a.key, fmt::format("A rank: {}", a.quoted), total);
        return std::pair(plan, estimate.fits());
    };
    std::vector<std::pair<Plan, bool>> tried;
    for (const Advice& each : advice) tried.push_back(check(each));
    lesson.tables.push_back(std::move(checked));

    const auto models = models_by_size();
    LessonTable table{"The largest model of the presets that trains in full", {"card", "usable"}, {}};
    for (const Way& way : ways()) table.headers.emplace_back(way.header);
    for (const Gpu& gpu : gpu_catalogue()) {
        std::vector<std::string> row{gpu.name, gb(gpu.usable_gib * static_cast<double>(GiB))};
        for (const Way& way : ways()) row.push_back(largest(w, gpu, way, models));
        table.rows.push_back(std::move(row));
    }
    lesson.tables.push_back(std::move(table));
    const auto small =
        w.plan_of("llama-7b", "A100 SXM4 80GB", 1, {"optimizer.kind=adamw-8bit", "layout.loss_chunks=8"});
    const auto small_estimate = w.estimate(small);
    w.step("7b_8bit", "A rank: 7B on one A100 80GB with 8-bit AdamW", small_estimate.fullest().total());
    lesson.plan = small;

    for (std::size_t i = 0; i < std::size(advice); ++i) {
        const std::string sentence = fmt::format("{}: {}.", advice[i].quoted, lesson.tables[0].rows[i][2]);
        if (tried[i].second)
            w.right(sentence);
        else
            w.wrong(sentence);
    }
    w.wrong(
        fmt::format("7B trains on one A100 80GB only with smaller states: with 8-bit AdamW it {}. Fine-tuning of a few "
                    "weights (LoRA) is another matter.",
                    fits_words(small_estimate)));
    return w.done();
}

}  // namespace plimsoll
