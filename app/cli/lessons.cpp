// SPDX-License-Identifier: Apache-2.0
// plimsoll lessons: figures that people quote, worked out.
#include <algorithm>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/lessons/lesson.h"
#include "core/plan/plan_io.h"

namespace plimsoll::cli {

namespace {

struct LessonsArguments {
    std::string name;
    std::string plan_file;
    bool json = false;
};

std::string table_text(const LessonTable& table) {
    std::vector<std::size_t> widths;
    for (const std::string& header : table.headers) widths.push_back(shown_width(header));
    for (const auto& row : table.rows)
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], shown_width(row[c]));
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text = "  ";
        for (std::size_t c = 0; c < cells.size(); ++c) text += fitted(cells[c], widths[c]) + "  ";
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    };
    std::string text = bold(table.title) + "\n" + line(table.headers);
    for (const auto& row : table.rows) text += line(row);
    return text;
}

std::string sentences(const char* title, const std::vector<std::string>& all, std::size_t width) {
    std::string text = bold(title) + "\n";
    for (const std::string& sentence : all) text += "  - " + wrapped(sentence, width - 4, 4) + "\n";
    return text;
}

std::string lesson_text(const Lesson& lesson) {
    const auto width = static_cast<std::size_t>(std::max(terminal_size().columns, 40));
    std::string text =
        bold(lesson.title) + "\n" + wrapped(lesson.question, width, 0) + "\n\n" + bold("Worked out") + "\n";
    constexpr std::size_t result_width = 16;
    for (const LessonStep& step : lesson.steps)
        text += fmt::format("  {}  {}\n", fitted(step.result(), result_width, true),
                            wrapped(step.words, width - result_width - 4, result_width + 4));
    for (const LessonTable& table : lesson.tables) text += "\n" + table_text(table);
    text += "\n" + sentences("What is right", lesson.right, width);
    text += "\n" + sentences("What is wrong, or left out", lesson.wrong, width);
    return text + fmt::format("\nIts plan: plimsoll lessons {} --plan FILE writes it.\n", lesson.name);
}

Result<int> list(bool json) {
    Json all = Json::array();
    std::string text;
    for (const std::string& name : lesson_names()) {
        PLIMSOLL_TRY(const auto lesson, make_lesson(name));
        all.push_back({{"name", name}, {"title", lesson.title}, {"question", lesson.question}});
        text += fmt::format("{}  {}\n", fitted(name, 16), lesson.title);
    }
    if (json)
        say_json(all);
    else
        say(text);
    return 0;
}

Result<int> lessons(const LessonsArguments& arguments) {
    if (arguments.name.empty()) {
        if (!arguments.plan_file.empty()) return bad_input("--plan writes the plan of one lesson: name it");
        return list(arguments.json);
    }
    PLIMSOLL_TRY(const auto lesson, make_lesson(arguments.name));
    if (!arguments.plan_file.empty()) PLIMSOLL_CHECK(save_plan(arguments.plan_file, lesson.plan));
    if (arguments.json)
        say_json(to_json(lesson));
    else
        say(lesson_text(lesson));
    return 0;
}

}  // namespace

void add_lessons(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "lessons", "Figures that people quote about training memory, worked out step by step");
    const auto arguments = std::make_shared<LessonsArguments>();
    command->add_option("NAME", arguments->name, "A lesson; without one they are listed");
    command->add_option("--plan", arguments->plan_file, "Also write the lesson's plan to this file")->type_name("FILE");
    command->add_flag("--json", arguments->json, "JSON: steps with value and unit, tables, what is right and wrong");
    command->callback([arguments, &work] { work = [arguments] { return lessons(*arguments); }; });
}

}  // namespace plimsoll::cli
