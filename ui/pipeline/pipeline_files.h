// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline as a file for other programs.
#pragma once

#include <QString>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::ui {

class PlanModel;

enum class PipelineFile { Drawing, Trace, List };

/// A picture (SVG), the trace that Perfetto and chrome://tracing open, or the list of operations that followList reads.
Result<void> writePipeline(const Pipeline& pipeline, PipelineFile kind, const QString& path);

/// Makes the plan follow the list of operations in the file, with its ranks, micro-batches and chunks, as one step of
/// undo.
Result<void> followList(PlanModel& plan, const QString& path);

}  // namespace plimsoll::ui
