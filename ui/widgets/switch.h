// SPDX-License-Identifier: GPL-3.0-or-later
// On or off: a check box drawn as a switch.
#pragma once

#include <QCheckBox>

namespace plimsoll::ui {

class Switch : public QCheckBox {
    Q_OBJECT
public:
    explicit Switch(QWidget* parent = nullptr);
    QSize sizeHint() const override { return {36, 22}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool hitButton(const QPoint& at) const override { return rect().contains(at); }
};

}  // namespace plimsoll::ui
