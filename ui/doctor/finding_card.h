// SPDX-License-Identifier: GPL-3.0-or-later
// One finding of the doctor: its severity, title and evidence, and each change with a button.
#pragma once

#include <QList>

#include "core/doctor/findings/diagnosis.h"
#include "ui/widgets/card.h"

class QPushButton;

namespace plimsoll::ui {

class DoctorModel;

class FindingCard : public Card {
    Q_OBJECT
public:
    FindingCard(const Finding& finding, DoctorModel* model, QWidget* parent = nullptr);

    const Finding& finding() const { return finding_; }
    QPushButton* applyButton(int change) const { return buttons_.value(change); }
    /// Updates whether each change is compatible with the current plan.
    void refresh();

private:
    void addChange(const FindingChange& change);

    Finding finding_;
    DoctorModel* model_;
    QList<QPushButton*> buttons_;
};

}  // namespace plimsoll::ui
