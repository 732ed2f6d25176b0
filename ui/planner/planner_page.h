// SPDX-License-Identifier: GPL-3.0-or-later
// The Planner page: the form at the left; the best layouts, their plot, and one or two of them in full at the right.
#pragma once

#include "core/planner/neighbours.h"
#include "ui/planner/candidate_words.h"
#include "ui/planner/planner_model.h"
#include "ui/widgets/page.h"

namespace plimsoll::ui {

class Card;
class FactTable;
class ParetoPlot;
class PlanModel;
class PlannerDetails;
class PlannerForm;
class PlannerTable;
class WrapLabel;

class PlannerPage : public Page {
    Q_OBJECT
public:
    explicit PlannerPage(PlanModel* plan, QWidget* parent = nullptr);

    PlannerModel* model() { return &model_; }
    PlannerForm* form() const { return form_; }
    PlannerTable* table() const { return table_; }
    ParetoPlot* plot() const { return plot_; }
    PlannerDetails* details() const { return details_; }
    FactTable* sideBySide() const { return pair_table_; }
    FactTable* neighbours() const { return neighbour_table_; }
    FactTable* relaxations() const { return relaxation_table_; }
    /// Counts of the search, or why it found nothing.
    QString counts() const;

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void makeBest(QVBoxLayout* column);
    void makeMiddle(QVBoxLayout* column);
    void makePair(QVBoxLayout* column);
    void makeLower(QVBoxLayout* column);
    FactTable* addTable(const QString& name, TextTable* rows, int stretch, Card* card);
    void use(int row);
    void refresh();
    void refreshPlot();
    void refreshSelection();
    void refreshLists();
    void refreshState();

    PlanModel* plan_;
    PlannerModel model_;
    LayoutFigures present_;
    TextTable pair_, neighbours_, recommendations_, relaxations_;
    PlannerForm* form_ = nullptr;
    PlannerTable* table_ = nullptr;
    ParetoPlot* plot_ = nullptr;
    PlannerDetails* details_ = nullptr;
    Card *best_ = nullptr, *plot_card_ = nullptr, *pair_card_ = nullptr, *neighbour_card_ = nullptr,
         *recommendation_card_ = nullptr;
    WrapLabel *state_ = nullptr, *notes_ = nullptr;
    FactTable *pair_table_ = nullptr, *neighbour_table_ = nullptr, *recommendation_table_ = nullptr,
              *relaxation_table_ = nullptr;
    QBoxLayout* middle_ = nullptr;
    std::shared_ptr<const PlannerAnswer> shown_;
};

}  // namespace plimsoll::ui
