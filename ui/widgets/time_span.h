// SPDX-License-Identifier: GPL-3.0-or-later
// The part of a timeline that the charts over the same time show together.
#pragma once

#include <QObject>

namespace plimsoll::ui {

class TimeSpan : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Sets the whole span to 0 … `whole`. The zoomed part stays, as far as it still lies inside.
    void setWhole(double whole);
    double whole() const { return whole_; }
    double from() const { return from_; }
    double to() const { return to_; }
    double width() const { return to_ - from_; }
    bool isWhole() const { return from_ <= 0 && to_ >= whole_; }

    /// `factor` under 1 zooms in; the time `at` keeps its place.
    void zoom(double factor, double at);
    void pan(double by);
    void show(double from, double to);
    void showWhole() { show(0, whole_); }

signals:
    void changed();

private:
    double whole_ = 1, from_ = 0, to_ = 1;
};

}  // namespace plimsoll::ui
