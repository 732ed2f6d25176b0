// SPDX-License-Identifier: GPL-3.0-or-later
// The Layout page: the numbers at the left; the pipeline, the memory by term and the rules of thumb at the right.
#pragma once

#include "ui/common/text_table.h"
#include "ui/waterline/term_comparison.h"
#include "ui/widgets/page.h"

class QComboBox;
class QLabel;
class QPushButton;

namespace plimsoll::ui {

class Card;
class FactTable;
class Gantt;
class PlanModel;
class TimeBar;

class LayoutPage : public Page {
    Q_OBJECT
public:
    explicit LayoutPage(PlanModel* model, QWidget* parent = nullptr);

    Gantt* gantt() const { return gantt_; }
    /// The bar of the step's time by part.
    TimeBar* time() const { return time_; }
    const TextTable& terms() const { return terms_; }
    const TextTable& comparison() const { return comparison_; }
    /// The cards whose figures belong to the last possible plan.
    QList<Card*> staleCards() const;
    /// Keeps the current memory to compare later edits with; or forgets it.
    QPushButton* keepBaseline() const { return keep_; }

signals:
    void pipelineRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeLeft();
    void makeMemory(QVBoxLayout* column);
    FactTable* makeTermTable(const QString& name, TextTable* rows, int formulaColumn);
    void setBaseline(bool kept);
    void makeLower(QVBoxLayout* column);
    void refresh();
    void refreshPipeline();
    void refreshTime();
    void refreshStages();
    void refreshMemory();
    void refreshTerm();

    PlanModel* model_;
    TextTable terms_;
    TextTable comparison_;
    TextTable recompute_;
    std::optional<MemoryBaseline> baseline_;
    Card* layout_ = nullptr;
    Card* pipeline_ = nullptr;
    Card* step_ = nullptr;
    Card* memory_ = nullptr;
    Card* activations_ = nullptr;
    QLabel* batch_ = nullptr;
    Gantt* gantt_ = nullptr;
    TimeBar* time_ = nullptr;
    QBoxLayout* lower_ = nullptr;
    QComboBox* stage_ = nullptr;
    QLabel* term_ = nullptr;  ///< formula and source of the chosen row, uncut
    QPushButton* keep_ = nullptr;
    QLabel* kept_ = nullptr;
    FactTable* term_table_ = nullptr;
    FactTable* comparison_table_ = nullptr;
};

}  // namespace plimsoll::ui
