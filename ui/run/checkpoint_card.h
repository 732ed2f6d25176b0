// SPDX-License-Identifier: GPL-3.0-or-later
// The checkpoints of the chosen run: size, step and loss, export, and a new run from one of them.
#pragma once

#include "ui/run/checkpoint_model.h"
#include "ui/widgets/card.h"

class QProgressBar;
class QPushButton;
class QToolButton;

namespace plimsoll::ui {

class FactTable;

class CheckpointCard : public Card {
    Q_OBJECT
public:
    explicit CheckpointCard(QWidget* parent = nullptr);

    void open(const QString& runPath) { model_.open(runPath); }
    CheckpointModel* model() { return &model_; }
    FactTable* table() const { return table_; }
    QPushButton* forkButton() const { return fork_; }
    QToolButton* exportButton() const { return export_; }

signals:
    /// A new plan that begins with the weights of that checkpoint.
    void forkRequested(const plimsoll::Plan& plan);
    void done(const QString& sentence);
    void failed(const QString& sentence);

private:
    void refresh();
    int chosenRow() const;
    void askForFolder(CheckpointExport kind);

    CheckpointModel model_;
    FactTable* table_;
    QPushButton* fork_;
    QToolButton* export_;
    QAction* peft_;
    QProgressBar* progress_;
    QPushButton* cancel_;
};

}  // namespace plimsoll::ui
