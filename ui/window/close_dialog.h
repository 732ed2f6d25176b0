// SPDX-License-Identifier: GPL-3.0-or-later
// Closing the window while a run is under way: the run goes on, unless the person stops it here.
#pragma once

#include <QDialog>

class QCheckBox;
class QPushButton;

namespace plimsoll::ui {

class CloseDialog : public QDialog {
    Q_OBJECT
public:
    CloseDialog(const QString& runName, QWidget* parent = nullptr);

    QPushButton* closeButton() const { return close_; }
    QPushButton* stopButton() const { return stop_; }
    QCheckBox* remember() const { return remember_; }

    /// Whether closing asks; the person can switch the question off.
    static bool wanted();
    static void setWanted(bool wanted);

signals:
    void closeChosen();
    void stopChosen();

private:
    QPushButton* close_;
    QPushButton* stop_;
    QCheckBox* remember_;
};

}  // namespace plimsoll::ui
