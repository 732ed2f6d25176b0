// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/watch_notice.h"
#include "ui/widgets/plain_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStyle>

namespace plimsoll::ui {

WatchNotice::WatchNotice(QWidget* parent)
    : QFrame(parent),
      text_(new PlainLabel(this)),
      bar_(new QProgressBar(this)),
      button_(new QPushButton(this)),
      second_(new QPushButton(this)) {
    setObjectName(QStringLiteral("Banner"));
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    button_->setProperty("primary", true);
    for (QPushButton* button : {button_, second_}) button->setAccessibleName(tr("What helps"));
    bar_->setTextVisible(false);
    bar_->setFixedWidth(160);
    bar_->setRange(0, 1000);
    bar_->setAccessibleName(tr("History read"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 8, 10, 8);
    row->setSpacing(12);
    row->addWidget(text_, 1);
    row->addWidget(bar_);
    row->addWidget(button_);
    row->addWidget(second_);
    connect(button_, &QPushButton::clicked, this, &WatchNotice::actionRequested);
    connect(second_, &QPushButton::clicked, this, &WatchNotice::secondRequested);
}

void WatchNotice::show(const QString& sentence, const QString& action, const QString& tone, const QString& second) {
    text_->setText(sentence);
    bar_->hide();
    button_->setText(action);
    button_->setAccessibleName(action.isEmpty() ? tr("What helps") : action);
    button_->setVisible(!action.isEmpty());
    second_->setText(second);
    second_->setAccessibleName(second.isEmpty() ? tr("What helps") : second);
    second_->setVisible(!second.isEmpty());
    if (property("tone").toString() != tone) {
        setProperty("tone", tone);
        style()->unpolish(this);
        style()->polish(this);
    }
    setVisible(true);
}

void WatchNotice::showProgress(const QString& sentence, double share) {
    show(sentence, QString());
    bar_->setValue(static_cast<int>(share * 1000));
    bar_->show();
}

QString WatchNotice::sentence() const { return text_->text(); }

}  // namespace plimsoll::ui
