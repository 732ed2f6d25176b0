// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the Data page's facts.
#pragma once

#include "ui/common/text_table.h"
#include "ui/plan/data_preview.h"

namespace plimsoll::ui {

/// Empty while the text cannot be read.
QList<TextRow> dataRows(const DataPreview& preview, const Plan& plan);

/// What is doubtful about the text for this plan, in a sentence; "" when nothing is.
QString dataDoubts(const DataFacts& facts, const Plan& plan);

}  // namespace plimsoll::ui
