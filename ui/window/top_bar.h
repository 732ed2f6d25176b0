// SPDX-License-Identifier: GPL-3.0-or-later
// The bar at the top: what is planned, the search, undo, redo, export, train.
#pragma once

#include <QHBoxLayout>
#include <QWidget>

class QAction;
class QMenu;
class QPushButton;

namespace plimsoll::ui {

class ElidedLabel;
class PlanModel;
class RunControls;
class SearchField;

class TopBar : public QWidget {
    Q_OBJECT
public:
    TopBar(PlanModel* model, RunControls* controls, QMenu* menu, QWidget* parent = nullptr);

    SearchField* search() const { return search_; }
    /// The plan in a line: cut with an ellipsis where there is no room, whole in the tooltip.
    ElidedLabel* summary() const { return summary_; }
    /// A button that does what the action does.
    void addButton(QAction* action, const QString& text);

private:
    void refresh();

    PlanModel* model_;
    RunControls* controls_;
    ElidedLabel* summary_;
    SearchField* search_;
    QHBoxLayout* buttons_;
    QWidget* last_;  ///< where Tab stands before the next button
};

}  // namespace plimsoll::ui
