// SPDX-License-Identifier: GPL-3.0-or-later
// Two stacked bars on one scale: measured memory and predicted memory.
#pragma once

#include "ui/memory/measured_memory.h"
#include "ui/widgets/chart.h"

namespace plimsoll::ui {

class MeasuredBars : public Chart {
    Q_OBJECT
public:
    explicit MeasuredBars(QWidget* parent = nullptr);

    void setMemory(const MeasuredMemory& memory);
    const std::optional<MeasuredMemory>& memory() const { return memory_; }

    void writeTable(TableText& table) const override;
    QSize sizeHint() const override { return {240, 58}; }
    QSize minimumSizeHint() const override { return {160, 58}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Every kind with both figures and their difference; rich text.
    QString details() const;

    std::optional<MeasuredMemory> memory_;
};

}  // namespace plimsoll::ui
