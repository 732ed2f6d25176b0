// SPDX-License-Identifier: GPL-3.0-or-later
// The Export page: the DeepSpeed config of the plan as it is now, to copy or to save.
#pragma once

#include "ui/pages/page.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace plimsoll::ui {

class Card;
class PlanModel;

class ExportPage : public Page {
    Q_OBJECT
public:
    explicit ExportPage(PlanModel* model, QWidget* parent = nullptr);

    QString text() const;
    /// The error says why nothing was written.
    bool saveTo(const QString& path);

signals:
    void failed(const QString& sentence);
    void done(const QString& sentence);

private:
    void copy();
    void askAndSave();
    void refresh();

    PlanModel* model_;
    QPlainTextEdit* text_;
    QLabel* notes_;
    Card* file_;
    QPushButton* copy_;
    QPushButton* save_;
};

}  // namespace plimsoll::ui
