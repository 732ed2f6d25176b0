// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_files.h"

#include <QCoreApplication>
#include <QFileInfo>

#include "core/base/file.h"
#include "core/schedule/plan_pipeline/chrome_trace.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/schedule/plan_pipeline/svg.h"
#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

namespace {

struct PipelineFiles {
    Q_DECLARE_TR_FUNCTIONS(PipelineFiles)
};

std::string textOf(const Pipeline& pipeline, PipelineFile kind) {
    switch (kind) {
        case PipelineFile::Drawing:
            return pipeline_svg(pipeline);
        case PipelineFile::Trace:
            return chrome_trace(pipeline);
        case PipelineFile::List:
            return schedule_text(pipeline.schedule);
    }
    return {};
}

}  // namespace

Result<void> writePipeline(const Pipeline& pipeline, PipelineFile kind, const QString& path) {
    return write_file_atomic(path.toStdString(), textOf(pipeline, kind));
}

Result<void> followList(PlanModel& plan, const QString& path) {
    PLIMSOLL_TRY(const auto schedule, read_schedule(path.toStdString()));
    Plan next = plan.plan();
    next.layout = laid_out_as(next.layout, schedule);
    next.layout.schedule_file = path.toStdString();
    plan.relayout(next, PipelineFiles::tr("Pipeline to the list %1").arg(QFileInfo(path).fileName()));
    return {};
}

}  // namespace plimsoll::ui
