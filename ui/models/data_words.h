// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the Data page's facts.
#pragma once

#include "ui/models/data_preview.h"
#include "ui/models/text_table.h"

namespace plimsoll::ui {

/// Empty while the text cannot be read.
QList<TextRow> dataRows(const DataPreview& preview, const Plan& plan);

}  // namespace plimsoll::ui
