// SPDX-License-Identifier: GPL-3.0-or-later
// A number chosen with a slider among given stops: name, slider, value.
#pragma once

#include <QLabel>
#include <QSlider>

namespace plimsoll::ui {

class SliderRow : public QWidget {
    Q_OBJECT
public:
    SliderRow(const QString& name, const QString& help, std::vector<double> stops, QWidget* parent = nullptr);

    double value() const { return value_; }
    /// Shows a value unchanged, even between two stops, without a signal.
    void setValue(double value);
    QSlider* slider() const { return slider_; }

signals:
    void chosen(double value);  ///< by a person

private:
    void showValue();

    std::vector<double> stops_;
    double value_ = 0;
    QSlider* slider_;
    QLabel* shown_;
};

/// first, first + step … last.
std::vector<double> evenStops(double first, double last, double step);
/// Every number up to 8, then about eight a doubling.
std::vector<double> growingStops(int last);

}  // namespace plimsoll::ui
