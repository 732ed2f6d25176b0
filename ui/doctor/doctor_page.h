// SPDX-License-Identifier: GPL-3.0-or-later
// The Doctor page: findings on the plan or the open run, card by card, beside the whole checklist.
#pragma once

#include <QList>

#include "core/base/json.h"
#include "ui/doctor/doctor_model.h"
#include "ui/widgets/page.h"

class QComboBox;
class QLabel;
class QTextBrowser;

namespace plimsoll::ui {

class Card;
class FindingCard;

class DoctorPage : public Page {
    Q_OBJECT
public:
    DoctorPage(PlanModel* plan, RunModel* run, QWidget* parent = nullptr);

    DoctorModel* model() { return &model_; }
    QComboBox* subject() const { return subject_; }
    QString summary() const;
    QString checklist() const;  ///< without its markup
    const QList<FindingCard*>& cards() const { return cards_; }
    /// The card of a finding's kind; null where nothing of that kind was found.
    FindingCard* card(const QString& kind) const;

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    QString statusText() const;
    void refreshSubject();
    void showFindings(const Diagnosis& diagnosis);
    void showChecklist();

    DoctorModel model_;
    QComboBox* subject_;
    QLabel* summary_;
    QLabel* status_;
    QVBoxLayout* findings_;
    QTextBrowser* checklist_;
    QList<FindingCard*> cards_;
    Json shown_;  ///< the diagnosis on the page
};

}  // namespace plimsoll::ui
