// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline as a file for others.
#pragma once

#include <QString>

#include "core/schedule/pipeline.h"

namespace plimsoll::ui {

/// "….svg" becomes the picture, any other name the trace that Perfetto and chrome://tracing open.
Result<void> writePipeline(const Pipeline& pipeline, const QString& path);

}  // namespace plimsoll::ui
