// SPDX-License-Identifier: GPL-3.0-or-later
// The form of the search: objective, budget, and the values that each dimension may take.
#pragma once

#include <QCheckBox>
#include <QHash>
#include <QLineEdit>
#include <QWidget>

#include "ui/planner/planner_field.h"

class QComboBox;
class QGridLayout;
class QLabel;

namespace plimsoll::ui {

class Card;
class PlannerModel;
class Switch;

class PlannerForm : public QWidget {
    Q_OBJECT
public:
    explicit PlannerForm(PlannerModel* model, QWidget* parent = nullptr);

    QComboBox* objective() const { return objective_; }
    QLineEdit* field(PlannerField field) const { return lines_.value(field).line; }
    /// "" while the field's text can be read.
    QString problem(PlannerField field) const;
    QCheckBox* option(PlannerSet set, int index) const { return options_.value(set).value(index); }

private:
    struct Line {
        QLineEdit* line = nullptr;
        QLabel* problem = nullptr;
    };
    void makeGoal(Card* card);
    void addField(PlannerField field, Card* card);
    void addSet(PlannerSet set, Card* card);
    void read(PlannerField field, const QString& typed);
    void allow(PlannerSet set);
    void refresh();

    PlannerModel* model_;
    QComboBox* objective_;
    Switch* fewer_;
    QLabel* sequence_;
    QLabel* set_problem_;
    QHash<PlannerField, Line> lines_;
    QHash<PlannerSet, QList<QCheckBox*>> options_;
};

}  // namespace plimsoll::ui
