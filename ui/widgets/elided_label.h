// SPDX-License-Identifier: GPL-3.0-or-later
// A line of text that shrinks: cut with an ellipsis where there is no room, whole in the tooltip.
#pragma once

#include <QLabel>

namespace plimsoll::ui {

class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);

    QSize minimumSizeHint() const override { return {0, QLabel::minimumSizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace plimsoll::ui
