// SPDX-License-Identifier: GPL-3.0-or-later
// The problems of a DeepSpeed config that was pasted or opened.
#pragma once

#include <QString>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::ui {

struct LintText {
    QString verdict;   ///< one line
    QString findings;  ///< rich text, a paragraph each; the gravest first
    bool clean = false;
};
/// Checks the config for the plan's ranks and DeepSpeed release. An empty text has an empty verdict.
LintText lintText(const QString& config, const Plan& plan);

/// A file's text, for the box. The error says why it cannot be read.
Result<QString> readConfig(const QString& path);

}  // namespace plimsoll::ui
