// SPDX-License-Identifier: GPL-3.0-or-later
// The panel above the waterline: why the plan does or does not fit, and changes with which it fits, one click each.
#pragma once

#include <QFrame>

#include "ui/waterline/remedies_model.h"

class QLabel;
class QPushButton;
class QTableView;

namespace plimsoll::ui {

class FactTable;
class PlanModel;

class RemediesPanel : public QFrame {
    Q_OBJECT
public:
    explicit RemediesPanel(PlanModel* plan, QWidget* parent = nullptr);

    RemediesModel* model() { return &model_; }
    QString why() const;
    QTableView* table() const;
    QPushButton* applySet() const { return apply_set_; }

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    QWidget* makeWords();
    void applyRow(int row);
    void refresh();

    PlanModel* plan_;
    RemediesModel model_;
    TextTable rows_;
    QLabel* why_;
    QLabel* set_title_;
    QLabel* set_;
    QLabel* table_title_;
    QPushButton* apply_set_;
    FactTable* table_;
};

}  // namespace plimsoll::ui
