// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/lessons/lesson.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

Json to_json(const Lesson& lesson) {
    constexpr const char* units[]{"bytes", "parameters", "share", "times"};
    Json steps = Json::array(), tables = Json::array();
    for (const LessonStep& step : lesson.steps)
        steps.push_back({{"name", step.name},
                         {"words", step.words},
                         {"value", step.value},
                         {"unit", units[static_cast<std::size_t>(step.unit)]}});
    for (const LessonTable& table : lesson.tables)
        tables.push_back({{"title", table.title}, {"headers", table.headers}, {"rows", table.rows}});
    return {
        {"name", lesson.name}, {"title", lesson.title}, {"question", lesson.question}, {"steps", steps},
        {"tables", tables},    {"right", lesson.right}, {"wrong", lesson.wrong},       {"plan", to_json(lesson.plan)}};
}

}  // namespace plimsoll
