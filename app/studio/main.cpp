// SPDX-License-Identifier: GPL-3.0-or-later
// plimsoll-studio: the window, or the same job in the terminal.
#include <fmt/format.h>

#include <QApplication>
#include <QIcon>
#include <QSettings>
#include <QTemporaryDir>

#include "app/studio/headless.h"
#include "app/studio/options.h"
#include "app/studio/screenshots.h"
#include "core/base/output.h"
#include "core/base/version.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_model.h"
#include "ui/widgets/theme.h"
#include "ui/window/main_window.h"

namespace {

using plimsoll::studio::Options;

bool has_display() {
    // A platform chosen by name (offscreen, vnc) needs no display.
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        if (!qEnvironmentVariableIsEmpty(name)) return true;
    return false;
}

plimsoll::ui::ThemeChoice theme_of(const Options& options) {
    using plimsoll::ui::ThemeChoice;
    if (options.theme == "light") return ThemeChoice::Light;
    if (options.theme == "dark") return ThemeChoice::Dark;
    if (options.theme == "system") return ThemeChoice::System;
    const int stored = QSettings().value(QStringLiteral("theme"), 0).toInt();
    return stored >= 0 && stored <= 2 ? static_cast<ThemeChoice>(stored) : ThemeChoice::System;
}

/// Hides the offscreen platform's remarks on missing abilities, on which nobody can act.
void quiet_about_the_platform(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    for (const char* remark : {"This plugin does not support", "QStandardPaths: XDG_RUNTIME_DIR not set"})
        if (message.startsWith(QLatin1String(remark))) return;
    plimsoll::print_error(qFormatLogMessage(type, context, message).toStdString() + "\n");
}

int show_window(QApplication& app, const Options& options) {
    // The window tells what is wrong with a plan; pictures of another plan than the named one help nobody.
    if (!options.screenshot_dir.empty() && !options.plan.empty()) {
        if (const auto plan = plimsoll::plan_from_argument(options.plan); !plan) {
            plimsoll::print_error(fmt::format("plimsoll-studio: {}\n", plan.error().message));
            return plimsoll::exit_code(plan.error());
        }
    }
    plimsoll::ui::applyTheme(app, theme_of(options));
    // Pictures are made by edits of their own: the person's draft and list of recent plans stay as they are.
    const QTemporaryDir state_of_pictures;
    if (!options.screenshot_dir.empty()) qputenv("XDG_STATE_HOME", state_of_pictures.path().toUtf8());
    plimsoll::ui::MainWindow window;
    window.begin(QString::fromStdString(options.plan));
    if (!options.run.empty()) {
        const plimsoll::Result<plimsoll::RunFolder> run = plimsoll::find_run(options.run);
        if (!run) {
            plimsoll::print_error(fmt::format("plimsoll-studio: {}\n", run.error().message));
            return plimsoll::exit_code(run.error());
        }
        window.run()->open(QString::fromStdString(run->path().string()));
        window.showPage(plimsoll::ui::PageId::Watch);
    }
    if (!options.page.empty()) window.showPage(*plimsoll::ui::pageByName(QString::fromStdString(options.page)));
    window.show();
    if (options.screenshot_dir.empty()) {
        const int code = QApplication::exec();
        if (plimsoll::ui::isUnderWay(*window.run())) {
            const std::string name = window.run()->runName().toStdString();
            plimsoll::print(fmt::format(
                "{} keeps running in the background; `plimsoll watch {}` or the studio shows it\n", name, name));
        }
        return code;
    }
    window.resize(options.width, options.height);
    if (!plimsoll::studio::write_screenshots(window, QString::fromStdString(options.screenshot_dir))) return 1;
    const plimsoll::Result<void> written = plimsoll::finish_output();
    if (!written) plimsoll::print_error(fmt::format("plimsoll-studio: {}\n", written.error().message));
    return written ? 0 : plimsoll::exit_code(written.error());
}

}  // namespace

int main(int argc, char** argv) {
    plimsoll::prepare_output();
    const plimsoll::studio::Parsed parsed = plimsoll::studio::parse_options(argc, argv);
    if (!parsed.options) return parsed.exit_code;
    Options options = *parsed.options;
    if (!options.headless && options.screenshot_dir.empty() && !has_display()) {
        plimsoll::print(
            "There is no display here (DISPLAY and WAYLAND_DISPLAY are not set), so the plan is trained in this "
            "terminal and the plots are drawn to PNG files at the end.\n");
        options.headless = true;
    }
    if (options.headless || !has_display()) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication::setOrganizationName(QStringLiteral("plimsoll"));
    QApplication::setApplicationName(QStringLiteral("studio"));
    QApplication::setApplicationDisplayName(QStringLiteral("Plimsoll"));
    QApplication::setApplicationVersion(QString::fromLatin1(plimsoll::version()));
    QApplication::setDesktopFileName(QStringLiteral("plimsoll"));
    QSettings::setDefaultFormat(QSettings::IniFormat);
    qInstallMessageHandler(quiet_about_the_platform);
    QApplication app(argc, argv);
    QApplication::setDesktopFileName(QStringLiteral("plimsoll-studio"));
    QApplication::setWindowIcon(QIcon::fromTheme(QStringLiteral("plimsoll-studio")));
    return options.headless ? plimsoll::studio::run_headless(options) : show_window(app, options);
}
