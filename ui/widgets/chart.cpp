// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/chart.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QGuiApplication>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QSaveFile>

#include "ui/common/separated_text.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

QImage Chart::picture() {
    QImage image((QSizeF(size()) * printRatio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(printRatio);
    image.fill(Theme::of(palette()).surface);
    render(&image, QPoint(), QRegion(), RenderFlags());
    return image;
}

void Chart::copyData() const {
    TableText table(QLatin1Char('\t'));
    writeTable(table);
    QGuiApplication::clipboard()->setText(table.text());
}

void Chart::copyPicture() { QGuiApplication::clipboard()->setImage(picture()); }

bool Chart::saveTo(const QString& path) {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) {
        if (!picture().save(&file, "PNG")) return false;
    } else {
        TableText table(QLatin1Char(','));
        writeTable(table);
        file.write(table.text().toUtf8());
    }
    return file.commit();
}

void Chart::askWhereToSave(const QString& kind) {
    const QString name = accessibleName().toLower().replace(QLatin1Char(' '), QLatin1Char('-'));
    const QString path =
        QFileDialog::getSaveFileName(window(), tr("Save %1").arg(accessibleName()), name + kind,
                                     kind == QLatin1String(".png") ? tr("Pictures (*.png)") : tr("Tables (*.csv)"));
    if (path.isEmpty() || saveTo(path)) return;
    QMessageBox::warning(window(), tr("Not saved"),
                         tr("%1 cannot be written; is there room, and may you write there?").arg(path));
}

void Chart::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setAccessibleName(tr("%1, to copy or save").arg(accessibleName()));
    connect(menu->addAction(tr("Copy data")), &QAction::triggered, this, &Chart::copyData);
    connect(menu->addAction(tr("Copy picture")), &QAction::triggered, this, &Chart::copyPicture);
    menu->addSeparator();
    connect(menu->addAction(tr("Save data as CSV…")), &QAction::triggered, this,
            [this] { askWhereToSave(QStringLiteral(".csv")); });
    connect(menu->addAction(tr("Save picture as PNG…")), &QAction::triggered, this,
            [this] { askWhereToSave(QStringLiteral(".png")); });
    menu->popup(event->globalPos());
}

void Chart::paintFocus(QPainter& painter) const {
    if (!hasFocus()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(Theme::of(palette()).accent, 1));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
}

}  // namespace plimsoll::ui
