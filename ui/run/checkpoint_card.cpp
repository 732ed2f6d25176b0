// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/checkpoint_card.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QToolButton>

#include "core/plan/adapter.h"
#include "core/run/continued_run.h"
#include "ui/widgets/fact_table.h"

namespace plimsoll::ui {

CheckpointCard::CheckpointCard(QWidget* parent)
    : Card(tr("Checkpoints"), parent),
      table_(new FactTable(tr("Checkpoints"), this)),
      fork_(new QPushButton(tr("Use as start"), this)),
      export_(new QToolButton(this)),
      progress_(new QProgressBar(this)),
      cancel_(new QPushButton(tr("Cancel the export"), this)) {
    table_->setModel(model_.table());
    table_->setStretch(3);
    table_->setMinimumHeight(140);
    fork_->setAccessibleName(tr("Start a new run from this checkpoint"));
    fork_->setToolTip(
        tr("A new plan like this run's that begins at step 0 with the weights of the checkpoint: edit it, then Train"));
    export_->setText(tr("Export ▾"));
    export_->setAccessibleName(tr("Export this checkpoint"));
    export_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(export_);
    menu->setAccessibleName(tr("Export this checkpoint"));
    menu->addAction(tr("For Hugging Face transformers…"), this,
                    [this] { askForFolder(CheckpointExport::HuggingFace); });
    peft_ = menu->addAction(tr("LoRA adapter for PEFT…"), this, [this] { askForFolder(CheckpointExport::Peft); });
    export_->setMenu(menu);
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Exported"));
    cancel_->setProperty("link", true);
    cancel_->setAccessibleName(cancel_->text());

    auto* buttons = new QHBoxLayout;
    buttons->addWidget(fork_);
    buttons->addWidget(export_);
    buttons->addWidget(progress_, 1);
    buttons->addWidget(cancel_);
    buttons->addStretch(0);
    body()->addWidget(table_, 1);
    body()->addLayout(buttons);

    connect(fork_, &QPushButton::clicked, this, [this] {
        const ListedCheckpoint* chosen = model_.checkpoint(chosenRow());
        if (chosen && model_.plan()) emit forkRequested(forked_plan(*model_.plan(), *chosen));
    });
    connect(cancel_, &QPushButton::clicked, &model_, &CheckpointModel::cancelExport);
    connect(&model_, &CheckpointModel::listed, this, [this] {
        if (!model_.checkpoints().empty() && chosenRow() < 0) table_->selectRow(0);
        refresh();
    });
    connect(&model_, &CheckpointModel::exportingChanged, this, &CheckpointCard::refresh);
    connect(&model_, &CheckpointModel::progressed, this,
            [this](double share) { progress_->setValue(static_cast<int>(share * 100)); });
    connect(&model_, &CheckpointModel::exported, this, &CheckpointCard::done);
    connect(&model_, &CheckpointModel::failed, this, &CheckpointCard::failed);
    connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &CheckpointCard::refresh);
    refresh();
}

int CheckpointCard::chosenRow() const {
    const QModelIndexList rows = table_->selectionModel()->selectedRows();
    return rows.isEmpty() ? -1 : rows.first().row();
}

void CheckpointCard::refresh() {
    const auto count = static_cast<int>(model_.checkpoints().size());
    setFact(count == 0 ? tr("none yet") : count == 1 ? tr("1 checkpoint") : tr("%1 checkpoints").arg(count));
    const ListedCheckpoint* chosen = model_.checkpoint(chosenRow());
    const bool usable = chosen && chosen->complete && model_.plan();
    fork_->setEnabled(usable);
    export_->setEnabled(usable && !model_.isExporting());
    peft_->setEnabled(usable && adapts(*model_.plan()));
    progress_->setVisible(model_.isExporting());
    cancel_->setVisible(model_.isExporting());
    if (!model_.isExporting()) progress_->setValue(0);
}

void CheckpointCard::askForFolder(CheckpointExport kind) {
    const ListedCheckpoint* chosen = model_.checkpoint(chosenRow());
    if (!chosen) return;
    const QString name = QStringLiteral("%1-step-%2-%3")
                             .arg(QFileInfo(model_.runPath()).fileName())
                             .arg(chosen->step)
                             .arg(kind == CheckpointExport::Peft ? QStringLiteral("adapter") : QStringLiteral("hf"));
    const QString out = QFileDialog::getSaveFileName(this, tr("Name of the new folder"), name);
    if (!out.isEmpty()) model_.exportTo(chosenRow(), kind, out);
}

}  // namespace plimsoll::ui
