// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/plot_export.h"

#include <QApplication>
#include <QCoreApplication>
#include <QDir>
#include <QEventLoop>
#include <QImage>
#include <QPainter>

#include "ui/plots/line_plot.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"
#include "ui/run/watch_page.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr QSize plotSize(900, 320);
constexpr QSize sheetSize(1270, 720);
constexpr qreal ratio = 2;

QImage blank(QSize size, const QColor& background) {
    QImage image(size * ratio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(background);
    return image;
}

QImage picture(const LinePlot& plot, const Theme& theme) {
    QImage image = blank(plotSize, theme.surface);
    QPainter painter(&image);
    painter.setPen(theme.ink);
    painter.setFont(uiFont(0, true));
    painter.drawText(QRectF(14, 10, plotSize.width() - 28, 20), Qt::AlignLeft | Qt::AlignVCenter,
                     plot.accessibleName());
    painter.setPen(theme.muted);
    painter.setFont(uiFont());
    painter.drawText(QRectF(14, 10, plotSize.width() - 28, 20), Qt::AlignRight | Qt::AlignVCenter,
                     plot.accessibleDescription());
    painter.translate(8, 38);
    plot.render(painter, QRectF(0, 0, plotSize.width() - 16, plotSize.height() - 46), ratio);
    return image;
}

QString fileName(const QString& title) {
    return title.toLower().replace(QLatin1Char(' '), QLatin1Char('-')) + QStringLiteral(".png");
}

}  // namespace

QStringList renderPlots(const QString& runPath, const QString& dir, bool dark, QString* problem) {
    const auto fail = [problem](const QString& sentence) {
        if (problem != nullptr) *problem = sentence;
    };
    if (!QDir().mkpath(dir)) {
        fail(QCoreApplication::translate("PlotExport", "The folder %1 cannot be made; choose another one.").arg(dir));
        return {};
    }
    const Theme& theme = dark ? Theme::darkTheme() : Theme::light();

    RunModel run;
    WatchPage page(&run);
    page.setAttribute(Qt::WA_DontShowOnScreen);
    applyTheme(page, dark);
    page.resize(sheetSize);
    page.show();
    QEventLoop reading;
    QObject::connect(&run, &RunModel::caughtUp, &reading, &QEventLoop::quit);
    run.open(runPath);
    reading.exec();
    if (run.series().series().empty()) {
        const auto notice = noticeFor(run, false);
        fail(notice ? notice->sentence : QString());
        return {};
    }

    QStringList written;
    const auto save = [&](const QImage& image, const QString& name) {
        const QString path = QDir(dir).filePath(name);
        if (image.save(path, "PNG"))
            written << path;
        else
            fail(QCoreApplication::translate("PlotExport",
                                             "%1 cannot be written; is there room, and may you write there?")
                     .arg(path));
    };
    QCoreApplication::processEvents(QEventLoop::ExcludeUserInputEvents);  // the layout settles
    QImage sheet = blank(sheetSize, theme.bg);
    page.render(&sheet);
    save(sheet, QStringLiteral("overview.png"));
    for (const LinePlot* plot : page.plots()) save(picture(*plot, theme), fileName(plot->accessibleName()));
    return written;
}

}  // namespace plimsoll::ui
