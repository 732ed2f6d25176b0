// SPDX-License-Identifier: GPL-3.0-or-later
// A lesson as rich text.
#pragma once

#include "ui/lessons/lessons_model.h"

namespace plimsoll::ui {

/// One column, the titles.
QList<TextRow> lessonRows(const std::vector<Lesson>& lessons);

/// The whole lesson as rich text: arithmetic, tables, what is right and wrong.
QString lessonHtml(const Lesson& lesson, const LessonColours& colours);

}  // namespace plimsoll::ui
