// SPDX-License-Identifier: Apache-2.0
#include "core/lessons/lesson.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest.h"
#include "core/lessons/lesson_parts.h"

namespace plimsoll {

namespace {

struct Entry {
    const char* name;
    Result<Lesson> (*make)();
};

constexpr Entry entries[]{{"llama-7b", llama_7b_lesson},
                          {"gpt3-weights", gpt3_weights_lesson},
                          {"adam-states", adam_states_lesson},
                          {"zero-65b", zero_65b_lesson},
                          {"offload-13b", offload_13b_lesson},
                          {"checkpointing", checkpointing_lesson},
                          {"precision", precision_lesson},
                          {"gpu-selection", gpu_selection_lesson},
                          {"flash-attention", flash_attention_lesson}};

}  // namespace

std::string LessonStep::result() const {
    switch (unit) {
        case LessonUnit::Size:
            return gb(value);
        case LessonUnit::Parameters:
            return format_count(std::llround(value));
        case LessonUnit::Share:
            return percent(value);
        case LessonUnit::Times:
            return value == std::round(value) && value < 1e6 ? format_count(std::llround(value))
                                                             : fmt::format("{:.4g}", value);
    }
    return {};
}

const LessonStep* Lesson::find(std::string_view step) const {
    const auto found =
        std::find_if(steps.begin(), steps.end(), [&](const LessonStep& each) { return each.name == step; });
    return found == steps.end() ? nullptr : &*found;
}

const std::vector<std::string>& lesson_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Entry& entry : entries) all.emplace_back(entry.name);
        return all;
    }();
    return names;
}

Result<Lesson> make_lesson(const std::string& name) {
    for (const Entry& entry : entries)
        if (name == entry.name) return entry.make();
    return bad_input("there is no lesson \"{}\"{}; the lessons are {}", name, did_you_mean(name, lesson_names()),
                     fmt::join(lesson_names(), ", "));
}

}  // namespace plimsoll
