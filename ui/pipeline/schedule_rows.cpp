// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/schedule_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <QCoreApplication>
#include <QLocale>

#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/pipeline/pipeline_words.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

struct ScheduleRows {
    Q_DECLARE_TR_FUNCTIONS(ScheduleRows)
};

QString stepText(double share) {
    if (std::abs(share) < 5e-5) return ScheduleRows::tr("0 %");
    const QString number = QLocale().toString(std::abs(share) * 100, 'f', 1);
    return share < 0 ? ScheduleRows::tr("−%1 %").arg(number) : ScheduleRows::tr("+%1 %").arg(number);
}

}  // namespace

Alternative alternativeOf(Schedule schedule, WhatIf tried, const Plan& plan) {
    tried.schedule = schedule;
    Plan made = plan;
    made.layout.schedule_file.clear();
    return alternative_of(schedule, simulateWhatIf(tried, made));
}

QStringList scheduleHeaders() {
    return {ScheduleRows::tr("Schedule"), ScheduleRows::tr("Bubble"), ScheduleRows::tr("Step"),
            ScheduleRows::tr("Peak"), ScheduleRows::tr("Bubble per rank")};
}

QList<TextRow> scheduleTextRows(const std::vector<Alternative>& rows, Schedule shown) {
    const auto base =
        std::find_if(rows.begin(), rows.end(), [shown](const Alternative& row) { return row.kind == shown; });
    const double step = base != rows.end() && base->possible ? base->step : 0;
    QList<TextRow> texts;
    for (const Alternative& row : rows) {
        TextRow text;
        const QString title = QString::fromLatin1(schedule_title(row.kind));
        text.name = QString::fromLatin1(name_of(row.kind).data());
        text.strong = row.kind == shown;
        text.faint = !row.possible;
        text.tip = inWords(row.reason);
        if (row.possible) {
            const double change = step > 0 ? row.step / step - 1 : 0;
            text.cells = {title, percentText(row.bubble), step > 0 ? stepText(change) : QString(),
                          batchesText(row.peak_micro_batches), percentText(row.bubble_per_rank)};
            text.sort = {title.toLower(), row.bubble, change, row.peak_micro_batches, row.bubble_per_rank};
            text.tip =
                ScheduleRows::tr("%1: bubble %2 (a rank alone %3), %4 micro-batches of activations on the fullest rank")
                    .arg(title, percentText(row.bubble), percentText(row.bubble_per_rank),
                         batchesText(row.peak_micro_batches));
        } else {
            constexpr double last = std::numeric_limits<double>::max();
            text.cells = {title, ScheduleRows::tr("not possible")};
            text.sort = {title.toLower(), last, last, last, last};
        }
        texts << text;
    }
    return texts;
}

}  // namespace plimsoll::ui
