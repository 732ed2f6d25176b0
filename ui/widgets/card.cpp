// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/card.h"

#include <QGraphicsOpacityEffect>
#include <QHBoxLayout>

#include "ui/common/escaped_text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/plain_label.h"

namespace plimsoll::ui {

Card::Card(const QString& title, QWidget* parent)
    : QFrame(parent), title_(new PlainLabel(title, this)), fact_(new ElidedLabel(this)), value_(new PlainLabel(this)) {
    setObjectName(QStringLiteral("Card"));
    setAccessibleName(title);
    setProperty("title", title);
    title_->setProperty("strong", true);
    for (QLabel* label : {fact_, value_}) {
        label->setProperty("tone", "muted");
        label->setTextFormat(Qt::PlainText);
        label->setVisible(false);
    }
    value_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);

    row_ = new QHBoxLayout;
    row_->setSpacing(8);
    row_->addWidget(title_);
    row_->addWidget(fact_, 1);
    row_->addStretch(0);
    row_->addWidget(value_);

    body_ = new QVBoxLayout;
    body_->setSpacing(6);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 10, 12, 12);
    column->setSpacing(8);
    column->addLayout(row_);
    column->addLayout(body_, 1);
}

void Card::setFact(const QString& fact) {
    fact_->setText(fact);
    fact_->setToolTip(plainTip(fact));
    fact_->setVisible(!fact.isEmpty());
}

void Card::setValue(const QString& value) {
    value_->setText(value);
    value_->setVisible(!value.isEmpty());
}

void Card::setStale(bool stale) {
    if (stale == isStale()) return;
    setToolTip(plainTip(stale ? tr("Figures of the last plan that was possible") : QString()));
    if (!stale) {
        setGraphicsEffect(nullptr);
        return;
    }
    auto* pale = new QGraphicsOpacityEffect(this);
    pale->setOpacity(0.4);
    setGraphicsEffect(pale);
}

}  // namespace plimsoll::ui
