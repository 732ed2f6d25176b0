// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/watch_page.h"

#include <algorithm>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "core/run/run_store.h"
#include "ui/common/escaped_text.h"
#include "ui/plots/line_plot.h"
#include "ui/plots/step_axis.h"
#include "ui/run/resumable.h"
#include "ui/run/run_delegate.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"
#include "ui/run/watch_card.h"
#include "ui/run/watch_notice.h"
#include "ui/run/watch_side.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr int sideWidth = 276;
constexpr int cardGap = 12;
constexpr int leastCardHeight = 148;
constexpr int cardWidth = 420;  // from which another column of cards fits

// Where the column's parts lie.
enum { HeadRow, SpaceAbove, NoticeRow, ScrollRow, SpaceBelow };

}  // namespace

WatchPage::WatchPage(RunModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      axis_(new StepAxis(this)),
      runs_(new RunListModel(runs_folder(), this)),
      picker_(new ComboBox(this)),
      status_(new PlainLabel(this)),
      progress_(new QLabel(this)),
      notice_(new WatchNotice(this)),
      whole_run_(new QPushButton(tr("Show the whole run"), this)),
      resume_(new QPushButton(tr("Resume"), this)),
      more_(new QPushButton(tr("More steps…"), this)),
      column_(new QVBoxLayout(this)),
      notice_row_(new QHBoxLayout),
      scroll_(new QScrollArea(this)),
      grid_(new QGridLayout),
      side_(new WatchSide(model, axis_, this)) {
    build();
    connect(picker_, &QComboBox::activated, this,
            [this](int row) { model_->open(picker_->itemData(row, RunListModel::PathRole).toString()); });
    connect(runs_, &RunListModel::refreshed, this, &WatchPage::selectCurrentRun);
    const auto notice = [this] { return noticeFor(*model_, runs_->rowCount() == 0).value_or(RunNotice()); };
    connect(notice_, &WatchNotice::actionRequested, this, [this, notice] { runNoticeAction(notice().action); });
    connect(notice_, &WatchNotice::secondRequested, this, [this, notice] { runNoticeAction(notice().second); });
    connect(resume_, &QPushButton::clicked, this, [this] { emit resumeRequested(model_->runPath()); });
    connect(more_, &QPushButton::clicked, this, [this] { emit moreStepsRequested(model_->runPath()); });
    connect(model_, &RunModel::opened, this, &WatchPage::openedRun);
    connect(model_, &RunModel::updated, this, &WatchPage::updatePoints);
    connect(model_, &RunModel::statusChanged, this, &WatchPage::updateStatus);
    openedRun();
    updatePoints();
    updateStatus();
}

WatchPage::~WatchPage() = default;

void WatchPage::build() {
    setObjectName(QStringLiteral("Page"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Watch"));

    picker_->setModel(runs_);
    picker_->setItemDelegate(new RunDelegate(picker_));
    picker_->setAccessibleName(tr("Run"));
    picker_->setToolTip(tr("The runs of the store, newest first"));
    picker_->setFont(uiFont(0, true));
    picker_->setMaxVisibleItems(16);
    picker_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    picker_->setMinimumContentsLength(30);
    picker_->setStyleSheet(
        QStringLiteral("QComboBox:!hover:!focus { background: palette(window); border-color: palette(window); }"
                       "QComboBox { padding-left: 4px; }"));
    status_->setProperty("tone", "muted");
    status_->setTextFormat(Qt::PlainText);
    progress_->setTextFormat(Qt::RichText);
    whole_run_->setProperty("link", true);
    whole_run_->setAccessibleName(whole_run_->text());
    whole_run_->setToolTip(tr("Goes back from the zoomed steps and follows the run (Home, or double click in a plot)"));
    whole_run_->hide();
    connect(whole_run_, &QPushButton::clicked, axis_, &StepAxis::follow);
    connect(axis_, &StepAxis::changed, this, [this] { whole_run_->setVisible(!axis_->following()); });
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(picker_);
    head->addWidget(status_, 1);
    head->addWidget(whole_run_);
    head->addWidget(progress_);
    head->addWidget(resume_);
    head->addWidget(more_);
    for (QPushButton* button : {resume_, more_}) button->setAccessibleName(button->text());
    more_->setToolTip(tr("Continue with more steps than planned: asks how the learning rate goes on"));

    auto* content = new QWidget(this);
    content->setObjectName(QStringLiteral("PageBody"));
    cards_ = WatchCard::all(model_, axis_, content);
    for (WatchCard* card : cards_) card->setMinimumHeight(leastCardHeight);
    grid_->setSpacing(cardGap);
    side_->setFixedWidth(sideWidth);
    auto* body = new QHBoxLayout(content);
    body->setContentsMargins(0, 0, 0, 0);
    body->setSpacing(cardGap);
    body->addLayout(grid_, 1);
    body->addWidget(side_);
    scroll_->setWidget(content);
    scroll_->setWidgetResizable(true);
    scroll_->setFrameShape(QFrame::NoFrame);
    // Its content is reached by Tab; the frame around it holds nothing to act on.
    scroll_->setFocusPolicy(Qt::NoFocus);
    scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);

    column_->setContentsMargins(16, 10, 16, 14);
    column_->setSpacing(10);
    column_->addLayout(head);
    column_->addStretch();
    // Without plots the sentence stands in the middle of the page, not wider than a person reads.
    notice_row_->addStretch();
    notice_row_->addWidget(notice_);
    notice_row_->addStretch();
    column_->addLayout(notice_row_);
    column_->addWidget(scroll_);
    column_->addStretch();
}

QList<LinePlot*> WatchPage::plots() const {
    QList<LinePlot*> plots;
    for (WatchCard* card : cards_)
        if (card->isUseful()) plots << card->plot();
    return plots;
}

void WatchPage::openedRun() {
    plan_shown_ = model_->plan().has_value();
    axis_->setCursor(std::nullopt);
    axis_->follow();
    axis_->setRun(static_cast<double>(model_->step()), static_cast<double>(model_->totalSteps()));
    for (WatchCard* card : cards_) card->rebuild();
    side_->updatePoints();
    selectCurrentRun();
    arrange();
}

void WatchPage::selectCurrentRun() {
    picker_->setCurrentIndex(runs_->rowOf(model_->runPath()));
    // A run outside the store is shown by its name as well.
    picker_->setPlaceholderText(model_->isOpen() ? model_->runName() : tr("No run"));
    QPalette colours = picker_->palette();
    colours.setColor(QPalette::PlaceholderText, Theme::of(palette()).ink);
    picker_->setPalette(colours);
    picker_->setEnabled(runs_->rowCount() > 0 || model_->isOpen());
    updateNotice();
}

void WatchPage::updatePoints() {
    axis_->setRun(static_cast<double>(model_->step()), static_cast<double>(model_->totalSteps()));
    for (WatchCard* card : cards_) card->updatePoints();
    side_->updatePoints();
    progress_->setText(progressWords(*model_));
    // With the first points the sentence about the start is no longer true.
    if (notice_->isVisibleTo(this)) updateNotice();
}

void WatchPage::updateStatus() {
    axis_->setRun(static_cast<double>(model_->step()), static_cast<double>(model_->totalSteps()));
    if (plan_shown_ != model_->plan().has_value()) {
        plan_shown_ = model_->plan().has_value();
        for (WatchCard* card : cards_) card->rebuild();
        arrange();
    }
    status_->setText(statusWords(*model_));
    progress_->setText(progressWords(*model_));
    updateNotice();
    updateActions();
    if (status_shown_ == status_->text()) return;
    status_shown_ = status_->text();
    runs_->refresh();
}

void WatchPage::updateNotice() {
    const auto notice = runs_->isRead() || model_->isOpen() ? noticeFor(*model_, runs_->rowCount() == 0) : std::nullopt;
    const bool empty = notice ? notice->empty : !model_->isOpen();
    scroll_->setVisible(!empty);
    column_->setStretch(SpaceAbove, empty ? 2 : 0);
    column_->setStretch(ScrollRow, empty ? 0 : 1);
    column_->setStretch(SpaceBelow, empty ? 3 : 0);
    for (int i = 0; i < 3; ++i) notice_row_->setStretch(i, i == 1 ? 3 : empty ? 2 : 0);
    if (!notice) {
        notice_->hide();
    } else if (notice->loading) {
        notice_->showProgress(notice->sentence, model_->loadProgress());
    } else {
        notice_->show(notice->sentence, actionText(notice->action), notice->bad ? QStringLiteral("bad") : QString(),
                      actionText(notice->second));
    }
}

QString WatchPage::actionText(RunNotice::Action action) {
    switch (action) {
        case RunNotice::Action::None:
            return {};
        case RunNotice::Action::Train:
            return tr("Train");
        case RunNotice::Action::ShowNewest:
            return tr("Show the newest run");
        case RunNotice::Action::ShowLog:
            return tr("Show the log");
        case RunNotice::Action::Resume:
            return tr("Resume");
        case RunNotice::Action::StopNow:
            return tr("Do not wait for the step");
    }
    return {};
}

void WatchPage::updateActions() {
    const RunSummary run = model_->isOpen() && !model_->isVanished() ? summaryOf(*model_) : RunSummary();
    resume_->setVisible(canResume(run));
    resume_->setToolTip(plainTip(whyResumable(run)));
    more_->setVisible(canExtend(run));
}

void WatchPage::runNoticeAction(RunNotice::Action action) {
    switch (action) {
        case RunNotice::Action::None:
            break;
        case RunNotice::Action::Train:
            emit trainRequested();
            break;
        case RunNotice::Action::ShowNewest:
            model_->open(RunModel::newestRun());
            break;
        case RunNotice::Action::StopNow:
            model_->requestStopNow();
            break;
        case RunNotice::Action::ShowLog:
            emit logRequested();
            break;
        case RunNotice::Action::Resume:
            emit resumeRequested(model_->runPath());
            break;
    }
}

void WatchPage::arrange() {
    const int room = width() - sideWidth - 3 * cardGap;
    const int columns = std::clamp(room / cardWidth, 1, 3);
    QList<WatchCard*> useful;
    for (WatchCard* card : cards_)
        if (card->isUseful()) useful << card;
    if (useful == arranged_ && columns == columns_) return;
    arranged_ = useful;
    columns_ = columns;
    for (WatchCard* card : cards_) {
        grid_->removeWidget(card);
        card->setVisible(useful.contains(card));
    }
    for (int i = 0; i < 3; ++i) grid_->setColumnStretch(i, i < columns ? 1 : 0);
    for (qsizetype i = 0; i < useful.size(); ++i) {
        const auto row = static_cast<int>(i) / columns;
        const auto column = static_cast<int>(i) % columns;
        const bool last = i + 1 == useful.size();
        grid_->addWidget(useful[i], row, column, 1, last ? columns - column : 1);
    }
}

void WatchPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

void WatchPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    runs_->refresh();
}

}  // namespace plimsoll::ui
