// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/lint_text.h"

#include <QCoreApplication>

#include "core/base/file.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "ui/common/escaped_text.h"

namespace plimsoll::ui {

namespace {

QString say(const char* sentence) { return QCoreApplication::translate("LintText", sentence); }

QString levelWord(DeepSpeedFinding::Level level) {
    switch (level) {
        case DeepSpeedFinding::Level::Refused:
            return say("Refused");
        case DeepSpeedFinding::Level::Danger:
            return say("Danger");
        case DeepSpeedFinding::Level::Ignored:
            return say("Ignored");
        case DeepSpeedFinding::Level::Deprecated:
            return say("Deprecated");
        case DeepSpeedFinding::Level::Note:
            return say("Note");
    }
    return {};
}

QString lintParagraph(const DeepSpeedFinding& finding) {
    const QString key = escapedText(finding.key);
    const QString sentence = escapedText(finding.sentence);
    return QStringLiteral("<p><b>%1</b> %2%3</p>")
        .arg(levelWord(finding.level), key.isEmpty() ? QString() : QStringLiteral("<code>%1</code>: ").arg(key),
             sentence);
}

}  // namespace

LintText lintText(const QString& config, const Plan& plan) {
    if (config.trimmed().isEmpty()) return {};
    const DeepSpeedLaunch launch = deepspeed_launch(plan);
    const Result<DeepSpeedLint> lint = lint_deepspeed(config.toStdString(), say("The text").toStdString(), launch);
    if (!lint) {
        const QString reason = escapedText(lint.error().message);
        return {say("Invalid JSON"), QStringLiteral("<p>%1</p>").arg(reason), false};
    }
    LintText text;
    text.clean = lint->clean();
    for (const DeepSpeedFinding& each : lint->findings) text.findings += lintParagraph(each);
    const auto troubles = static_cast<qsizetype>(lint->troubles());
    text.verdict = (lint->accepted() ? say("DeepSpeed %1 accepts it on %2 ranks; troubles: %3")
                                     : say("DeepSpeed %1 refuses it on %2 ranks; troubles: %3"))
                       .arg(QString::fromStdString(launch.release))
                       .arg(launch.world)
                       .arg(troubles);
    return text;
}

Result<QString> readConfig(const QString& path) {
    return read_file(path.toStdString(), 4 * MiB).map([](const std::string& text) {
        return QString::fromStdString(text);
    });
}

}  // namespace plimsoll::ui
