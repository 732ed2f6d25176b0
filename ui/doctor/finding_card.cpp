// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/doctor/finding_card.h"

#include <QHBoxLayout>
#include <QPushButton>

#include "ui/doctor/doctor_model.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int applyWidth = 68;  // one width, so that the texts beside the buttons are aligned

const char* toneOf(Severity severity) {
    return severity == Severity::Error ? "bad" : severity == Severity::Warning ? "warn" : "accent";
}

WrapLabel* words(const QString& text, QWidget* parent) {
    auto* label = new WrapLabel(parent);
    label->setText(text);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

}  // namespace

FindingCard::FindingCard(const Finding& finding, DoctorModel* model, QWidget* parent)
    : Card(severityText(finding.severity), parent), finding_(finding), model_(model) {
    setAccessibleName(QString::fromStdString(finding.title));
    setFact(QString::fromStdString(finding.kind));
    for (QLabel* label : findChildren<QLabel*>())
        if (label->property("strong").toBool())
            label->setProperty("tone", QString::fromLatin1(toneOf(finding.severity)));
    auto* title = words(QString::fromStdString(finding.title), this);
    title->setProperty("strong", true);
    body()->addWidget(title);
    for (const std::string& sentence : finding.evidence)
        body()->addWidget(words(QString::fromStdString(sentence), this));
    for (const FindingChange& change : finding_.changes) addChange(change);
    if (!finding.source.empty()) {
        auto* source = words(tr("Source: %1").arg(QString::fromStdString(finding.source)), this);
        source->setProperty("tone", "muted");
        body()->addWidget(source);
    }
    refresh();
}

void FindingCard::addChange(const FindingChange& change) {
    auto* row = new QHBoxLayout;
    row->setSpacing(10);
    auto* apply = new QPushButton(tr("Apply"), this);
    apply->setAccessibleName(tr("Apply %1").arg(settingsText(change)));
    apply->setToolTip(tr("Changes the plan as one step that can be undone"));
    apply->setMinimumWidth(applyWidth);
    if (buttons_.isEmpty()) apply->setProperty("primary", true);
    const int index = static_cast<int>(buttons_.size());
    connect(apply, &QPushButton::clicked, this,
            [this, index] { model_->apply(finding_, finding_.changes[static_cast<std::size_t>(index)]); });
    buttons_.append(apply);
    auto* text = new QVBoxLayout;
    text->setSpacing(0);
    auto* settings = words(settingsText(change), this);
    settings->setProperty("strong", true);
    auto* reason = words(QString::fromStdString(change.reason), this);
    reason->setProperty("tone", "muted");
    text->addWidget(settings);
    text->addWidget(reason);
    row->addWidget(apply, 0, Qt::AlignTop);
    row->addLayout(text, 1);
    body()->addLayout(row);
}

void FindingCard::refresh() {
    for (int i = 0; i < buttons_.size(); ++i)
        buttons_[i]->setEnabled(model_->fits(finding_.changes[static_cast<std::size_t>(i)]));
}

}  // namespace plimsoll::ui
