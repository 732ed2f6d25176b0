// SPDX-License-Identifier: GPL-3.0-or-later
// A QApplication without a screen, with folders of its own: no test sees the person's plans or runs.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLocale>
#include <QSettings>
#include <QTemporaryDir>

#include "ui/widgets/theme.h"

int main(int argc, char** argv) {
    const QTemporaryDir home;
    for (const char* name : {"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
        qputenv(name, home.path().toUtf8());
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    QApplication::setOrganizationName(QStringLiteral("plimsoll"));
    QApplication::setApplicationName(QStringLiteral("studio"));
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QApplication app(argc, argv);
    plimsoll::ui::applyTheme(app, plimsoll::ui::ThemeChoice::Light);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
