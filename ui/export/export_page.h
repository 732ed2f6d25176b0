// SPDX-License-Identifier: GPL-3.0-or-later
// The Export page: the current plan in the format of another tool, to copy or to save, and a check of DeepSpeed configs
// from elsewhere.
#pragma once

#include <QStringListModel>

#include "ui/export/export_text.h"
#include "ui/widgets/page.h"

class QComboBox;
class QLabel;
class QListView;
class QPlainTextEdit;
class QPushButton;

namespace plimsoll::ui {

class Card;
class FieldForm;
class LintCard;

class ExportPage : public Page {
    Q_OBJECT
public:
    explicit ExportPage(PlanModel* model, QWidget* parent = nullptr);

    QListView* targets() const { return targets_; }
    QComboBox* programs() const { return programs_; }
    LintCard* lint() const { return lint_; }
    QString text() const;
    QString notes() const;
    /// The error says why nothing was written.
    bool saveTo(const QString& path);

signals:
    void failed(const QString& sentence);
    void done(const QString& sentence);

private:
    const ExportChoice& choice() const;
    /// What the launcher starts; empty: train.py, or no launcher.
    QString program() const;
    void build();
    void copy();
    void askAndSave();
    void refresh();

    PlanModel* model_;
    QStringListModel titles_;
    QListView* targets_;
    QComboBox* programs_;
    FieldForm* release_;
    QPlainTextEdit* text_;
    QLabel* notes_;
    Card* file_;
    LintCard* lint_;
    QPushButton* copy_;
    QPushButton* save_;
};

}  // namespace plimsoll::ui
