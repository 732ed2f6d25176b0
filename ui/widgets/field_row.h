// SPDX-License-Identifier: GPL-3.0-or-later
// One field of the plan: label, editor, and the sentence about its problem.
#pragma once

#include <QLabel>
#include <QWidget>

#include "ui/common/plan_field.h"

class QComboBox;
class QLineEdit;

namespace plimsoll::ui {

class PlanModel;
class Switch;

class FieldRow : public QWidget {
    Q_OBJECT
public:
    /// `key` is a field of the plan; the kind of editor follows from it.
    FieldRow(PlanModel* model, const QString& key, QWidget* parent = nullptr);

    const QString& key() const { return field_.key; }
    QWidget* editor() const { return editor_; }
    /// "" while the field is right.
    QString problem() const { return problem_->text(); }
    /// Gives the editor the focus with all text selected, for the search. A row for an unused field is shown for it.
    void focusEditor();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeLine();
    void makeCombo(const QStringList& values, const QStringList& titles);
    void makeSwitch();
    void use(bool used);
    void refresh();
    void step(int by);

    PlanModel* model_;
    PlanField field_;
    QWidget* editor_ = nullptr;
    QLineEdit* line_ = nullptr;
    QComboBox* combo_ = nullptr;
    Switch* switch_ = nullptr;
    QLabel* problem_;
    bool typing_ = false;
    bool used_ = true;
};

/// Rows one under the other.
class FieldForm : public QWidget {
    Q_OBJECT
public:
    FieldForm(PlanModel* model, const QStringList& keys, QWidget* parent = nullptr);
};

}  // namespace plimsoll::ui
