// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/figure_strip.h"

#include <algorithm>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int narrowestFigure = 158;

}  // namespace

FigureStrip::FigureStrip(QWidget* parent) : QWidget(parent), grid_(new QGridLayout(this)) {
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setHorizontalSpacing(18);
    grid_->setVerticalSpacing(10);
}

void FigureStrip::setFigures(const QList<Figure>& figures) {
    while (cells_.size() < figures.size()) {
        Cell cell{new QWidget(this), nullptr, nullptr, nullptr};
        auto* column = new QVBoxLayout(cell.holder);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(1);
        cell.name = new PlainLabel(cell.holder);
        cell.value = new PlainLabel(cell.holder);
        cell.note = new WrapLabel(cell.holder);
        cell.name->setProperty("tone", "muted");
        cell.note->setProperty("tone", "muted");
        cell.note->setFont(uiFont(-0.75));
        cell.value->setFont(uiFont(6, true));
        cell.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        for (QLabel* label : {cell.name, cell.value, cell.note}) {
            label->setTextFormat(Qt::PlainText);
            column->addWidget(label);
        }
        column->addStretch(1);
        cells_.append(cell);
    }
    for (int i = 0; i < cells_.size(); ++i) {
        const Cell& cell = cells_[i];
        cell.holder->setVisible(i < figures.size());
        if (i >= figures.size()) continue;
        cell.name->setText(figures[i].name);
        cell.value->setText(figures[i].value);
        cell.note->setText(figures[i].note);
    }
    if (shown_ == figures.size()) return;
    shown_ = static_cast<int>(figures.size());
    columns_ = 0;
    arrange();
}

QString FigureStrip::value(const QString& name) const {
    for (int i = 0; i < shown_; ++i)
        if (cells_[i].name->text() == name) return cells_[i].value->text();
    return {};
}

void FigureStrip::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

void FigureStrip::arrange() {
    const int most = std::clamp(width() / narrowestFigure, 2, std::max(2, shown_));
    // Rows of equal length: two and two rather than three and one.
    const int rows = std::max(1, (shown_ + most - 1) / most);
    const int columns = std::max(1, (shown_ + rows - 1) / rows);
    if (columns == columns_) return;
    columns_ = columns;
    for (const Cell& cell : cells_) grid_->removeWidget(cell.holder);
    for (int column = 0; column < grid_->columnCount(); ++column)
        grid_->setColumnStretch(column, column < columns ? 1 : 0);
    for (int i = 0; i < shown_; ++i) grid_->addWidget(cells_[i].holder, i / columns, i % columns);
    for (int column = 0; column < columns; ++column) grid_->setColumnStretch(column, 1);
}

}  // namespace plimsoll::ui
