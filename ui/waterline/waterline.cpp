// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/waterline.h"

#include <QHBoxLayout>
#include <QStyle>
#include <QVBoxLayout>

#include "ui/common/escaped_text.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/time_parts.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

Waterline::Waterline(PlanModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      bars_(new WaterlineBarsView(this)),
      headline_(new WrapLabel(this)),
      detail_(new WrapLabel(this)),
      range_(new WrapLabel(this)),
      figures_(new WrapLabel(this)),
      states_(new WrapLabel(this)),
      why_(new QPushButton(this)),
      notes_(new PlainLabel(this)),
      show_(new QPushButton(tr("Show the field"), this)),
      frameworks_(new ComboBox(this)) {
    setObjectName(QStringLiteral("Waterline"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Waterline"));
    headline_->setFont(uiFont(1.5, true));
    headline_->setAccessibleName(tr("Verdict"));
    range_->setAccessibleName(tr("Range"));
    for (QLabel* label : {detail_, range_, states_}) label->setProperty("tone", "muted");
    figures_->setTextFormat(Qt::RichText);
    figures_->setAccessibleName(tr("Figures"));
    figures_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    for (QPushButton* link : {why_, show_}) link->setProperty("link", true);
    why_->setAccessibleName(tr("How to make it fit"));
    show_->setAccessibleName(tr("Show the field that is wrong"));

    notes_->setAccessibleName(tr("Notes on these figures"));
    notes_->setProperty("tone", "muted");

    frameworks_->setAccessibleName(tr("Framework"));
    frameworks_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    range_->setToolTip(
        tr("Where 95 % of measured peaks lie for such an estimate, and how likely the peak exceeds the usable memory"));
    frameworks_->setToolTip(tr("Whose memory is shown: each framework has its own copies and buffers"));
    for (const Framework framework : plimsoll::frameworks)
        frameworks_->addItem(tr("Memory model: %1").arg(frameworkTitle(framework)), static_cast<int>(framework));

    auto* words = new QVBoxLayout;
    words->setSpacing(3);
    words->addWidget(headline_);
    words->addWidget(detail_);
    words->addWidget(range_);
    words->addWidget(figures_);
    words->addWidget(states_);
    auto* links = new QHBoxLayout;
    links->addWidget(why_);
    links->addWidget(notes_);
    links->addStretch(1);
    links->addWidget(frameworks_);
    words->addLayout(links);
    words->addWidget(show_, 0, Qt::AlignLeft);
    words->addStretch(1);
    auto* side = new QWidget(this);
    side->setMinimumWidth(372);
    side->setMaximumWidth(444);
    side->setLayout(words);
    words->setContentsMargins(0, 0, 0, 0);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 8, 16, 8);
    row->setSpacing(20);
    row->addWidget(bars_, 3);
    row->addWidget(side, 2);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);

    connect(model_, &PlanModel::changed, this, &Waterline::refresh);
    connect(why_, &QPushButton::clicked, this, &Waterline::remediesRequested);
    connect(frameworks_, &QComboBox::activated, this,
            [this](int index) { model_->setFramework(static_cast<Framework>(frameworks_->itemData(index).toInt())); });
    connect(show_, &QPushButton::clicked, this, [this] { emit fieldRequested(problem_key_); });
    refresh();
}

void Waterline::setTone(const char* tone) {
    headline_->setProperty("tone", tone);
    headline_->style()->unpolish(headline_);
    headline_->style()->polish(headline_);
}

void Waterline::showRun(const QString& name, const std::optional<Plan>& plan) {
    if (name.isEmpty() || !plan) {
        if (!run_) return;
        run_.reset();
        refresh();
        return;
    }
    if (run_ && run_->name == name && run_->plan == *plan) return;
    run_ = Shown{name, *plan, computeNumbers(*plan)};
    refresh();
}

void Waterline::setShort(bool isShort) {
    if (isShort == short_) return;
    short_ = isShort;
    refresh();
}

void Waterline::showProblem() {
    const QList<FieldProblem> problems = model_->problems();
    setTone("bad");
    headline_->setText(problems.isEmpty() ? tr("No estimate.") : problems.front().sentence);
    headline_->setFont(uiFont(0, true));
    problem_key_ = problems.isEmpty() ? QString() : problems.front().key;
    show_->setVisible(!problem_key_.isEmpty());
}

void Waterline::refresh() {
    const bool good = run_ ? run_->numbers.possible() : model_->isGood();
    const PlanNumbers& numbers = run_ ? run_->numbers : model_->lastGood();
    const Plan& plan = run_ ? run_->plan : model_->plan();
    if (numbers.memory)
        bars_->setBars(waterlineBars(*numbers.memory, WaterlineBarsView::mostBars), numbers.memory->usable);
    else
        bars_->setBars({}, 0);
    bars_->setDimmed(!good);
    for (QWidget* part : {static_cast<QWidget*>(detail_), static_cast<QWidget*>(figures_),
                          static_cast<QWidget*>(range_), static_cast<QWidget*>(states_), static_cast<QWidget*>(why_),
                          static_cast<QWidget*>(notes_), static_cast<QWidget*>(frameworks_)})
        part->setVisible(good);
    show_->setVisible(false);
    headline_->setToolTip({});
    if (!good && run_) {
        setTone("");
        headline_->setText(tr("%1: no estimate").arg(run_->name));
        return;
    }
    if (!good) {
        showProblem();
        return;
    }
    const Verdict verdict = verdictOf(*numbers.memory, numbers.framework, !plan.cluster.on_cpu());
    setTone(!verdict.fits ? "bad" : verdict.risky ? "warn" : "good");
    headline_->setFont(uiFont(1.5, true));
    headline_->setText(run_ ? QStringLiteral("%1 · %2").arg(run_->name, verdict.headline) : verdict.headline);
    detail_->setText(numbers.frameworkProblem.isEmpty() ? verdict.detail
                                                        : tr("Shown as Plimsoll: %1").arg(numbers.frameworkProblem));
    range_->setText(verdict.range);
    frameworks_->setCurrentIndex(frameworks_->findData(static_cast<int>(model_->framework())));
    frameworks_->setVisible(!run_);
    // The savings of remedies are computed for Plimsoll's own engine.
    const bool own = numbers.framework == Framework::Plimsoll;
    why_->setVisible(!run_);
    why_->setEnabled(own);
    why_->setToolTip(
        own ? tr("What dominates the most loaded rank, and each change that would need less (Ctrl+Shift+F)")
            : tr("Savings are computed for Plimsoll's own engine: set the memory model to Plimsoll"));
    why_->setText(verdict.fits ? tr("How to reduce memory") : tr("How to make it fit"));
    const QStringList notes = notesOf(*numbers.memory, plan);
    notes_->setText(notesTitle(notes));
    notes_->setVisible(!notes_->text().isEmpty());
    notes_->setToolTip(notesDetails(notes));
    notes_->setAccessibleDescription(notes_->toolTip());
    figures_->setText(figuresOf(numbers, plan));
    figures_->setVisible(!figures_->text().isEmpty());
    figures_->setToolTip(numbers.step ? stepDetails(*numbers.step) : plainTip(numbers.stepProblem));
    states_->setText(QStringLiteral("%1 · %2").arg(sizesOf(numbers, plan), statesOf(*numbers.memory, plan)));
    states_->setVisible(!short_);
    headline_->setToolTip(short_ ? plainTip(states_->text()) : QString());
}

}  // namespace plimsoll::ui
