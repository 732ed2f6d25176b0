// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pipeline_files.h"

#include "core/base/file.h"
#include "core/schedule/chrome_trace.h"
#include "core/schedule/svg.h"

namespace plimsoll::ui {

Result<void> writePipeline(const Pipeline& pipeline, const QString& path) {
    const bool picture = path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive);
    return write_file_atomic(path.toStdString(), picture ? pipeline_svg(pipeline) : chrome_trace(pipeline));
}

}  // namespace plimsoll::ui
