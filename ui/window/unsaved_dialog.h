// SPDX-License-Identifier: GPL-3.0-or-later
// Another plan is to take the place of one with edits: save them, leave them, or stay.
#pragma once

#include <QDialog>

class QPushButton;

namespace plimsoll::ui {

class UnsavedDialog : public QDialog {
    Q_OBJECT
public:
    /// `plan`: what the person calls the plan.
    explicit UnsavedDialog(const QString& plan, QWidget* parent = nullptr);

    QPushButton* saveButton() const { return save_; }
    QPushButton* discardButton() const { return discard_; }
    QPushButton* cancelButton() const { return cancel_; }

signals:
    void saveChosen();
    void discardChosen();

private:
    QPushButton* save_;
    QPushButton* discard_;
    QPushButton* cancel_;
};

}  // namespace plimsoll::ui
