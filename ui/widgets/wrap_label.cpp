// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int readable = 320;  // pixels; a layout's own width takes precedence

}  // namespace

WrapLabel::WrapLabel(QWidget* parent) : QLabel(parent) {
    setWordWrap(true);
    setTextFormat(Qt::PlainText);
}

int WrapLabel::heightForWidth(int width) const {
    if (measured_ != text()) {
        heights_.clear();
        measured_ = text();
    }
    const auto known = heights_.constFind(width);
    if (known != heights_.cend()) return *known;
    const int height = QLabel::heightForWidth(width);
    heights_.insert(width, height);
    return height;
}

QSize WrapLabel::sizeHint() const { return {readable, heightForWidth(readable)}; }

void WrapLabel::changeEvent(QEvent* event) {
    // Another font, another style.
    heights_.clear();
    QLabel::changeEvent(event);
}

}  // namespace plimsoll::ui
