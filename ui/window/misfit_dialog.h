// SPDX-License-Identifier: GPL-3.0-or-later
// Train on a plan that does not fit: asked before the ranks run out of memory.
#pragma once

#include <QDialog>

class QPushButton;

namespace plimsoll::ui {

class MisfitDialog : public QDialog {
    Q_OBJECT
public:
    /// `need`: "102 of 79.1 GiB".
    explicit MisfitDialog(const QString& need, QWidget* parent = nullptr);

    QPushButton* remediesButton() const { return remedies_; }
    QPushButton* trainButton() const { return train_; }
    QPushButton* cancelButton() const { return cancel_; }

signals:
    void remediesChosen();
    void trainChosen();

private:
    QPushButton* remedies_;
    QPushButton* train_;
    QPushButton* cancel_;
};

}  // namespace plimsoll::ui
