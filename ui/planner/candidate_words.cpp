// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/candidate_words.h"

#include <algorithm>
#include <cmath>
#include <QCoreApplication>
#include <QLocale>

#include "core/frameworks/estimate_under.h"
#include "core/plan/checks/check_plan.h"
#include "core/planner/layout_text.h"
#include "ui/common/mid_sentence.h"
#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/waterline/term_comparison.h"
#include "ui/waterline/time_parts.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct CandidateWords {
    Q_DECLARE_TR_FUNCTIONS(CandidateWords)
};

constexpr double tells = 0.0005;
constexpr int fewReasons = 3;

QString qt(const std::string& text) { return QString::fromStdString(text); }
QString none() { return QStringLiteral("–"); }

/// "+0.41 s", "−1.2 ms".
QString secondsDifference(Seconds difference) {
    if (difference == 0) return none();
    return (difference > 0 ? QStringLiteral("+%1") : QStringLiteral("−%1")).arg(secondsText(std::abs(difference)));
}

QString shareDifference(double before, double after) {
    if (before <= 0) return none();
    const double change = after / before - 1;
    if (std::abs(change) < tells) return CandidateWords::tr("same");
    return (change > 0 ? QStringLiteral("+%1") : QStringLiteral("−%1")).arg(percentText(std::abs(change)));
}

/// The parts that change most, the largest first.
QStringList reasons(const StepTime& before, const StepTime& after) {
    std::vector<std::pair<TimePart, Seconds>> changes;
    for (std::size_t i = 0; i < before.parts.size(); ++i)
        changes.emplace_back(static_cast<TimePart>(i), after.parts[i] - before.parts[i]);
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
    QStringList words;
    for (const auto& [part, change] : changes) {
        if (words.size() == fewReasons || std::abs(change) < tells * before.total()) break;
        words << (change < 0 ? CandidateWords::tr("%1 less %2") : CandidateWords::tr("%1 more %2"))
                     .arg(secondsText(std::abs(change)), midSentence(timePartName(part)));
    }
    return words;
}

void heading(const QString& name, QList<TextRow>& rows) {
    TextRow row;
    row.cells = {name};
    row.strong = true;
    rows.append(row);
}

void line(const QString& name, const QString& first, const QString& second, const QString& difference,
          QList<TextRow>& rows) {
    TextRow row;
    row.cells = {name, first, second, difference};
    rows.append(row);
}

void settingRows(const Plan& first, const Plan& second, QList<TextRow>& rows) {
    const QHash<QString, QString> a = planTexts(first), b = planTexts(second);
    heading(CandidateWords::tr("Settings that differ"), rows);
    const auto before = rows.size();
    for (const PlanField& field : planFields()) {
        if (!field.key.startsWith(QLatin1String("layout.")) && !field.key.startsWith(QLatin1String("cluster.")))
            continue;
        if (a.value(field.key) == b.value(field.key)) continue;
        const auto shown = [&field](const QString& text) {
            if (field.kind != PlanField::Kind::Flag) return shownText(field, text);
            return text == QLatin1String("true") ? CandidateWords::tr("on") : CandidateWords::tr("off");
        };
        line(field.label, shown(a.value(field.key)), shown(b.value(field.key)), QString(), rows);
    }
    if (rows.size() == before) line(CandidateWords::tr("none"), QString(), QString(), QString(), rows);
}

void timeRows(const StepReport& first, const StepReport& second, QList<TextRow>& rows) {
    heading(CandidateWords::tr("Time"), rows);
    line(CandidateWords::tr("Step"), secondsText(first.step), secondsText(second.step),
         shareDifference(first.step, second.step), rows);
    line(CandidateWords::tr("Tokens/s"), formatValue(ValueKind::Short, first.tokens_per_second),
         formatValue(ValueKind::Short, second.tokens_per_second),
         shareDifference(first.tokens_per_second, second.tokens_per_second), rows);
    line(CandidateWords::tr("MFU"), percentText(first.mfu), percentText(second.mfu),
         shareDifference(first.mfu, second.mfu), rows);
    for (std::size_t i = 0; i < time_part_names.size(); ++i) {
        const auto part = static_cast<TimePart>(i);
        const Seconds a = first.time.of(part), b = second.time.of(part);
        if (a <= 0 && b <= 0) continue;
        line(timePartName(part), a > 0 ? secondsText(a) : none(), b > 0 ? secondsText(b) : none(),
             secondsDifference(b - a), rows);
    }
}

void memoryRows(const MemoryEstimate& first, const MemoryEstimate& second, QList<TextRow>& rows) {
    heading(CandidateWords::tr("Memory of the fullest rank"), rows);
    const RankMemory &a = first.fullest(), &b = second.fullest();
    line(CandidateWords::tr("Total"), bytesText(a.total()), bytesText(b.total()), differenceText(b.total() - a.total()),
         rows);
    for (std::size_t i = 0; i < category_names.size(); ++i) {
        const auto category = static_cast<Category>(i);
        if (a.of(category) == 0 && b.of(category) == 0) continue;
        line(categoryName(category), bytesText(a.of(category)), bytesText(b.of(category)),
             differenceText(b.of(category) - a.of(category)), rows);
    }
}

}  // namespace

LayoutFigures figuresOfPlan(const Plan& plan, Framework framework) {
    LayoutFigures figures;
    figures.plan = plan;
    if (!check_plan(plan).empty()) return figures;
    if (Result<MemoryEstimate> memory = estimate_under(framework, plan)) figures.memory = *std::move(memory);
    const Result<Hardware> hardware = hardware_of(plan.cluster, plan.numerics.dtype);
    if (!hardware) return figures;
    if (Result<StepReport> step = step_time(plan, *hardware)) figures.step = *std::move(step);
    return figures;
}

QString countsWords(const SearchCounts& counts) {
    const QString threads =
        counts.threads == 1 ? CandidateWords::tr("1 thread") : CandidateWords::tr("%1 threads").arg(counts.threads);
    return CandidateWords::tr("%1 layouts in %2 on %3: %4 evaluated, %5 ruled out")
        .arg(countText(counts.layouts), secondsText(counts.seconds), threads, countText(counts.evaluated),
             countText(counts.pruned));
}

QString besideWords(const LayoutFigures& present, const LayoutFigures& candidate) {
    if (!candidate.step || !candidate.memory) return {};
    if (present.plan.layout == candidate.plan.layout && present.plan.cluster == candidate.plan.cluster)
        return CandidateWords::tr("This is the plan's layout.");
    if (!present.step || !present.memory)
        return CandidateWords::tr("The plan's own layout is impossible here; this one takes %1 per step.")
            .arg(secondsText(candidate.step->step));
    const Bytes less = present.memory->fullest().total() - candidate.memory->fullest().total();
    const QString memory = less == 0 ? CandidateWords::tr("as much memory")
                                     : (less > 0 ? CandidateWords::tr("%1 less on the fullest rank")
                                                 : CandidateWords::tr("%1 more on the fullest rank"))
                                           .arg(bytesText(std::abs(less)));
    // With another batch, the time of as many tokens compares what step times cannot.
    const double longer = present.step->tokens_per_second / candidate.step->tokens_per_second - 1;
    const QString speed = std::abs(longer) < tells ? CandidateWords::tr("As fast as the plan's layout")
                          : longer < 0
                              ? CandidateWords::tr("%1 faster than the plan's layout").arg(percentText(-longer))
                              : CandidateWords::tr("%1 slower than the plan's layout").arg(percentText(longer));
    const QStringList why = reasons(present.step->time, candidate.step->time);
    const QString fits = !present.memory->fits() && candidate.memory->fits()
                             ? CandidateWords::tr(" · fits, unlike the plan's")
                             : QString();
    return (why.isEmpty() ? speed : CandidateWords::tr("%1: %2").arg(speed, why.join(QStringLiteral(", ")))) +
           QStringLiteral(" · ") + memory + fits;
}

QString budgetWords(const PlanRequest& request, const LayoutFigures& candidate) {
    if (request.tokens <= 0 || !candidate.step) return {};
    const Budget budget =
        budget_of(*candidate.step, candidate.plan.cluster.world_size(), request.tokens, request.price_per_gpu_hour);
    constexpr double day = 86'400;
    const QString time = budget.time >= day
                             ? CandidateWords::tr("%1 days").arg(QLocale().toString(budget.time / day, 'f', 1))
                             : secondsText(budget.time);
    QString words = CandidateWords::tr("%1 tokens: %2, %3 GPU-hours")
                        .arg(formatValue(ValueKind::Short, budget.tokens), time,
                             QLocale().toString(budget.gpu_hours, 'f', budget.gpu_hours < 10 ? 2 : 0));
    if (budget.price > 0) words += CandidateWords::tr(", price %1").arg(QLocale().toString(budget.price, 'f', 0));
    return words;
}

QStringList sideBySideHeaders(const QString& first, const QString& second) {
    return {QString(), first, second, CandidateWords::tr("Difference")};
}

QList<TextRow> sideBySideRows(const LayoutFigures& first, const LayoutFigures& second) {
    QList<TextRow> rows;
    settingRows(first.plan, second.plan, rows);
    if (first.step && second.step) timeRows(*first.step, *second.step, rows);
    if (first.memory && second.memory) memoryRows(*first.memory, *second.memory, rows);
    return rows;
}

QStringList neighbourHeaders() { return {CandidateWords::tr("Change"), CandidateWords::tr("Why it was not taken")}; }

QList<TextRow> neighbourRows(const std::vector<Neighbour>& neighbours) {
    QList<TextRow> rows;
    for (const Neighbour& neighbour : neighbours) {
        TextRow row;
        row.cells = {qt(neighbour.change), inWords(neighbour.reason)};
        row.faint = !neighbour.candidate;
        rows.append(row);
    }
    return rows;
}

QStringList recommendationHeaders() {
    return {CandidateWords::tr("Common advice"), CandidateWords::tr("Here"), CandidateWords::tr("Why")};
}

QList<TextRow> recommendationRows(const std::vector<Recommendation>& recommendations) {
    QList<TextRow> rows;
    for (const Recommendation& each : recommendations) {
        TextRow row;
        row.cells = {qt(each.rule), each.holds ? CandidateWords::tr("holds") : CandidateWords::tr("differs"),
                     qt(each.why)};
        row.tip =
            QStringLiteral("<p style='margin:0'><b>%1</b><br>%2</p><p style='margin:4px 0 0 0'><i>%3</i></p>")
                .arg(qt(each.rule).toHtmlEscaped(), qt(each.why).toHtmlEscaped(), qt(each.source).toHtmlEscaped());
        rows.append(row);
    }
    return rows;
}

QStringList relaxationHeaders() {
    return {CandidateWords::tr("Relax a constraint"), CandidateWords::tr("The best layout then"), QString()};
}

QList<TextRow> relaxationRows(const std::vector<Relaxation>& relaxations) {
    QList<TextRow> rows;
    for (const Relaxation& each : relaxations) {
        TextRow row;
        row.cells = {qt(each.words),
                     each.candidate ? CandidateWords::tr("%1 · %2 per step · %3")
                                          .arg(qt(layout_words(each.candidate->layout)),
                                               secondsText(each.candidate->step), bytesText(each.candidate->peak))
                                    : QString(),
                     each.candidate || !each.settings.empty() ? CandidateWords::tr("Apply") : QString()};
        rows.append(row);
    }
    return rows;
}

}  // namespace plimsoll::ui
