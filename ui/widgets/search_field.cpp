// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/search_field.h"

#include <algorithm>
#include <QFrame>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/style_sheet.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr int rowHeight = 30;
constexpr int mostRows = 11;
constexpr int listWidth = 620;

/// Title, muted detail, shortcut at the right end.
class CommandDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, rowHeight}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const Theme& theme = Theme::of(option.palette);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver))
            painter->fillRect(option.rect, mixed(theme.surface, theme.accent, 0.14));
        QRectF area = QRectF(option.rect).adjusted(12, 0, -12, 0);
        const QString shortcut = index.data(CommandList::ShortcutRole).toString();
        painter->setFont(uiFont(-0.75));
        painter->setPen(theme.muted);
        if (!shortcut.isEmpty()) {
            painter->drawText(area, Qt::AlignRight | Qt::AlignVCenter, shortcut);
            area.setRight(area.right() - painter->fontMetrics().horizontalAdvance(shortcut) - 12);
        }
        painter->setFont(uiFont());
        painter->setPen(theme.ink);
        const QString title = index.data().toString();
        painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter, title);
        area.setLeft(area.left() + painter->fontMetrics().horizontalAdvance(title) + 12);
        painter->setFont(uiFont(-0.75));
        painter->setPen(theme.muted);
        const QString detail = index.data(CommandList::DetailRole).toString();
        painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter,
                          painter->fontMetrics().elidedText(detail, Qt::ElideRight, static_cast<int>(area.width())));
    }
};

}  // namespace

SearchField::SearchField(QWidget* parent) : QLineEdit(parent), list_(new QListView(this)) {
    setPlaceholderText(tr("Find an action or a setting"));
    setAccessibleName(tr("Find an action or a setting"));
    setAccessibleDescription(tr("Type a few letters, choose with the arrow keys, Enter runs it"));
    setFixedWidth(270);
    // Room for the hint at the right end.
    setTextMargins(0, 0, 44, 0);
    list_->setModel(&commands_);
    list_->setItemDelegate(new CommandDelegate(list_));
    list_->setAccessibleName(tr("What the search found"));
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setMouseTracking(true);
    list_->setUniformItemSizes(true);
    connect(this, &QLineEdit::textEdited, this, [this](const QString& text) {
        commands_.setFilter(text);
        showList();
    });
    list_->hide();
    connect(list_, &QListView::clicked, this, &SearchField::choose);
}

void SearchField::begin() {
    setFocus(Qt::ShortcutFocusReason);
    selectAll();
}

void SearchField::showList() {
    // A child of the window and no window of its own, so that the focus stays in the line.
    if (!frame_) {
        frame_ = new QFrame(window());
        frame_->setObjectName(QStringLiteral("Palette"));
        auto* column = new QVBoxLayout(frame_);
        column->setContentsMargins(4, 4, 4, 4);
        column->addWidget(list_);
        none_ = new PlainLabel(frame_);
        none_->setProperty("tone", "muted");
        none_->setMargin(6);
        column->addWidget(none_);
    }
    const bool found = commands_.rowCount() > 0;
    list_->setVisible(found);
    none_->setVisible(!found);
    none_->setText(tr("Nothing is called “%1”. Try a field (warmup), a model (llama-7b), a GPU or an action (save).")
                       .arg(text().left(40)));
    const int rows = std::clamp(commands_.rowCount(), 1, mostRows);
    const int width = std::min(listWidth, window()->width() - 24);
    const QPoint corner = mapTo(window(), QPoint(this->width() - width, height() + 4));
    frame_->setGeometry(std::max(12, corner.x()), corner.y(), width, rows * rowHeight + 12);
    list_->setCurrentIndex(commands_.index(0, 0));
    frame_->show();
    frame_->raise();
}

void SearchField::hideList() {
    if (frame_) frame_->hide();
}

void SearchField::choose(const QModelIndex& index) {
    hideList();
    clear();
    clearFocus();
    commands_.run(index);
}

void SearchField::move(int by) {
    const int rows = commands_.rowCount();
    if (rows == 0) return;
    const int row = std::clamp(list_->currentIndex().row() + by, 0, rows - 1);
    list_->setCurrentIndex(commands_.index(row, 0));
}

void SearchField::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Down:
            return move(1);
        case Qt::Key_Up:
            return move(-1);
        case Qt::Key_PageDown:
            return move(mostRows - 1);
        case Qt::Key_PageUp:
            return move(1 - mostRows);
        case Qt::Key_Return:
        case Qt::Key_Enter:
            return choose(list_->currentIndex());
        case Qt::Key_Escape:
            clear();
            hideList();
            return clearFocus();
        default:
            QLineEdit::keyPressEvent(event);
    }
}

void SearchField::focusInEvent(QFocusEvent* event) {
    QLineEdit::focusInEvent(event);
    if (event->reason() != Qt::ShortcutFocusReason && event->reason() != Qt::MouseFocusReason) return;
    emit opened();
    commands_.setFilter(text());
    showList();
}

void SearchField::focusOutEvent(QFocusEvent* event) {
    QLineEdit::focusOutEvent(event);
    hideList();
}

void SearchField::paintEvent(QPaintEvent* event) {
    QLineEdit::paintEvent(event);
    QPainter painter(this);
    painter.setPen(Theme::of(palette()).muted);
    painter.drawText(rect().adjusted(0, 0, -10, 0), Qt::AlignRight | Qt::AlignVCenter, tr("Ctrl K"));
}

}  // namespace plimsoll::ui
