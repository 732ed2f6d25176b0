// SPDX-License-Identifier: GPL-3.0-or-later
// A few figures beside each other, each with its name above and its meaning below.
#pragma once

#include <QGridLayout>
#include <QLabel>

#include "ui/pipeline/pipeline_words.h"

namespace plimsoll::ui {

class FigureStrip : public QWidget {
    Q_OBJECT
public:
    explicit FigureStrip(QWidget* parent = nullptr);

    void setFigures(const QList<Figure>& figures);
    /// The figure's text; "" for a figure that is not shown.
    QString value(const QString& name) const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Cell {
        QWidget* holder;
        QLabel *name, *value, *note;
    };
    void arrange();

    QGridLayout* grid_;
    QList<Cell> cells_;
    int shown_ = 0;
    int columns_ = 0;
};

}  // namespace plimsoll::ui
