// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/doctor/doctor_page.h"

#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QTextBrowser>

#include "core/base/json.h"
#include "core/doctor/findings/doctor_json.h"
#include "ui/doctor/finding_card.h"
#include "ui/widgets/card.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

DoctorPage::DoctorPage(PlanModel* plan, RunModel* run, QWidget* parent)
    : Page(tr("Doctor"), parent),
      model_(plan, run),
      subject_(new ComboBox(this)),
      summary_(new WrapLabel(this)),
      status_(new WrapLabel(this)),
      checklist_(new QTextBrowser(this)) {
    auto* left = addColumn(3);
    auto* head = new Card(tr("Check"), this);
    subject_->setAccessibleName(tr("What is examined"));
    subject_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    head->addToTitle(subject_);
    summary_->setFont(uiFont(1.5, true));
    status_->setProperty("tone", "muted");
    head->body()->addWidget(summary_);
    head->body()->addWidget(status_);
    left->addWidget(head);
    findings_ = new QVBoxLayout;
    findings_->setSpacing(12);
    left->addLayout(findings_);
    left->addStretch(1);

    auto* right = addColumn(2);
    auto* list = new Card(tr("Checklist"), this);
    list->setFact(tr("everything that is looked at"));
    checklist_->setFrameShape(QFrame::NoFrame);
    checklist_->setAccessibleName(tr("The checklist"));
    checklist_->setMinimumSize(320, 420);
    checklist_->document()->setDocumentMargin(0);
    checklist_->setStyleSheet(QStringLiteral("QTextBrowser { border: none; padding: 0; background: transparent; }"));
    list->body()->addWidget(checklist_, 1);
    right->addWidget(list, 1);

    connect(subject_, &QComboBox::activated, this,
            [this](int index) { model_.choose(static_cast<DoctorModel::Subject>(index)); });
    connect(&model_, &DoctorModel::changed, this, &DoctorPage::refresh);
}

QString DoctorPage::summary() const { return summary_->text(); }
QString DoctorPage::checklist() const { return checklist_->toPlainText(); }

FindingCard* DoctorPage::card(const QString& kind) const {
    for (FindingCard* card : cards_)
        if (QString::fromStdString(card->finding().kind) == kind) return card;
    return nullptr;
}

void DoctorPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    model_.setWatched(true);
    refresh();
}

void DoctorPage::hideEvent(QHideEvent* event) {
    model_.setWatched(false);
    Page::hideEvent(event);
}

void DoctorPage::changeEvent(QEvent* event) {
    Page::changeEvent(event);
    // The checklist's colours belong to the other theme.
    if (event->type() == QEvent::PaletteChange && model_.diagnosis()) showChecklist();
}

void DoctorPage::refreshSubject() {
    QStringList subjects{tr("The plan as it stands")};
    if (model_.hasRun()) subjects << tr("Run %1").arg(model_.runName());
    QStringList now;
    for (int i = 0; i < subject_->count(); ++i) now << subject_->itemText(i);
    if (now != subjects) {
        subject_->clear();
        subject_->addItems(subjects);
    }
    subject_->setCurrentIndex(static_cast<int>(model_.subject()));
}

QString DoctorPage::statusText() const {
    if (!model_.problem().isEmpty()) return model_.problem();
    if (!model_.diagnosis()) return tr("Looking…");
    if (model_.subject() == DoctorModel::Subject::Plan) return tr("Each change is one step that Ctrl+Z takes back.");
    if (model_.takesRunsPlan())
        return tr(
            "The plan is of another model: a change takes the run's own plan, as one step that Ctrl+Z takes back.");
    return tr("Changes go into the plan, for the next run: the one that is looked at keeps its own.");
}

void DoctorPage::refresh() {
    if (!isVisible()) return;
    refreshSubject();
    const Diagnosis* diagnosis = model_.diagnosis();
    status_->setText(statusText());
    summary_->setText(diagnosis ? summaryText(*diagnosis) : QString());
    summary_->setVisible(diagnosis != nullptr);
    if (!diagnosis) {
        // Until the new subject has a diagnosis, the findings of the old one are not shown.
        showFindings({});
        checklist_->clear();
        shown_ = Json();
        return;
    }
    Json json = to_json(*diagnosis);
    if (json != shown_) {
        shown_ = std::move(json);
        showFindings(*diagnosis);
        showChecklist();
    }
    for (FindingCard* card : cards_) card->refresh();
}

void DoctorPage::showFindings(const Diagnosis& diagnosis) {
    for (FindingCard* card : cards_) {
        findings_->removeWidget(card);
        card->hide();
        card->deleteLater();  // the pressed button may be in this card
    }
    cards_.clear();
    for (const Finding& finding : diagnosis.findings) {
        auto* card = new FindingCard(finding, &model_, this);
        findings_->addWidget(card);
        cards_.append(card);
    }
}

void DoctorPage::showChecklist() {
    const Theme& theme = Theme::of(palette());
    checklist_->setHtml(
        checklistHtml(*model_.diagnosis(), {theme.muted.name(), theme.good.name(), theme.water.name()}));
}

}  // namespace plimsoll::ui
