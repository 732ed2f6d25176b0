// SPDX-License-Identifier: GPL-3.0-or-later
// Help (F1): the way through the studio in a few sentences, and every shortcut.
#pragma once

#include <QDialog>

class QAction;

namespace plimsoll::ui {

class HelpDialog : public QDialog {
    Q_OBJECT
public:
    explicit HelpDialog(const QList<QAction*>& actions, QWidget* parent = nullptr);
};

}  // namespace plimsoll::ui
