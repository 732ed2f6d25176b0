// SPDX-License-Identifier: GPL-3.0-or-later
// The Hardware page: the GPU catalogue, the number of GPUs, and this machine's hardware.
#pragma once

#include "ui/hardware/machine_probe.h"
#include "ui/widgets/page.h"

class QPushButton;

namespace plimsoll::ui {

class Card;
class ChoiceTable;
class PlanModel;

class HardwarePage : public Page {
    Q_OBJECT
public:
    explicit HardwarePage(PlanModel* model, QWidget* parent = nullptr);

    bool hasField(const QString& key) const override;
    bool focusField(const QString& key) override;
    ChoiceTable* gpus() const { return gpus_; }

private:
    Card* factCard(const QString& title, TextTable* rows);
    void refresh();

    PlanModel* model_;
    MachineProbe probe_;
    TextTable gpu_rows_;
    TextTable chosen_rows_;
    TextTable machine_rows_;
    ChoiceTable* gpus_;
    Card* cluster_;
    Card* chosen_;
    QPushButton* here_;
};

}  // namespace plimsoll::ui
