// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/start_page.h"

#include <QPushButton>

#include "core/plan/presets.h"
#include "ui/common/escaped_text.h"
#include "ui/run/run_list_model.h"
#include "ui/widgets/card.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int mostShown = 6;

}  // namespace

StartPage::StartPage(QWidget* parent) : Page(tr("Start"), parent), ways_(new QHBoxLayout) {
    QVBoxLayout* column = addColumn(1);
    auto* head = new PlainLabel(tr("What would you like to do?"), this);
    head->setFont(uiFont(4, true));
    column->addWidget(head);
    column->addLayout(ways_);
    ways_->setSpacing(12);
    fit_ = addWay(
        tr("Does it fit?"),
        tr("Choose a model and GPUs: memory, step time and the best parallel layout at once, without a GPU here. "
           "Example: LLaMA-7B on four A100 80GB."),
        tr("Choose a model"));
    fine_tune_ =
        addWay(tr("Fine-tune a real model"),
               tr("Take a Hugging Face checkpoint from a folder and train a LoRA adapter on your text. Example: a "
                  "folder with config.json and model.safetensors."),
               tr("Choose the folder…"));
    demo_ =
        addWay(tr("Watch the demo train"),
               tr("A tiny LLaMA on two CPU ranks of this machine, in a few minutes: loss, gradient norms, memory and "
                  "text samples, live."),
               tr("Train the demo"));
    connect(fit_, &QPushButton::clicked, this, &StartPage::fitRequested);
    connect(fine_tune_, &QPushButton::clicked, this, &StartPage::fineTuneRequested);
    connect(demo_, &QPushButton::clicked, this, &StartPage::demoRequested);

    lists_ = new QBoxLayout(QBoxLayout::LeftToRight);
    lists_->setSpacing(12);
    plans_ = new Card(tr("Recent plans"), this);
    examples_ = new Card(tr("Example plans"), this);
    runs_ = new Card(tr("Recent runs"), this);
    for (Card* card : {plans_, examples_, runs_}) lists_->addWidget(card, 1, Qt::AlignTop);
    column->addLayout(lists_);
    column->addStretch(1);
    for (const std::string& name : plan_preset_names()) {
        const Result<Plan> plan = plan_preset(name);
        if (!plan) continue;
        const QString preset = QString::fromStdString(name);
        addLink(examples_, QString::fromStdString(plan->name), preset, [this, preset] { emit planRequested(preset); });
    }
}

QPushButton* StartPage::addWay(const QString& title, const QString& words, const QString& action) {
    auto* card = new Card(title, this);
    auto* text = new WrapLabel(card);
    text->setText(words);
    text->setProperty("tone", "muted");
    text->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    auto* button = new QPushButton(action, card);
    button->setProperty("primary", true);
    button->setAccessibleName(QStringLiteral("%1: %2").arg(title, action));
    card->body()->addWidget(text, 1);
    card->body()->addWidget(button, 0, Qt::AlignLeft);
    ways_->addWidget(card, 1);
    return button;
}

void StartPage::clear(Card* card) {
    for (QPushButton* link : card->findChildren<QPushButton*>()) {
        link->hide();
        link->deleteLater();
    }
}

void StartPage::addLink(Card* card, const QString& text, const QString& tip, const std::function<void()>& open) {
    auto* link = new QPushButton(text, card);
    link->setProperty("link", true);
    link->setAccessibleName(text);
    link->setToolTip(plainTip(tip));
    link->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    card->body()->addWidget(link);
    connect(link, &QPushButton::clicked, this, open);
}

void StartPage::setRecent(const QStringList& plans, const RunListModel& runs) {
    clear(plans_);
    clear(runs_);
    for (const QString& path : plans.mid(0, mostShown))
        addLink(plans_, path.section(QLatin1Char('/'), -1), path, [this, path] { emit planRequested(path); });
    plans_->setFact(plans.isEmpty() ? tr("none yet") : QString());
    for (int row = 0; row < std::min(runs.rowCount(), mostShown); ++row) {
        const QModelIndex index = runs.index(row);
        const QString path = index.data(RunListModel::PathRole).toString();
        addLink(runs_,
                QStringLiteral("%1 · %2").arg(index.data(RunListModel::NameRole).toString(),
                                              runs.index(row, RunListModel::Status).data().toString()),
                path, [this, path] { emit runRequested(path); });
    }
    runs_->setFact(runs.rowCount() == 0 ? tr("none yet") : QString());
}

void StartPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    emit shown();
}

void StartPage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    ways_->setDirection(viewport()->width() < 640 ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    // Names of plans are long, and a link has no second line.
    const bool narrow = viewport()->width() < 1100;
    lists_->setDirection(narrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    for (Card* card : {plans_, examples_, runs_}) lists_->setAlignment(card, narrow ? Qt::Alignment() : Qt::AlignTop);
}

}  // namespace plimsoll::ui
