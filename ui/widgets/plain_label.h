// SPDX-License-Identifier: GPL-3.0-or-later
// A label whose text is text: QLabel takes what looks like HTML for HTML and loads the pictures that it names.
#pragma once

#include <QLabel>

namespace plimsoll::ui {

/// The only kind of label for one line of text; a test forbids QLabel itself.
class PlainLabel : public QLabel {
    Q_OBJECT
public:
    explicit PlainLabel(QWidget* parent = nullptr) : PlainLabel(QString(), parent) {}
    explicit PlainLabel(const QString& text, QWidget* parent = nullptr) : QLabel(parent) {
        setTextFormat(Qt::PlainText);
        setText(text);
    }
};

}  // namespace plimsoll::ui
