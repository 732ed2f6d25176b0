// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_details.h"

#include "core/planner/layout_text.h"
#include "ui/charts/part_bars.h"
#include "ui/common/value_format.h"
#include "ui/waterline/time_parts.h"
#include "ui/waterline/waterline_bars.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/time_bar.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int mostBars = 3;

}  // namespace

PlannerDetails::PlannerDetails(QWidget* parent)
    : Card(tr("This layout"), parent),
      words_(new WrapLabel(this)),
      beside_(new WrapLabel(this)),
      budget_(new WrapLabel(this)),
      time_(new TimeBar(this)),
      parts_(new PartBars(tr("Parts of the step time"), tr("seconds"), this)),
      memory_(new WaterlineBarsView(this)),
      use_(new QPushButton(tr("Use this layout"), this)) {
    use_->setProperty("primary", true);
    use_->setAccessibleName(tr("Use this layout"));
    use_->setToolTip(tr(
        "Takes it and its GPUs into the plan, as one step that can be undone (Enter or a double click in the table)"));
    words_->setProperty("strong", true);
    words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    beside_->setAccessibleName(tr("Beside the plan's layout"));
    budget_->setProperty("tone", "muted");
    time_->setAccessibleName(tr("Where the layout's time goes"));
    memory_->setAccessibleName(tr("Memory of the layout by rank"));
    addToTitle(use_);
    body()->addWidget(words_);
    body()->addWidget(beside_);
    body()->addWidget(budget_);
    body()->addWidget(time_);
    body()->addWidget(parts_);
    body()->addWidget(memory_);
    body()->addStretch(1);
    connect(use_, &QPushButton::clicked, this, &PlannerDetails::useRequested);
}

QString PlannerDetails::beside() const { return beside_->text(); }

void PlannerDetails::setLayoutShown(const LayoutFigures* figures, const LayoutFigures& present,
                                    const PlanRequest& request) {
    const bool own =
        figures && figures->plan.layout == present.plan.layout && figures->plan.cluster == present.plan.cluster;
    chosen_ = figures && !own;
    words_->setText(figures ? QString::fromStdString(layout_words(figures->plan.layout))
                            : tr("Choose a row of the table or a point of the plot."));
    beside_->setText(figures ? besideWords(present, *figures) : QString());
    budget_->setText(figures ? budgetWords(request, *figures) : QString());
    setFact(figures && figures->step ? tr("%1 per step").arg(secondsText(figures->step->step)) : QString());
    beside_->setVisible(!beside_->text().isEmpty());
    budget_->setVisible(!budget_->text().isEmpty());
    time_->setVisible(figures && figures->step);
    parts_->setVisible(figures && figures->step);
    memory_->setVisible(figures && figures->memory);
    if (figures && figures->step) {
        time_->setTime(figures->step->time);
        setTimeParts(*figures, present, own);
    }
    if (figures && figures->memory)
        memory_->setBars(waterlineBars(*figures->memory, mostBars), figures->memory->usable);
    use_->setEnabled(chosen_ && !stale_);
}

void PlannerDetails::setTimeParts(const LayoutFigures& figures, const LayoutFigures& present, bool own) {
    const bool compared = !own && present.step;
    const StepTime& time = figures.step->time;
    const auto text = [](Seconds seconds) { return seconds > 0 ? secondsText(seconds) : QStringLiteral("–"); };
    std::vector<ChartPart> parts;
    for (std::size_t i = 0; i < time.parts.size(); ++i) {
        const Seconds here = time.parts[i], there = compared ? present.step->time.parts[i] : 0;
        if (here <= 0 && there <= 0) continue;
        const auto part = static_cast<TimePart>(i);
        const QString other = compared ? text(there) : percentText(here / time.total());
        parts.push_back({.name = timePartName(part),
                         .value = here,
                         .figures = {text(here), other},
                         .colour = [part](const Theme& theme) { return timePartColour(theme, part); },
                         .other = there});
    }
    parts_->setCompared(compared ? tr("this layout") : QString(), compared ? tr("the plan") : QString());
    parts_->setParts(std::move(parts));
}

void PlannerDetails::setStale(bool stale) {
    stale_ = stale;
    memory_->setDimmed(stale);
    use_->setEnabled(chosen_ && !stale_);
}

}  // namespace plimsoll::ui
