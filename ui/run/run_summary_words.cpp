// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_summary_words.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "core/plan/plan_difference.h"
#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

namespace {

struct Summary {
    Q_DECLARE_TR_FUNCTIONS(RunSummary)
};

constexpr qsizetype mostNamed = 3;

/// Names and folders do not change what is trained.
bool isNameOnly(const QString& key) {
    return key == QLatin1String("name") || key == QLatin1String("model.name") || key == QLatin1String("model.preset") ||
           key.startsWith(QLatin1String("export."));
}

}  // namespace

QString summaryStatus(const RunSummary& run) {
    if (!run.readable) return Summary::tr("unreadable");
    const QString status = runStatusText(run.state.status);
    if (run.state.started <= 0) return status;
    return Summary::tr("%1, started %2")
        .arg(status, QLocale().toString(dateTime(run.state.started), QLocale::ShortFormat));
}

QString summarySteps(const RunSummary& run) {
    if (run.step <= 0) return {};
    const QString done = formatStep(static_cast<double>(run.step));
    if (!run.plan || run.plan->training.steps <= 0) return done;
    return Summary::tr("%1 of %2").arg(done, formatStep(static_cast<double>(run.plan->training.steps)));
}

QString summaryLoss(const RunSummary& run) { return run.loss ? formatValue(ValueKind::Plain, *run.loss) : QString(); }

QString summaryPlan(const RunSummary& run) { return run.plan ? planSummary(*run.plan) : QString(); }

QString summaryPrecision(const RunSummary& run) {
    return run.plan ? QString::fromUtf8(name_of(run.plan->numerics.dtype).data()) : QString();
}

QString changesBetween(const Plan& earlier, const Plan& later) {
    QStringList named;
    for (const FieldDifference& each : differences(earlier, later)) {
        const QString key = QString::fromStdString(each.key);
        if (isNameOnly(key)) continue;
        const PlanField* field = findPlanField(key);
        QString after = QString::fromStdString(each.after);
        if (after.size() > 1 && after.startsWith(QLatin1Char('"'))) after = after.mid(1, after.size() - 2);
        if (field) after = shownText(*field, after);
        if (after.contains(QLatin1Char('/'))) after = after.section(QLatin1Char('/'), -1);
        named.append(QStringLiteral("%1 %2").arg(field ? field->label : key, after));
    }
    if (named.size() <= mostNamed) return named.join(QStringLiteral(", "));
    const qsizetype more = named.size() - mostNamed;
    return Summary::tr("%1 and %2 more").arg(named.mid(0, mostNamed).join(QStringLiteral(", "))).arg(more);
}

}  // namespace plimsoll::ui
