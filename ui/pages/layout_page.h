// SPDX-License-Identifier: GPL-3.0-or-later
// The Layout page: the numbers at the left; the pipeline, the memory by term and the rules of thumb at the right.
#pragma once

#include "ui/models/text_table.h"
#include "ui/pages/page.h"

class QComboBox;
class QItemSelectionModel;
class QLabel;

namespace plimsoll::ui {

class Card;
class Gantt;
class PlanModel;

class LayoutPage : public Page {
    Q_OBJECT
public:
    explicit LayoutPage(PlanModel* model, QWidget* parent = nullptr);

    Gantt* gantt() const { return gantt_; }
    const TextTable& terms() const { return terms_; }

signals:
    void pipelineRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeLeft();
    void makeMemory(QVBoxLayout* column);
    void makeLower(QVBoxLayout* column);
    void refresh();
    void refreshPipeline();
    void refreshStages();
    void refreshMemory();
    void refreshTerm();

    PlanModel* model_;
    TextTable terms_;
    TextTable recompute_;
    Card* layout_ = nullptr;
    Card* pipeline_ = nullptr;
    Card* memory_ = nullptr;
    Card* activations_ = nullptr;
    QLabel* batch_ = nullptr;
    Gantt* gantt_ = nullptr;
    QBoxLayout* lower_ = nullptr;
    QComboBox* stage_ = nullptr;
    QLabel* term_ = nullptr;  ///< formula and source of the chosen row, uncut
    QItemSelectionModel* chosen_ = nullptr;
};

}  // namespace plimsoll::ui
