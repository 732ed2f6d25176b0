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
    : QFrame(parent), text_(new PlainLabel(this)), bar_(new QProgressBar(this)), button_(new QPushButton(this)) {
    setObjectName(QStringLiteral("Banner"));
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    button_->setProperty("primary", true);
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
    connect(button_, &QPushButton::clicked, this, &WatchNotice::actionRequested);
}

void WatchNotice::show(const QString& sentence, const QString& action, const QString& tone) {
    text_->setText(sentence);
    bar_->hide();
    button_->setText(action);
    button_->setAccessibleName(action);
    button_->setVisible(!action.isEmpty());
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
