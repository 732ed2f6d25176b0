// SPDX-License-Identifier: GPL-3.0-or-later
// The waterline: always at the bottom, redrawn with each edit. The bars are at the left, the verdict in words and
// figures at the right.
#pragma once

#include <optional>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "ui/plan/plan_numbers.h"
#include "ui/waterline/waterline_bars.h"

namespace plimsoll::ui {

class ComboBox;
class PlanModel;

class Waterline : public QWidget {
    Q_OBJECT
public:
    explicit Waterline(PlanModel* model, QWidget* parent = nullptr);

    /// Shows a run's plan in place of the edited one, named before the verdict; "" goes back. A run's memory is not the
    /// open plan's.
    void showRun(const QString& name, const std::optional<Plan>& plan);

    /// In a low window the sizes of the model move from a line of their own to the tooltip of the verdict.
    void setShort(bool isShort);

    WaterlineBarsView* bars() const { return bars_; }
    QString headline() const { return headline_->text(); }
    QString detail() const { return detail_->text(); }
    QString figures() const { return figures_->text(); }
    /// Parameters, tokens a step, model states.
    QString sizes() const { return states_->text(); }
    /// The step's time by part; rich text.
    QString timeDetails() const { return figures_->toolTip(); }
    QString range() const { return range_->text(); }
    ComboBox* frameworks() const { return frameworks_; }
    QPushButton* why() const { return why_; }
    /// What the figures of another framework do not follow: "2 notes", with their text as its tool tip.
    QLabel* notes() const { return notes_; }

signals:
    /// The person wants to see the field with the problem.
    void fieldRequested(const QString& key);
    /// The person asks why the plan fits or not, and which changes would help.
    void remediesRequested();

private:
    void refresh();
    void showProblem();
    void setTone(const char* tone);

    PlanModel* model_;
    WaterlineBarsView* bars_;
    QLabel* headline_;
    QLabel* detail_;
    QLabel* range_;
    QLabel* figures_;
    QLabel* states_;
    QPushButton* why_;
    QLabel* notes_;
    QPushButton* show_;
    ComboBox* frameworks_;
    QString problem_key_;
    bool short_ = false;
    struct Shown {
        QString name;
        Plan plan;
        PlanNumbers numbers;
    };
    std::optional<Shown> run_;  ///< the run that is shown in place of the plan
};

}  // namespace plimsoll::ui
