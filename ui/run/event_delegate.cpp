// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/event_delegate.h"

#include <QAbstractItemView>
#include <QLocale>
#include <QPainter>

#include "ui/run/event_list_model.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr int padding = 5;
constexpr int gap = 8;

int stepWidth(const QFontMetrics& metrics) { return metrics.horizontalAdvance(QStringLiteral("88,888")); }

int viewWidth(const QStyleOptionViewItem& option) {
    const auto* view = qobject_cast<const QAbstractItemView*>(option.widget);
    return view != nullptr ? view->viewport()->width() : option.rect.width();
}

}  // namespace

void EventDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& theme = Theme::of(option.palette);
    painter->save();
    if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver))
        painter->fillRect(option.rect,
                          option.state & QStyle::State_Selected ? option.palette.color(QPalette::Mid) : theme.raised);
    painter->setFont(option.font);
    const QRect inside = option.rect.adjusted(0, padding, 0, -padding);
    const int column = stepWidth(option.fontMetrics);
    const qulonglong step = index.data(EventListModel::StepRole).toULongLong();  // 0: of no step
    painter->setPen(theme.muted);
    painter->drawText(QRect(inside.left(), inside.top(), column, inside.height()), Qt::AlignLeft | Qt::AlignTop,
                      step == 0 ? QString() : QLocale().toString(step));
    painter->setPen(index.data(EventListModel::SeriousRole).toBool() ? theme.water : theme.ink);
    painter->drawText(inside.adjusted(column + gap, 0, 0, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                      index.data().toString());
    painter->fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1), theme.line);
    painter->restore();
}

QSize EventDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const int width = viewWidth(option);
    const int text_width = std::max(40, width - stepWidth(option.fontMetrics) - gap);
    const QRect text =
        option.fontMetrics.boundingRect(QRect(0, 0, text_width, 10'000), Qt::TextWordWrap, index.data().toString());
    return {width, std::min(text.height(), 12 * option.fontMetrics.height()) + 2 * padding + 1};
}

}  // namespace plimsoll::ui
