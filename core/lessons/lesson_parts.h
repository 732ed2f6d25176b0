// SPDX-License-Identifier: Apache-2.0
// Helpers for writing lessons. The first failure (a preset, the catalogue) is kept and ends the lesson.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/lessons/lesson.h"

namespace plimsoll {

class LessonWriter {
public:
    explicit LessonWriter(std::string name) { lesson_.name = std::move(name); }

    Lesson& lesson() { return lesson_; }

    /// A model preset on `gpus` cards of one node in bf16 with flash attention, full recomputation, sequences of 2048,
    /// one a rank and micro-batch; then the settings.
    Plan plan_of(const std::string& preset, const std::string& gpu, std::int64_t gpus,
                 const std::vector<std::string>& settings = {});
    /// The plan with the settings. Where the settings are refused, the plan comes back unchanged and the lesson ends.
    Plan changed(const Plan& plan, const std::vector<std::string>& settings);
    MemoryEstimate estimate(const Plan& plan);
    /// Bytes of the fullest rank.
    Bytes total(const Plan& plan) { return estimate(plan).fullest().total(); }

    double step(std::string name, std::string words, double value, LessonUnit unit = LessonUnit::Size);
    Bytes step(std::string name, std::string words, Bytes bytes);
    void right(std::string sentence) { lesson_.right.push_back(std::move(sentence)); }
    void wrong(std::string sentence) { lesson_.wrong.push_back(std::move(sentence)); }

    Result<Lesson> done();

private:
    Lesson lesson_;
    std::optional<Error> error_;
};

/// "56.0 GB": the lessons count in 10^9 bytes, as the quoted figures do.
std::string gb(double bytes);
std::string percent(double share);
/// "fits", or "does not fit: 154 of 84.9 GB".
std::string fits_words(const MemoryEstimate& estimate);
/// Bytes of the states of a rank: parameters, gradients, optimizer and masters.
Bytes states_of(const RankMemory& rank);

Result<Lesson> llama_7b_lesson();
Result<Lesson> gpt3_weights_lesson();
Result<Lesson> adam_states_lesson();
Result<Lesson> zero_65b_lesson();
Result<Lesson> offload_13b_lesson();
Result<Lesson> checkpointing_lesson();
Result<Lesson> precision_lesson();
Result<Lesson> gpu_selection_lesson();
Result<Lesson> flash_attention_lesson();

}  // namespace plimsoll
