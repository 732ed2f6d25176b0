// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/candidate_table.h"

#include <algorithm>
#include <QFont>
#include <QGuiApplication>
#include <QLocale>

#include "core/planner/layout_text.h"
#include "ui/common/escaped_text.h"
#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

double bubbleOf(const Candidate& candidate) {
    return candidate.step > 0 ? candidate.time.of(TimePart::Bubble) / candidate.step : 0;
}

/// Four figures, because the best steps differ little.
QString preciseSeconds(Seconds seconds) {
    const Unit unit = unitFor(ValueKind::Seconds, seconds);
    const double value = seconds / unit.size;
    return withUnit(QLocale().toString(value, 'f', value < 9.9995 ? 3 : value < 99.995 ? 2 : 1), unit);
}

QString wordsOf(const Candidate& candidate) { return QString::fromStdString(layout_words(candidate.layout)); }

}  // namespace

bool sameLayout(const Candidate& a, const Candidate& b) { return a.layout == b.layout && a.cluster == b.cluster; }

void CandidateTable::setAnswer(const PlannerAnswer* answer, const Plan& present) {
    std::vector<CandidateRow> rows;
    const auto isPresent = [&present](const Candidate& c) {
        return c.layout == present.layout && c.cluster == present.cluster;
    };
    if (answer) {
        int rank = 0;
        for (const Candidate& candidate : answer->result.ranked)
            rows.push_back({candidate, ++rank, isPresent(candidate)});
        const auto ranked = static_cast<std::ptrdiff_t>(rows.size());
        for (const Candidate& candidate : answer->result.front) {
            const auto same = std::find_if(rows.begin(), rows.begin() + ranked, [&candidate](const CandidateRow& row) {
                return sameLayout(row.candidate, candidate);
            });
            if (same == rows.begin() + ranked)
                rows.push_back({candidate, 0, isPresent(candidate)});
            else
                same->candidate.on_front = true;
        }
    }
    usable_ = answer ? answer->usable : 0;
    if (rows.size() == rows_.size()) {
        rows_ = std::move(rows);
        if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        return;
    }
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
}

int CandidateTable::rowOf(const Candidate& candidate) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&candidate](const CandidateRow& row) {
        return sameLayout(row.candidate, candidate);
    });
    return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

int CandidateTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CandidateTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString CandidateTable::text(const CandidateRow& row, int column) const {
    const Candidate& candidate = row.candidate;
    switch (column) {
        case Rank:
            return row.rank > 0 ? QLocale().toString(row.rank) : QStringLiteral("–");
        case Words:
            return wordsOf(candidate);
        case Gpus:
            return countText(candidate.gpus());
        case Step:
            return preciseSeconds(candidate.step);
        case Tokens:
            return formatValue(ValueKind::Short, candidate.tokens_per_second);
        case Mfu:
            return percentText(candidate.mfu);
        case Peak:
            return bytesText(candidate.peak);
        case Risk:
            return candidate.out_of_memory < 0.001 ? tr("< 0.1 %") : percentText(candidate.out_of_memory);
        case Host:
            return candidate.host > 0 ? bytesText(host_of_machine(candidate)) : QStringLiteral("–");
        case Bubble:
            return candidate.layout.pp > 1 ? percentText(bubbleOf(candidate)) : QStringLiteral("–");
        case Price:
            return formatValue(ValueKind::Plain, candidate.price_per_million_tokens);
        case Front:
            return candidate.on_front ? QStringLiteral("●") : QString();
        default:
            return {};
    }
}

QVariant CandidateTable::sortKey(const CandidateRow& row, int column) const {
    const Candidate& candidate = row.candidate;
    switch (column) {
        case Rank:
            return row.rank > 0 ? row.rank : rowCount() + 1;
        case Gpus:
            return QVariant::fromValue<qlonglong>(candidate.gpus());
        case Step:
            return candidate.step;
        case Tokens:
            return candidate.tokens_per_second;
        case Mfu:
            return candidate.mfu;
        case Peak:
            return QVariant::fromValue<qlonglong>(candidate.peak);
        case Risk:
            return candidate.out_of_memory;
        case Host:
            return QVariant::fromValue<qlonglong>(host_of_machine(candidate));
        case Bubble:
            return bubbleOf(candidate);
        case Price:
            return candidate.price_per_million_tokens;
        case Front:
            return candidate.on_front ? 0 : 1;
        default:
            return text(row, column);
    }
}

QVariant CandidateTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const CandidateRow& row = rows_[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    switch (role) {
        case Qt::DisplayRole:
            return text(row, column);
        case Qt::AccessibleTextRole:
            return column == Front
                       ? (row.candidate.on_front ? tr("on the Pareto front") : tr("not on the Pareto front"))
                       : QStringLiteral("%1: %2").arg(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(),
                                                      text(row, column));
        case Qt::ToolTipRole:
            if (column == Peak && usable_ > 0) return tr("%1 usable").arg(partOf(row.candidate.peak, usable_));
            if (column == Front && row.candidate.on_front)
                return tr("No layout is better in memory, time and GPUs together");
            return plainTip(row.present ? tr("%1: the plan's layout").arg(wordsOf(row.candidate))
                                        : wordsOf(row.candidate));
        case Qt::TextAlignmentRole:
            return QVariant(Qt::Alignment((column == Words   ? Qt::AlignLeft
                                           : column == Front ? Qt::AlignHCenter
                                                             : Qt::AlignRight) |
                                          Qt::AlignVCenter));
        case Qt::FontRole: {
            if (!row.present) return {};
            QFont font = QGuiApplication::font();
            font.setWeight(QFont::DemiBold);
            return font;
        }
        case SortRole:
            return sortKey(row, column);
        case ShareRole:
            return column == Peak && usable_ > 0
                       ? QVariant(static_cast<double>(row.candidate.peak) / static_cast<double>(usable_))
                       : QVariant();
        case FilterRole: {
            QString words = QStringLiteral("%1 %2 GPUs").arg(wordsOf(row.candidate)).arg(row.candidate.gpus());
            if (row.candidate.on_front) words += QLatin1Char(' ') + tr("front");
            return words;
        }
        default:
            return {};
    }
}

QVariant CandidateTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const std::array<QString, ColumnCount> names{tr("#"),        tr("Front"),   tr("Layout"),   tr("GPUs"),
                                                 tr("Step"),     tr("Peak"),    tr("OOM risk"), tr("Host RAM"),
                                                 tr("Tokens/s"), tr("Price/M"), tr("MFU"),      tr("Bubble")};
    const std::array<QString, ColumnCount> tips{
        tr("By the objective; – lies on the Pareto front behind the ranked ones"),
        tr("On the Pareto front: no layout is better in memory, time and GPUs together"),
        tr("What differs from the plainest layout"),
        tr("GPUs that it takes"),
        tr("Seconds of one optimizer step"),
        tr("Memory of the most loaded GPU, beside its usable memory"),
        tr("Chance to run out of memory under the framework of the search"),
        tr("Host memory of a machine for what is offloaded"),
        tr("Tokens per second over all GPUs"),
        tr("Price per million tokens"),
        tr("Model FLOPs utilization: FLOPs of the model beside the peak of all GPUs"),
        tr("Share of the step that the pipeline idles")};
    if (section < 0 || section >= ColumnCount) return {};
    const auto column = static_cast<std::size_t>(section);
    if (role == Qt::DisplayRole) return names[column];
    if (role == Qt::ToolTipRole) return tips[column];
    if (role == Qt::TextAlignmentRole)
        return QVariant(Qt::Alignment((section == Words   ? Qt::AlignLeft
                                       : section == Front ? Qt::AlignHCenter
                                                          : Qt::AlignRight) |
                                      Qt::AlignVCenter));
    return {};
}

void CandidateTable::writeTable(const std::vector<int>& rows, TableText& table) const {
    table.addRow({tr("rank"), tr("layout"), tr("GPUs"), tr("step, s"), tr("tokens/s"), tr("MFU"), tr("peak, bytes"),
                  tr("bubble"), tr("price per million tokens"), tr("on the Pareto front"), tr("out-of-memory risk"),
                  tr("host memory per machine, bytes")});
    for (const int at : rows) {
        const CandidateRow& row = rows_[static_cast<std::size_t>(at)];
        const Candidate& candidate = row.candidate;
        row.rank > 0 ? table.add(QString::number(row.rank)) : table.addNothing();
        table.add(wordsOf(candidate));
        table.add(QString::number(candidate.gpus()));
        table.add(candidate.step);
        table.add(candidate.tokens_per_second);
        table.add(candidate.mfu);
        table.add(QString::number(candidate.peak));
        table.add(bubbleOf(candidate));
        table.add(candidate.price_per_million_tokens);
        table.add(candidate.on_front ? QStringLiteral("1") : QStringLiteral("0"));
        table.add(candidate.out_of_memory);
        table.add(QString::number(host_of_machine(candidate)));
        table.endRow();
    }
}

}  // namespace plimsoll::ui
