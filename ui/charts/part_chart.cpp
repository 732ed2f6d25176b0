// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/part_chart.h"

#include <algorithm>
#include <QChart>
#include <QChartView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLegend>
#include <QPainter>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/widgets/style_sheet.h"

namespace plimsoll::ui {

/// Qt Charts draws the series, this the words over them: both stand in one scene and in every picture of it.
class PartChart::View : public QChartView {
public:
    explicit View(PartChart* owner) : QChartView(owner), owner_(owner) {
        setFrameShape(QFrame::NoFrame);
        setRenderHint(QPainter::Antialiasing);
        setFocusPolicy(Qt::NoFocus);
        viewport()->setFocusPolicy(Qt::NoFocus);
        setBackgroundBrush(Qt::NoBrush);
        setStyleSheet(QStringLiteral("background: transparent"));
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        // The wheel scrolls the page, and the chart answers for what is under the mouse.
        setAttribute(Qt::WA_TransparentForMouseEvents);
        chart()->setAnimationOptions(QChart::NoAnimation);
        chart()->setDropShadowEnabled(false);
        chart()->setBackgroundVisible(false);
        chart()->setBackgroundRoundness(0);
        chart()->setMargins(QMargins());
        chart()->legend()->hide();
    }

protected:
    void drawForeground(QPainter* painter, const QRectF&) override { owner_->paintLines(*painter); }

private:
    PartChart* owner_;
};

PartChart::PartChart(const QString& title, const QString& unit, QWidget* parent)
    : Chart(parent), unit_(unit), view_(new View(this)) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(title);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QChart* PartChart::chart() const { return view_->chart(); }

void PartChart::setParts(std::vector<ChartPart> parts) {
    const bool resized = parts.size() != parts_.size();
    parts_ = std::move(parts);
    selected_ = std::min(selected_, static_cast<int>(parts_.size()) - 1);
    if (resized) updateGeometry();
    describe();
    rebuild();
}

void PartChart::describe() {
    if (selected_ >= 0) {
        setAccessibleDescription(words(parts_[static_cast<std::size_t>(selected_)]));
        return;
    }
    QStringList all;
    for (const ChartPart& part : parts_) all << words(part);
    setAccessibleDescription(all.join(QStringLiteral("; ")));
}

QString PartChart::words(const ChartPart& part) const {
    return QStringLiteral("%1: %2").arg(part.name, part.figures.join(QStringLiteral(", ")));
}

void PartChart::rebuild() {
    if (!isVisible()) {
        stale_ = true;
        return;
    }
    stale_ = false;
    QChart& chart = *view_->chart();
    chart.removeAllSeries();
    const QList<QAbstractAxis*> axes = chart.axes();
    for (QAbstractAxis* axis : axes) {
        chart.removeAxis(axis);
        delete axis;
    }
    if (!parts_.empty()) fill(chart, Theme::of(palette()));
    place();
}

void PartChart::place() {
    view_->setGeometry(rect());
    view_->chart()->setPlotArea(plotArea());
    repaintWords();
}

void PartChart::repaintWords() { view_->viewport()->update(); }

std::vector<double> PartChart::columnWidths() const {
    const QFontMetricsF metrics(lineFont());
    std::vector<double> widths{0};
    for (const ChartPart& part : parts_) {
        widths[0] = std::max(widths[0], metrics.horizontalAdvance(part.name));
        widths.resize(std::max(widths.size(), static_cast<std::size_t>(part.figures.size()) + 1));
        for (qsizetype i = 0; i < part.figures.size(); ++i) {
            double& width = widths[static_cast<std::size_t>(i) + 1];
            width = std::max(width, metrics.horizontalAdvance(part.figures[i]));
        }
    }
    return widths;
}

QRectF PartChart::line(std::size_t index) const {
    const QRectF all = linesArea();
    return {all.left(), all.top() + static_cast<double>(index) * lineHeight, all.width(), lineHeight};
}

void PartChart::paintLines(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    painter.setFont(lineFont());
    const QFontMetricsF metrics(painter.font());
    const std::vector<double> widths = columnWidths();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const ChartPart& part = parts_[i];
        const QRectF place = line(i);
        if (static_cast<int>(i) == selected_) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(mixed(theme.surface, theme.accent, 0.15));
            painter.drawRoundedRect(place.adjusted(-4, 1, 4, -1), 3, 3);
        }
        double left = place.left(), right = place.right();
        if (hasSwatches()) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(part.colour(theme));
            painter.drawRoundedRect(QRectF(left, place.center().y() - swatch / 2, swatch, swatch), 2, 2);
            left += swatch + 7;
        }
        painter.setPen(theme.ink);
        for (std::size_t column = widths.size() - 1; column > 0; --column) {
            const auto figure = static_cast<qsizetype>(column) - 1;
            painter.setPen(column == 1 ? theme.ink : theme.muted);
            painter.drawText(QRectF(right - widths[column], place.top(), widths[column], place.height()),
                             Qt::AlignRight | Qt::AlignVCenter, part.figures.value(figure));
            right -= widths[column] + columnGap;
        }
        painter.setPen(theme.ink);
        painter.drawText(QRectF(left, place.top(), right - left, place.height()), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(part.name, Qt::ElideRight, right - left));
    }
    paintMore(painter, theme);
    paintFocus(painter);
}

void PartChart::paintMore(QPainter&, const Theme&) const {}

int PartChart::partAt(const QPointF& at) const {
    for (std::size_t i = 0; i < parts_.size(); ++i)
        if (line(i).contains(at)) return static_cast<int>(i);
    return plotArea().contains(at) ? partInPlot(at) : -1;
}

QImage PartChart::picture() {
    if (stale_) rebuild();
    QImage image((QSizeF(size()) * printRatio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(printRatio);
    image.fill(Theme::of(palette()).surface);
    render(&image, QPoint(), QRegion(), RenderFlags(DrawChildren));
    return image;
}

void PartChart::writeTable(TableText& table) const {
    table.addRow(QStringList{tr("part")} + valueHeaders());
    for (const ChartPart& part : parts_) {
        table.add(part.name);
        table.add(part.value);
        if (valueHeaders().size() > 1) table.add(part.other);
        table.endRow();
    }
}

QSize PartChart::sizeHint() const {
    return {320, std::max(pictureHeight(), static_cast<int>(parts_.size()) * lineHeight)};
}

QSize PartChart::minimumSizeHint() const { return {200, sizeHint().height()}; }

bool PartChart::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return Chart::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = partAt(help->pos());
    if (index < 0) {
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    const ChartPart& part = parts_[static_cast<std::size_t>(index)];
    QToolTip::showText(help->globalPos(), part.tip.isEmpty() ? words(part) : part.tip, this);
    return true;
}

void PartChart::changeEvent(QEvent* event) {
    Chart::changeEvent(event);
    // A theme comes as a palette and a style sheet; the last of the two says how the chart looks.
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange ||
        event->type() == QEvent::FontChange)
        rebuild();
}

void PartChart::keyPressEvent(QKeyEvent* event) {
    const bool back = event->key() == Qt::Key_Up || event->key() == Qt::Key_Left;
    const bool on = event->key() == Qt::Key_Down || event->key() == Qt::Key_Right;
    if ((!back && !on) || parts_.empty()) return Chart::keyPressEvent(event);
    selected_ = std::clamp(selected_ + (back ? -1 : 1), 0, static_cast<int>(parts_.size()) - 1);
    describe();
    repaintWords();
}

void PartChart::focusInEvent(QFocusEvent* event) {
    Chart::focusInEvent(event);
    repaintWords();
}

void PartChart::focusOutEvent(QFocusEvent* event) {
    Chart::focusOutEvent(event);
    selected_ = -1;
    describe();
    repaintWords();
}

void PartChart::resizeEvent(QResizeEvent* event) {
    Chart::resizeEvent(event);
    place();
}

void PartChart::showEvent(QShowEvent* event) {
    Chart::showEvent(event);
    if (stale_) rebuild();
}

}  // namespace plimsoll::ui
