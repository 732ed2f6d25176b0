// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/lessons/lessons_page.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTextBrowser>

#include "ui/lessons/lesson_html.h"
#include "ui/widgets/card.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

LessonsPage::LessonsPage(PlanModel* plan, QWidget* parent)
    : Page(tr("Lessons"), parent), model_(plan), rows_({tr("Lesson")}, {}), list_(new FactTable(tr("Lessons"), this)) {
    auto* left = addColumn(0, 368);
    auto* index = new Card(tr("Lessons"), this);
    list_->setModel(&rows_);
    list_->setStretch(0);
    list_->horizontalHeader()->hide();
    list_->setWholeHeight(true);
    index->body()->addWidget(list_);
    auto* about = new WrapLabel(index);
    about->setProperty("tone", "muted");
    about->setText(
        tr("Figures that people quote about training memory. Each number beside them is computed by the "
           "estimator, here and now."));
    index->body()->addWidget(about);
    left->addWidget(index);
    left->addStretch(1);

    auto* right = addColumn(1);
    card_ = new Card(tr("Quoted"), this);
    open_ = new QPushButton(tr("Open this plan"), card_);
    open_->setProperty("primary", true);
    open_->setAccessibleName(open_->text());
    open_->setToolTip(tr("Opens the lesson's plan in place of this one"));
    card_->addToTitle(open_);
    title_ = new WrapLabel(card_);
    title_->setFont(uiFont(1.5, true));
    // The browser scrolls by itself: a label as tall as a lesson would lay its tables out again and again.
    text_ = new QTextBrowser(card_);
    text_->setFrameShape(QFrame::NoFrame);
    text_->setAccessibleName(tr("The lesson"));
    text_->setMinimumHeight(240);
    text_->document()->setDocumentMargin(0);
    text_->setStyleSheet(QStringLiteral("QTextBrowser { border: none; padding: 0; background: transparent; }"));
    card_->body()->addWidget(title_);
    card_->body()->addWidget(text_, 1);
    right->addWidget(card_, 1);

    connect(open_, &QPushButton::clicked, &model_, &LessonsModel::openPlan);
    connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& row) { model_.choose(row.row()); });
    connect(&model_, &LessonsModel::planRequested, this, &LessonsPage::planRequested);
    connect(&model_, &LessonsModel::changed, this, &LessonsPage::refresh);
}

QTableView* LessonsPage::list() const { return list_; }
QString LessonsPage::text() const { return text_->toPlainText(); }

void LessonsPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    model_.load();
    refresh();
}

void LessonsPage::changeEvent(QEvent* event) {
    Page::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || !text_) return;
    shown_ = nullptr;  // the text's colours belong to the other theme
    refresh();
}

void LessonsPage::refresh() {
    if (!isVisible()) return;
    if (rows_.rows().isEmpty()) {
        rows_.setRows(lessonRows(model_.lessons()));
        list_->selectRow(model_.chosen());
    }
    const Lesson* lesson = model_.lesson();
    open_->setEnabled(lesson && !model_.isOpen());
    if (!lesson) {
        text_->setPlainText(model_.problem());
        return;
    }
    if (lesson == shown_) return;
    shown_ = lesson;
    const Theme& theme = Theme::of(palette());
    title_->setText(QString::fromStdString(lesson->title));
    text_->setHtml(lessonHtml(*lesson, {theme.muted.name(), theme.line.name(), theme.good.name(), theme.water.name()}));
}

}  // namespace plimsoll::ui
