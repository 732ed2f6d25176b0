// SPDX-License-Identifier: GPL-3.0-or-later
// A plot's points as a table, and the plot as a picture.
#include <algorithm>
#include <optional>
#include <QPainter>

#include "ui/common/separated_text.h"
#include "ui/plots/line_plot.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

/// Walks the points of a line within a range of steps.
struct Walk {
    const Pyramid* data;
    std::size_t at;
    std::size_t end;
    std::optional<std::uint64_t> step() const { return at < end ? std::optional(data->step(at)) : std::nullopt; }
};

}  // namespace

void LinePlot::writeTable(TableText& table) const {
    QStringList names{tr("step")};
    std::vector<Walk> walks;
    for (const PlotLine& line : content().lines) {
        const Pyramid* points = line.data ? line.data() : nullptr;
        if (points == nullptr || points->size() == 0) continue;
        names << line.name;
        std::size_t end = points->lower_bound(shown().to);
        if (end < points->size() && static_cast<double>(points->step(end)) <= shown().to) ++end;
        walks.push_back({points, points->lower_bound(shown().from), end});
    }
    table.addRow(names);
    while (true) {
        std::optional<std::uint64_t> next;
        for (const Walk& walk : walks)
            if (const auto step = walk.step(); step && (!next || *step < *next)) next = step;
        if (!next) return;
        table.add(QString::number(*next));
        for (Walk& walk : walks) {
            if (walk.step() == next)
                table.add(walk.data->value(walk.at++));
            else
                table.addNothing();
        }
        table.endRow();
    }
}

QImage LinePlot::picture() {
    QImage image((QSizeF(size()) * printRatio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(printRatio);
    image.fill(Theme::of(palette()).surface);
    QPainter painter(&image);
    render(painter, rect(), printRatio);
    return image;
}

}  // namespace plimsoll::ui
