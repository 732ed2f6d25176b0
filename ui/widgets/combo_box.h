// SPDX-License-Identifier: GPL-3.0-or-later
// A combo box with a plain arrow, which the wheel changes only while it has the focus (pages scroll under it).
#pragma once

#include <QComboBox>

namespace plimsoll::ui {

class ComboBox : public QComboBox {
    Q_OBJECT
public:
    explicit ComboBox(QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
};

}  // namespace plimsoll::ui
