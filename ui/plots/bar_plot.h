// SPDX-License-Identifier: GPL-3.0-or-later
// A small bar chart with the value under the mouse: one figure per layer.
#pragma once

#include <vector>

#include "ui/common/value_format.h"
#include "ui/widgets/chart.h"

namespace plimsoll::ui {

struct Bar {
    QString name;
    double value = 0;  ///< NaN and infinities are drawn as marks at full height
};

class BarPlot : public Chart {
    Q_OBJECT
public:
    BarPlot(const QString& title, int category, ValueKind kind, QWidget* parent = nullptr);

    const std::vector<Bar>& bars() const { return bars_; }
    void setBars(std::vector<Bar> bars);
    void setEmptyText(const QString& text);

    void writeTable(TableText& table) const override;

    QSize sizeHint() const override { return {240, 110}; }
    QSize minimumSizeHint() const override { return {120, 72}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QRectF area() const;
    QRectF slot(std::size_t index) const;
    QString describe(std::size_t index) const;

    std::vector<Bar> bars_;
    int category_;
    ValueKind kind_;
    QString empty_text_;
    int selected_ = -1;  ///< by keyboard
};

}  // namespace plimsoll::ui
