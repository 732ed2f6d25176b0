// SPDX-License-Identifier: GPL-3.0-or-later
// A lesson as rich text.
#pragma once

#include "ui/lessons/lessons_model.h"

namespace plimsoll::ui {

/// Rows of one column, the titles.
QList<TextRow> lessonRows(const std::vector<Lesson>& lessons);

/// The whole lesson as rich text: arithmetic, tables, and the right and wrong parts of the figure.
QString lessonHtml(const Lesson& lesson, const LessonColours& colours);

}  // namespace plimsoll::ui
