// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of what a whole is made of, by Qt Charts, and beside it a line a part: name and figures.
#pragma once

#include <functional>
#include <QStringList>
#include <vector>

#include "ui/widgets/chart.h"
#include "ui/widgets/theme.h"

class QChart;
class QChartView;

namespace plimsoll::ui {

struct ChartPart {
    QString name;
    double value = 0;
    QStringList figures;  ///< for a person, right-aligned columns: "26.1 GiB", "33.0 %"
    std::function<QColor(const Theme&)> colour;
    double other = 0;  ///< the same part of what it is compared with, where the chart compares
    QString tip{};     ///< rich text of the tooltip; "": name and figures
};

/// Follows the theme, is walked with the arrow keys, tells a part under the mouse, is copied and saved as every chart.
class PartChart : public Chart {
    Q_OBJECT
public:
    void setParts(std::vector<ChartPart> parts);
    const std::vector<ChartPart>& parts() const { return parts_; }
    /// The series as they are drawn; kept up to date while the chart is visible.
    QChart* chart() const;

    void writeTable(TableText& table) const override;
    QImage picture() override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

    static constexpr int lineHeight = 22;

protected:
    PartChart(const QString& title, const QString& unit, QWidget* parent);

    /// Series and axes, anew; the plot area is that of `plotArea`.
    virtual void fill(QChart& chart, const Theme& theme) const = 0;
    /// Where Qt Charts draws.
    virtual QRectF plotArea() const = 0;
    /// Where the lines stand.
    virtual QRectF linesArea() const = 0;
    /// Under a place of the plot area; -1: none.
    virtual int partInPlot(const QPointF& at) const = 0;
    /// Over picture and lines.
    virtual void paintMore(QPainter& painter, const Theme& theme) const;
    virtual bool hasSwatches() const = 0;
    virtual int pictureHeight() const { return 0; }
    /// Of the columns of `writeTable`.
    virtual QStringList valueHeaders() const { return {unit_}; }

    /// Widths of the columns of the lines, the name first, at their widest.
    std::vector<double> columnWidths() const;
    /// What is painted over the series has changed.
    void repaintWords();
    QFont lineFont() const { return uiFont(-0.75); }
    static constexpr double columnGap = 14, swatch = 10;

    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    class View;
    void rebuild();
    void place();
    void describe();
    int partAt(const QPointF& at) const;
    QRectF line(std::size_t index) const;
    QString words(const ChartPart& part) const;
    void paintLines(QPainter& painter) const;

    std::vector<ChartPart> parts_;
    QString unit_;
    View* view_;
    int selected_ = -1;  ///< by keyboard
    bool stale_ = false;
};

}  // namespace plimsoll::ui
