// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_export.h"

#include <QFileDialog>
#include <QMenu>

#include "ui/widgets/chart.h"

namespace plimsoll::ui {

PipelineExport::PipelineExport(Chart* chart, std::function<std::shared_ptr<const Pipeline>()> shown, QWidget* parent)
    : QToolButton(parent), chart_(chart), shown_(std::move(shown)) {
    setText(tr("Save…"));
    setAccessibleName(tr("Save the pipeline"));
    setProperty("quiet", true);
    setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(this);
    menu->setAccessibleName(accessibleName());
    connect(menu->addAction(tr("Picture (PNG)…")), &QAction::triggered, this, [this] {
        ask(std::nullopt, tr("Save the picture"), QStringLiteral("pipeline.png"), tr("Pictures (*.png)"));
    });
    connect(menu->addAction(tr("Drawing (SVG)…")), &QAction::triggered, this, [this] {
        ask(PipelineFile::Drawing, tr("Save the drawing"), QStringLiteral("pipeline.svg"), tr("Drawings (*.svg)"));
    });
    connect(menu->addAction(tr("Chrome trace (JSON, for Perfetto)…")), &QAction::triggered, this, [this] {
        ask(PipelineFile::Trace, tr("Save the trace"), QStringLiteral("pipeline-trace.json"), tr("Traces (*.json)"));
    });
    connect(menu->addAction(tr("List of operations (JSON, to change and follow)…")), &QAction::triggered, this, [this] {
        ask(PipelineFile::List, tr("Save the list"), QStringLiteral("pipeline-list.json"), tr("Lists (*.json)"));
    });
    setMenu(menu);
}

void PipelineExport::ask(std::optional<PipelineFile> kind, const QString& title, const QString& name,
                         const QString& filter) {
    const std::shared_ptr<const Pipeline> pipeline = shown_();
    if (!pipeline) return;
    const QString path = QFileDialog::getSaveFileName(window(), title, name, filter);
    if (path.isEmpty()) return;
    if (!kind) {
        if (!chart_->saveTo(path))
            emit failed(tr("%1 cannot be written; is there room, and may you write there?").arg(path));
    } else if (const Result<void> written = writePipeline(*pipeline, *kind, path); !written) {
        emit failed(QString::fromStdString(written.error().message));
    }
}

}  // namespace plimsoll::ui
