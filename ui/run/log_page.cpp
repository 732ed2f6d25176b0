// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/log_page.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>

#include "ui/common/value_format.h"
#include "ui/run/run_model.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

LogPage::LogPage(RunModel* run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      picker_(new ComboBox(this)),
      search_(new QLineEdit(this)),
      hits_(new PlainLabel(this)),
      copy_(new QPushButton(tr("Copy all"), this)),
      end_(new QCheckBox(tr("Follow the end"), this)),
      fact_(new PlainLabel(this)),
      view_(new QPlainTextEdit(this)) {
    build();
    connect(run_, &RunModel::opened, this, [this] {
        picked_ = false;
        refreshList();
    });
    connect(run_, &RunModel::statusChanged, this, &LogPage::refreshList);
    connect(&tail_, &LogTail::reset, this, &LogPage::showReset);
    connect(&tail_, &LogTail::appended, this, &LogPage::append);
    connect(&tail_, &LogTail::problemChanged, this, &LogPage::refreshFact);
    connect(picker_, &QComboBox::activated, this, [this](int row) {
        picked_ = true;
        if (row >= 0 && row < logs_.size()) tail_.open(logs_[row].path);
    });
    connect(search_, &QLineEdit::textChanged, this, &LogPage::refreshHits);
    connect(search_, &QLineEdit::returnPressed, this,
            [this] { find(QApplication::keyboardModifiers().testFlag(Qt::ShiftModifier)); });
    connect(copy_, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(tail_.text()); });
    refreshList();
}

void LogPage::build() {
    setObjectName(QStringLiteral("Page"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Logs"));
    picker_->setAccessibleName(tr("Log of"));
    picker_->setMinimumContentsLength(14);
    search_->setPlaceholderText(tr("Search in the log"));
    search_->setAccessibleName(tr("Search in the log"));
    search_->setToolTip(tr("Return finds the next place, Shift+Return the one before"));
    search_->setClearButtonEnabled(true);
    search_->setMaximumWidth(320);
    hits_->setProperty("tone", "muted");
    fact_->setProperty("tone", "muted");
    copy_->setAccessibleName(tr("Copy the whole log"));
    end_->setAccessibleName(tr("Follow the end of the log"));
    end_->setChecked(true);
    view_->setReadOnly(true);
    view_->setAccessibleName(tr("Log"));
    view_->setLineWrapMode(QPlainTextEdit::NoWrap);
    view_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    view_->setPlaceholderText(tr("Nothing has been written yet."));

    auto* head = new QHBoxLayout;
    head->setSpacing(10);
    head->addWidget(picker_);
    head->addWidget(search_, 1);
    head->addWidget(hits_);
    head->addStretch(1);
    head->addWidget(end_);
    head->addWidget(copy_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 10, 16, 14);
    column->setSpacing(10);
    column->addLayout(head);
    column->addWidget(fact_);
    column->addWidget(view_, 1);
}

void LogPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refreshList();
    tail_.setFollowing(true);
}

void LogPage::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    tail_.setFollowing(false);
}

void LogPage::refreshList() {
    const QList<NamedLog> logs = run_->isOpen() ? logsOf(run_->runPath()) : QList<NamedLog>();
    QStringList before, after;
    for (const NamedLog& log : logs_) before << log.path;
    for (const NamedLog& log : logs) after << log.path;
    if (before == after) {
        refreshFact();
        return;
    }
    logs_ = logs;
    picker_->clear();
    for (const NamedLog& log : logs_) picker_->addItem(log.name);
    const qsizetype kept = after.indexOf(tail_.path());
    picker_->setCurrentIndex(static_cast<int>(kept));
    if (kept >= 0 && picked_) return;
    // What the ranks say comes first: the supervisor's log only tells that they began and ended.
    const int first = logs_.size() > 1 ? 1 : 0;
    picker_->setCurrentIndex(logs_.isEmpty() ? -1 : first);
    tail_.open(logs_.isEmpty() ? QString() : logs_[first].path);
}

void LogPage::showReset() {
    view_->setPlainText(tail_.text());
    refreshHits();
    refreshFact();
    if (end_->isChecked()) view_->verticalScrollBar()->setValue(view_->verticalScrollBar()->maximum());
}

void LogPage::append(const QString& text) {
    QTextCursor end(view_->document());
    end.movePosition(QTextCursor::End);
    end.insertText(text);
    refreshHits();
    if (end_->isChecked()) view_->verticalScrollBar()->setValue(view_->verticalScrollBar()->maximum());
}

void LogPage::refreshHits() {
    const QString wanted = search_->text();
    QList<QTextEdit::ExtraSelection> marked;
    constexpr qsizetype mostMarked = 2000;
    if (!wanted.isEmpty()) {
        QTextCursor at(view_->document());
        while (marked.size() < mostMarked) {
            at = view_->document()->find(wanted, at);
            if (at.isNull()) break;
            QTextEdit::ExtraSelection hit;
            hit.cursor = at;
            hit.format.setBackground(Theme::of(palette()).warn);
            hit.format.setForeground(Theme::of(palette()).bg);
            marked.append(hit);
        }
    }
    view_->setExtraSelections(marked);
    if (wanted.isEmpty())
        hits_->clear();
    else if (marked.isEmpty())
        hits_->setText(tr("not found"));
    else
        hits_->setText(marked.size() == 1 ? tr("1 hit") : tr("%1 hits").arg(countText(marked.size())));
}

void LogPage::find(bool backward) {
    const QTextDocument::FindFlags way = backward ? QTextDocument::FindBackward : QTextDocument::FindFlags();
    if (view_->find(search_->text(), way)) return;
    // Around the end, back to the first.
    view_->moveCursor(backward ? QTextCursor::End : QTextCursor::Start);
    view_->find(search_->text(), way);
}

void LogPage::refreshFact() {
    QString fact;
    if (!run_->isOpen())
        fact = tr("No run is open: choose one on the Runs page.");
    else if (logs_.isEmpty())
        fact = tr("%1 has written no log.").arg(run_->runName());
    else if (!tail_.problem().isEmpty())
        fact = tail_.problem();
    else if (tail_.skipped() > 0)
        fact =
            tr("%1 · the last %2 of %3")
                .arg(run_->runName(), bytesText(LogTail::mostBytes), bytesText(tail_.skipped() + LogTail::mostBytes));
    else
        fact = run_->runName();
    fact_->setText(fact);
    copy_->setEnabled(!logs_.isEmpty());
}

}  // namespace plimsoll::ui
