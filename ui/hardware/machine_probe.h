// SPDX-License-Identifier: GPL-3.0-or-later
// The hardware of this machine, queried on another thread (the GPU driver can be slow), and the facts that a plan takes
// from it.
#pragma once

#include <optional>
#include <QObject>

#include "core/plan/machine.h"
#include "core/plan/plan.h"
#include "ui/common/background.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

class PlanModel;

class MachineProbe : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    void start();
    const std::optional<Machine>& machine() const { return machine_; }
    /// Rows of fact and amount.
    QList<TextRow> rows() const;
    /// "two GPUs of this machine" …: name of the button that plans for the machine.
    QString planName() const;
    /// Puts the plan on this machine as one step: its GPUs where it has any, else CPU ranks.
    void planFor(PlanModel& model) const;

signals:
    void found();

private:
    Background probing_;
    std::optional<Machine> machine_;
};

/// Facts of the plan's GPU from the catalogue.
QList<TextRow> chosenGpuRows(const Cluster& cluster);

}  // namespace plimsoll::ui
