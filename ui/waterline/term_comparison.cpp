// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/term_comparison.h"

#include <QCoreApplication>

#include "ui/common/escaped_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct TermComparison {
    Q_DECLARE_TR_FUNCTIONS(TermComparison)
};

QString none() { return QStringLiteral("–"); }

TextRow rowOf(const Term* before, const Term* after) {
    const Term& shown = after ? *after : *before;
    TextRow row;
    row.cells = {QString::fromStdString(shown.name), before ? bytesText(before->bytes) : none(),
                 after ? bytesText(after->bytes) : none(),
                 differenceText((after ? after->bytes : 0) - (before ? before->bytes : 0)),
                 QString::fromStdString(shown.formula)};
    row.tip = QStringLiteral("<p style='margin:0'><b>%1</b></p>").arg(escapedText(shown.name));
    const auto say = [&row](const QString& when, const Term* term) {
        row.tip += QStringLiteral("<p style='margin:4px 0 0 0'>%1: %2</p>")
                       .arg(when, term ? escapedText(term->formula) : TermComparison::tr("there is no such term"));
    };
    say(TermComparison::tr("Before"), before);
    say(TermComparison::tr("After"), after);
    row.tip += QStringLiteral("<p style='margin:4px 0 0 0'><i>%1</i></p>").arg(escapedText(shown.source));
    row.name = QString::fromStdString(shown.key);
    row.strong = (before ? before->bytes : 0) != (after ? after->bytes : 0);
    return row;
}

}  // namespace

QStringList comparisonHeaders() {
    return {TermComparison::tr("Term"), TermComparison::tr("Before"), TermComparison::tr("After"),
            TermComparison::tr("Difference"), TermComparison::tr("Formula")};
}

QList<TextRow> comparisonRows(const RankMemory& before, const RankMemory& after) {
    QList<TextRow> rows;
    for (const Term& term : after.terms) rows.append(rowOf(before.find(term.key), &term));
    for (const Term& term : before.terms)
        if (!after.find(term.key)) rows.append(rowOf(&term, nullptr));
    TextRow sum;
    sum.cells = {TermComparison::tr("Total"), bytesText(before.total()), bytesText(after.total()),
                 differenceText(after.total() - before.total()), QString()};
    sum.tip = TermComparison::tr("%1 bytes before, %2 after").arg(countText(before.total()), countText(after.total()));
    sum.strong = true;
    rows.append(sum);
    return rows;
}

const RankMemory& baselineRank(const MemoryBaseline& baseline, std::size_t index, std::size_t count) {
    return baseline.memory.stages.size() == count && index < count ? baseline.memory.stages[index]
                                                                   : baseline.memory.fullest();
}

QString differenceText(Bytes difference) {
    if (difference == 0) return bytesText(0);
    return (difference > 0 ? TermComparison::tr("+%1") : TermComparison::tr("−%1"))
        .arg(bytesText(difference > 0 ? difference : -difference));
}

}  // namespace plimsoll::ui
