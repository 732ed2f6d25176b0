// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/screenshots.h"

#include <fmt/format.h>

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QThread>

#include "ui/pages/main_window.h"

namespace plimsoll::studio {

namespace {

/// Texts and runs are read on other threads: give them the time a person would.
constexpr int settle_ms = 700;

void settle() {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < settle_ms) {
        QApplication::processEvents(QEventLoop::AllEvents, 20);
        QThread::msleep(5);
    }
}

}  // namespace

bool write_screenshots(ui::MainWindow& window, const QString& folder) {
    if (!QDir().mkpath(folder)) {
        fmt::print(stderr, "plimsoll-studio: cannot create the folder {}\n", folder.toStdString());
        return false;
    }
    static constexpr const char* names[] = {"model", "hardware", "layout", "recipe", "data", "watch", "export"};
    static_assert(std::size(names) == ui::pageCount);
    for (int i = 0; i < ui::pageCount; ++i) {
        window.showPage(static_cast<ui::PageId>(i));
        settle();
        const QString path = QDir(folder).filePath(QString::fromLatin1(names[i]) + QStringLiteral(".png"));
        if (!window.grab().save(path)) {
            fmt::print(stderr, "plimsoll-studio: cannot write {}\n", path.toStdString());
            return false;
        }
        fmt::print("{}\n", path.toStdString());
    }
    return true;
}

}  // namespace plimsoll::studio
