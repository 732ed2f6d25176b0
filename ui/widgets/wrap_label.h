// SPDX-License-Identifier: GPL-3.0-or-later
// A paragraph that remembers its heights: QLabel lays its text out anew each time that a layout asks, which is dozens
// of times for each edit.
#pragma once

#include <QHash>
#include <QLabel>

namespace plimsoll::ui {

class WrapLabel : public QLabel {
    Q_OBJECT
public:
    explicit WrapLabel(QWidget* parent = nullptr);

    int heightForWidth(int width) const override;
    QSize sizeHint() const override;

protected:
    void changeEvent(QEvent* event) override;

private:
    mutable QHash<int, int> heights_;
    mutable QString measured_;  ///< the text to which the kept heights belong
};

}  // namespace plimsoll::ui
