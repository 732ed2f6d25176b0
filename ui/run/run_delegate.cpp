// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_delegate.h"

#include <QPainter>

#include "ui/run/run_list_model.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

void RunDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& theme = Theme::of(option.palette);
    const bool live = index.data(RunListModel::LiveRole).toBool();
    painter->save();
    painter->fillRect(option.rect, option.state & QStyle::State_Selected ? theme.line : theme.surface);
    const QRect inside = option.rect.adjusted(10, 4, -10, -4);
    painter->setFont(uiFont());
    painter->setPen(theme.ink);
    painter->drawText(inside, Qt::AlignLeft | Qt::AlignTop,
                      QFontMetrics(uiFont()).elidedText(index.data().toString(), Qt::ElideMiddle, inside.width()));
    painter->setFont(uiFont(-1.5));
    painter->setPen(live ? theme.accent : theme.muted);
    painter->drawText(inside, Qt::AlignLeft | Qt::AlignBottom, index.data(RunListModel::StatusRole).toString());
    painter->restore();
}

QSize RunDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
    return {200, QFontMetrics(uiFont()).height() + QFontMetrics(uiFont(-1.5)).height() + 10};
}

}  // namespace plimsoll::ui
