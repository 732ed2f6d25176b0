// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/slider_row.h"
#include "ui/widgets/plain_label.h"

#include <algorithm>
#include <cmath>
#include <QHBoxLayout>
#include <QLocale>
#include <QWheelEvent>

namespace plimsoll::ui {

namespace {

/// The wheel scrolls the page unless the slider has the focus.
class QuietSlider : public QSlider {
public:
    explicit QuietSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {}

protected:
    void wheelEvent(QWheelEvent* event) override {
        if (hasFocus())
            QSlider::wheelEvent(event);
        else
            event->ignore();
    }
};

}  // namespace

SliderRow::SliderRow(const QString& name, const QString& help, std::vector<double> stops, QWidget* parent)
    : QWidget(parent), stops_(std::move(stops)), slider_(new QuietSlider(this)), shown_(new PlainLabel(this)) {
    auto* label = new PlainLabel(name, this);
    label->setBuddy(slider_);
    for (QWidget* widget : {static_cast<QWidget*>(label), static_cast<QWidget*>(slider_)}) widget->setToolTip(help);
    label->setFixedWidth(92);
    shown_->setFixedWidth(34);
    shown_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    slider_->setAccessibleName(name);
    slider_->setAccessibleDescription(help);
    slider_->setRange(0, static_cast<int>(stops_.size()) - 1);
    slider_->setPageStep(4);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    row->addWidget(label);
    row->addWidget(slider_, 1);
    row->addWidget(shown_);
    connect(slider_, &QSlider::valueChanged, this, [this](int at) {
        value_ = stops_[static_cast<std::size_t>(at)];
        showValue();
        emit chosen(value_);
    });
    value_ = stops_.front();
    showValue();
}

void SliderRow::setValue(double value) {
    value_ = value;
    const auto nearest = std::min_element(stops_.begin(), stops_.end(), [value](double a, double b) {
        return std::abs(a - value) < std::abs(b - value);
    });
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(nearest - stops_.begin()));
    showValue();
}

void SliderRow::showValue() { shown_->setText(QLocale().toString(value_, 'g', 5)); }

std::vector<double> evenStops(double first, double last, double step) {
    std::vector<double> stops;
    const auto count = static_cast<int>(std::lround((last - first) / step));
    // Whole hundredths: 0.3, not 0.30000000000000004.
    for (int i = 0; i <= count; ++i) stops.push_back(std::round((first + i * step) * 100) / 100);
    return stops;
}

std::vector<double> growingStops(int last) {
    std::vector<double> stops;
    for (int value = 1, step = 1; value <= last; value += step) {
        stops.push_back(value);
        if (value >= 16 * step) step *= 2;
    }
    return stops;
}

}  // namespace plimsoll::ui
