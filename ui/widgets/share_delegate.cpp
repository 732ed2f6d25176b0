// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/share_delegate.h"

#include <algorithm>
#include <QPainter>

#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double barHeight = 3, margin = 8, nearlyFull = 0.95;

}  // namespace

void ShareDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const QVariant share = index.data(role_);
    if (!share.isValid()) return;
    const Theme& theme = Theme::of(option.palette);
    const QRectF whole(option.rect.left() + margin, option.rect.bottom() - barHeight - 1,
                       option.rect.width() - 2 * margin, barHeight);
    QRectF part = whole;
    part.setWidth(whole.width() * std::clamp(share.toDouble(), 0.0, 1.0));
    painter->fillRect(whole, theme.line);
    painter->fillRect(part, share.toDouble() > 1            ? theme.water
                            : share.toDouble() > nearlyFull ? theme.warn
                                                            : theme.accent);
}

}  // namespace plimsoll::ui
