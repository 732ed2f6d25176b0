// SPDX-License-Identifier: GPL-3.0-or-later
// Going on with more steps than a run was planned for: how many, and how the learning rate goes on.
#pragma once

#include <QDialog>

#include "core/plan/plan.h"

class QButtonGroup;
class QLabel;
class QLineEdit;
class QPushButton;

namespace plimsoll::ui {

class CurveView;

class MoreStepsDialog : public QDialog {
    Q_OBJECT
public:
    /// `recorded`: the run's plan; `done`: the steps it has made.
    MoreStepsDialog(const QString& runName, const Plan& recorded, std::int64_t done, QWidget* parent = nullptr);

    QLineEdit* steps() const { return steps_; }
    QButtonGroup* ways() const { return ways_; }
    QPushButton* goButton() const { return go_; }
    QLabel* sentence() const { return sentence_; }
    std::int64_t wantedSteps() const;
    LrExtension way() const;

signals:
    void chosen(std::int64_t steps, plimsoll::LrExtension how);

private:
    void refresh();

    Plan recorded_;
    std::int64_t done_;
    QLineEdit* steps_;
    QButtonGroup* ways_;
    CurveView* curve_;
    QLabel* sentence_;
    QPushButton* go_;
};

}  // namespace plimsoll::ui
