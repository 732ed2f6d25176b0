// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/pipeline_page.h"

#include <algorithm>
#include <QFileDialog>
#include <QPushButton>

#include "ui/common/plan_field.h"
#include "ui/pipeline/gantt.h"
#include "ui/pipeline/gantt_legend.h"
#include "ui/pipeline/pipeline_export.h"
#include "ui/pipeline/pipeline_files.h"
#include "ui/pipeline/pipeline_words.h"
#include "ui/pipeline/ran_card.h"
#include "ui/pipeline/schedule_table.h"
#include "ui/pipeline/what_if_card.h"
#include "ui/plan/plan_model.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/field_row.h"
#include "ui/widgets/figure_strip.h"
#include "ui/widgets/live_view.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

QString adviceHtml(const std::vector<Advice>& all, const Theme& theme) {
    QString html;
    for (const Advice& advice : all) {
        const bool good = advice.good;
        html += QStringLiteral("<p style='margin:0 0 8px 0'><span style='color:%1'><b>%2</b></span> %3</p>")
                    .arg((good ? theme.good : theme.warn).name(), good ? QStringLiteral("✓") : QStringLiteral("!"),
                         inWords(advice.words).toHtmlEscaped().replace(QLatin1String(" %"), QStringLiteral("\u00a0%")));
    }
    return html;
}

}  // namespace

PipelinePage::PipelinePage(PlanModel* plan, QWidget* parent)
    : Page(tr("Pipeline"), parent), plan_(plan), model_(plan), span_(new TimeSpan(this)) {
    makeLeft();
    QVBoxLayout* right = addColumn(1);
    makeFigures(right);
    makeTimeline(right);
    makeComparison(right);
    ran_ = new RanCard(this);
    right->addWidget(ran_);
    makeLower(right);
    right->addStretch(1);
    connect(&model_, &PipelineModel::changed, this, &PipelinePage::refresh);
    connect(&model_, &PipelineModel::detailsChanged, this, &PipelinePage::refreshDetails);
    model_.compareWith(Schedule::ZbH1);
}

void PipelinePage::makeLeft() {
    QVBoxLayout* left = addColumn(0, 268);
    planned_ = new Card(tr("In the plan"), this);
    planned_->body()->addWidget(new FieldForm(
        plan_,
        {QStringLiteral("layout.schedule"), QStringLiteral("layout.pp"), QStringLiteral("layout.accumulation"),
         QStringLiteral("layout.chunks"), QStringLiteral("layout.split"), QStringLiteral("layout.schedule_file")},
        planned_));
    auto* follow = new QPushButton(tr("Load a schedule file…"), planned_);
    follow->setAccessibleName(tr("Load a schedule file of operations from a file"));
    follow->setToolTip(
        tr("A file that Save… or plimsoll pipeline --save-list wrote, perhaps changed by hand; the plan "
           "takes its ranks, micro-batches and chunks"));
    connect(follow, &QPushButton::clicked, this, &PipelinePage::askForList);
    planned_->body()->addWidget(follow, 0, Qt::AlignLeft);
    what_if_ = new WhatIfCard(&model_, this);
    left->addWidget(planned_);
    left->addWidget(what_if_);
    left->addStretch(1);
}

void PipelinePage::askForList() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Load a schedule file of operations"), QString(),
                                                      tr("Lists of operations (*.json);;All files (*)"));
    if (path.isEmpty()) return;
    if (const Result<void> followed = followList(*plan_, path); !followed)
        emit failed(QString::fromStdString(followed.error().message));
}

void PipelinePage::makeFigures(QVBoxLayout* column) {
    bubble_ = new Card(tr("Bubble"), this);
    figures_ = new FigureStrip(bubble_);
    difference_ = new WrapLabel(bubble_);
    bubble_->body()->addWidget(figures_);
    bubble_->body()->addWidget(difference_);
    column->addWidget(bubble_);
}

void PipelinePage::makeTimeline(QVBoxLayout* column) {
    timeline_ = new Card(tr("Timeline"), this);
    legend_ = new GanttLegend(timeline_);
    gantt_ = new Gantt(timeline_);
    live_ = new LiveView(timeline_);
    gantt_->setMostHeight(Gantt::mostHeight);
    gantt_->setSpan(span_);
    live_->setSpan(span_);
    gantt_->setZoomable(true);
    live_->setZoomable(true);
    auto* save = new PipelineExport(
        gantt_, [this] { return model_.shown(); }, timeline_);
    connect(save, &PipelineExport::failed, this, &PipelinePage::failed);
    timeline_->addToTitle(save);
    timeline_->body()->addWidget(legend_);
    timeline_->body()->addWidget(gantt_);
    timeline_->body()->addWidget(live_);
    column->addWidget(timeline_);
}

void PipelinePage::makeComparison(QVBoxLayout* column) {
    comparison_ = new Card(tr("Compare"), this);
    compare_with_ = new ComboBox(comparison_);
    compare_with_->setAccessibleName(tr("Schedule to compare with"));
    compare_with_->addItem(tr("with nothing"));
    for (std::size_t i = 0; i < schedule_names.size(); ++i)
        compare_with_->addItem(QString::fromLatin1(schedule_title(static_cast<Schedule>(i))));
    comparison_->addToTitle(compare_with_);
    comparison_words_ = new WrapLabel(comparison_);
    compared_ = new Gantt(comparison_);
    compared_->setAccessibleName(tr("Compared pipeline timeline"));
    compared_->setMostHeight(Gantt::mostHeight);
    compared_->setSpan(span_);
    compared_->setZoomable(true);
    comparison_->body()->addWidget(comparison_words_);
    comparison_->body()->addWidget(compared_);
    column->addWidget(comparison_);
    connect(compare_with_, &QComboBox::activated, this, [this](int at) {
        model_.compareWith(at > 0 ? std::optional(static_cast<Schedule>(at - 1)) : std::nullopt);
    });
}

void PipelinePage::makeLower(QVBoxLayout* column) {
    lower_ = new QHBoxLayout;
    lower_->setSpacing(12);
    auto* advice = new Card(tr("Advice"), this);
    advice_ = new WrapLabel(advice);
    advice_->setTextFormat(Qt::RichText);
    advice->body()->addWidget(advice_);
    advice->body()->addStretch(1);
    auto* schedules = new Card(tr("Every schedule"), this);
    schedules->setFact(tr("with the same shape and times; a click tries it"));
    schedules_ = new ScheduleTable(schedules);
    schedules->body()->addWidget(schedules_);
    lower_->addWidget(advice, 2);
    lower_->addWidget(schedules, 3);
    column->addLayout(lower_);
    connect(schedules_, &ScheduleTable::chosen, this, [this](Schedule schedule) {
        WhatIf tried = model_.tried();
        tried.schedule = schedule;
        model_.tryOut(tried);
    });
}

QString PipelinePage::comparison() const { return comparison_words_->text(); }

void PipelinePage::resizeEvent(QResizeEvent* event) {
    Page::resizeEvent(event);
    lower_->setDirection(isNarrow() ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void PipelinePage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    model_.setActive(true);
}

void PipelinePage::hideEvent(QHideEvent* event) {
    Page::hideEvent(event);
    model_.setActive(false);
}

void PipelinePage::refresh() {
    const std::shared_ptr<const Pipeline> shown = model_.shown();
    for (FieldRow* row : findChildren<FieldRow*>())
        if (row->key() == QLatin1String("layout.chunks")) row->setEnabled(readsChunks(plan_->plan().layout.schedule));
    bubble_->setFact(shown ? shapeWords(*shown) : QString());
    bubble_->setValue(model_.isPlans() ? QString() : tr("what if"));
    figures_->setFigures(shown ? pipelineFigures(*shown, model_.batchBytes()) : QList<Figure>());
    if (!shown) difference_->setText(model_.problem());
    refreshComparison();
    gantt_->setEmptyText(model_.problem());
    gantt_->setPipeline(shown);
    timeline_->setFact(
        shown ? tr("time unit = one average forward; the step takes %1").arg(timeText(shown->timeline.makespan))
              : QString());
    if (shown) legend_->setShown(splits_backward(shown->schedule), shown->schedule.chunks > 1);
    const int ranks = shown ? shown->schedule.ranks : 1;
    live_->setCurves(model_.live(), ranks > 1 ? ranks : 0, tr("p = %1").arg(ranks));
    live_->setVisible(shown != nullptr);
}

void PipelinePage::refreshComparison() {
    const std::shared_ptr<const Pipeline> shown = model_.shown(), other = model_.compared();
    span_->setWhole(std::max(shown ? shown->timeline.makespan : 0, other ? other->timeline.makespan : 0));
    compare_with_->setCurrentIndex(model_.comparedSchedule() ? static_cast<int>(*model_.comparedSchedule()) + 1 : 0);
    comparison_words_->setText(shown && other ? comparisonWords(*shown, *other) : model_.comparedProblem());
    comparison_words_->setVisible(!comparison_words_->text().isEmpty());
    compared_->setPipeline(other);
    compared_->setVisible(other != nullptr);
}

void PipelinePage::refreshDetails() {
    if (model_.shown()) difference_->setText(model_.difference());
    difference_->setVisible(!difference_->text().isEmpty());
    advice_->setText(adviceHtml(model_.advice(), Theme::of(palette())));
    schedules_->setRows(model_.rows(), model_.tried().schedule);
    refreshComparison();
}

}  // namespace plimsoll::ui
