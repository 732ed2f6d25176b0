// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/banner.h"
#include "ui/widgets/plain_label.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>

namespace plimsoll::ui {

Banner::Banner(QWidget* parent) : QFrame(parent), sentence_(new PlainLabel(this)), action_(new QPushButton(this)) {
    setObjectName(QStringLiteral("Banner"));
    setAccessibleName(tr("Notice"));
    sentence_->setWordWrap(true);
    sentence_->setTextFormat(Qt::PlainText);
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    action_->setObjectName(QStringLiteral("BannerAction"));
    action_->setAccessibleName(tr("What helps"));
    auto* close = new QToolButton(this);
    close->setText(QStringLiteral("✕"));
    close->setProperty("quiet", true);
    close->setAccessibleName(tr("Close the notice"));
    close->setToolTip(tr("Close the notice"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 8, 10, 8);
    row->setSpacing(12);
    row->addWidget(sentence_, 1);
    row->addWidget(action_);
    row->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    connect(action_, &QPushButton::clicked, this, [this] {
        hide();
        // A copy, because the action may show a sentence itself.
        const std::function<void()> run = run_;
        if (run) run();
    });
    hide();
}

void Banner::say(const char* tone, const QString& sentence, const QString& action, const std::function<void()>& run) {
    setProperty("tone", tone);
    style()->unpolish(this);
    style()->polish(this);
    sentence_->setText(sentence);
    action_->setText(action);
    action_->setAccessibleName(action.isEmpty() ? tr("What helps") : action);
    action_->setVisible(!action.isEmpty());
    run_ = run;
    show();
    QAccessibleEvent told(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&told);
}

}  // namespace plimsoll::ui
