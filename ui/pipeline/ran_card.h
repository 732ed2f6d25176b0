// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline of a run as it happened, with the predicted one as outlines over it.
#pragma once

#include "ui/pipeline/ran_pipeline.h"
#include "ui/widgets/card.h"

class QComboBox;

namespace plimsoll::ui {

class Gantt;
class TimeSpan;
class WrapLabel;

class RanCard : public Card {
    Q_OBJECT
public:
    explicit RanCard(QWidget* parent = nullptr);

    RanPipelineModel* model() { return &model_; }
    QComboBox* runs() const { return runs_; }
    /// Chooses the prediction: from the run's own operation times, or by the step-time model.
    QComboBox* predictions() const { return predictions_; }
    Gantt* gantt() const { return gantt_; }
    QString words() const;

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void listRuns();
    void refresh();

    RanPipelineModel model_;
    TimeSpan* span_;
    QComboBox* runs_;
    QComboBox* predictions_;
    WrapLabel* words_;
    Gantt* gantt_;
};

}  // namespace plimsoll::ui
