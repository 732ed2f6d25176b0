// SPDX-License-Identifier: Apache-2.0
// Figures that people quote about training memory: every number is computed by the estimator.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

enum class LessonUnit { Size, Parameters, Share, Times };

/// A line of arithmetic with its result.
struct LessonStep {
    std::string name;   ///< stable, for JSON and tests: "rule_states"
    std::string words;  ///< "4 × 7,000,000,000 parameters × 2 B"
    double value = 0;
    LessonUnit unit = LessonUnit::Size;  ///< Size in bytes; Share: 0.68 is 68 %

    std::string result() const;  ///< "56.0 GB"
};

struct LessonTable {
    std::string title;
    std::vector<std::string> headers;
    std::vector<std::vector<std::string>> rows;
};

struct Lesson {
    std::string name;      ///< for the command line: "llama-7b"
    std::string title;     ///< "LLaMA-7B in BF16: 56 + 160 = 216 GB"
    std::string question;  ///< the quoted statement
    std::vector<LessonStep> steps;
    std::vector<LessonTable> tables;
    std::vector<std::string> right;  ///< the parts of the quoted figure that hold
    std::vector<std::string> wrong;  ///< the parts that do not hold, or that the figure leaves out
    Plan plan;                       ///< to open and try; always possible (check_plan)

    const LessonStep* find(std::string_view step) const;  ///< nullptr when there is none of this name
};

/// In reading order.
const std::vector<std::string>& lesson_names();
/// Computes the lesson in some milliseconds. Error with the nearest name for an unknown lesson, and where presets or
/// the GPU catalogue cannot be read.
Result<Lesson> make_lesson(const std::string& name);

Json to_json(const Lesson& lesson);

}  // namespace plimsoll
