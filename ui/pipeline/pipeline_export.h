// SPDX-License-Identifier: GPL-3.0-or-later
// The button that writes the shown pipeline to a file: picture, drawing, trace or list of operations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <QToolButton>

#include "ui/pipeline/pipeline_files.h"

namespace plimsoll::ui {

class Chart;

class PipelineExport : public QToolButton {
    Q_OBJECT
public:
    /// `chart` is the picture; `shown` gives the pipeline, null when there is none.
    PipelineExport(Chart* chart, std::function<std::shared_ptr<const Pipeline>()> shown, QWidget* parent = nullptr);

signals:
    void failed(const QString& sentence);

private:
    /// Asks for a file name and writes the file; without a kind it is a picture of the chart.
    void ask(std::optional<PipelineFile> kind, const QString& title, const QString& name, const QString& filter);

    Chart* chart_;
    std::function<std::shared_ptr<const Pipeline>()> shown_;
};

}  // namespace plimsoll::ui
