// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/link_delegate.h"

#include "ui/widgets/theme.h"

namespace plimsoll::ui {

void LinkDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
    QStyledItemDelegate::initStyleOption(option, index);
    const QColor colour = Theme::of(option->palette).accent;
    for (const QPalette::ColorGroup group : {QPalette::Active, QPalette::Inactive}) {
        option->palette.setColor(group, QPalette::Text, colour);
        option->palette.setColor(group, QPalette::HighlightedText, colour);
    }
    option->font.setUnderline((option->state & QStyle::State_MouseOver) != 0);
}

}  // namespace plimsoll::ui
