// SPDX-License-Identifier: GPL-3.0-or-later
// One finding of the doctor: how bad it is, what it is, the evidence, and each change with a button.
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
    /// Whether each change goes with the plan as it stands.
    void refresh();

private:
    void addChange(const FindingChange& change);

    Finding finding_;
    DoctorModel* model_;
    QList<QPushButton*> buttons_;
};

}  // namespace plimsoll::ui
