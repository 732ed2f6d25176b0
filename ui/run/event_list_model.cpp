// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/event_list_model.h"

#include <QLocale>

#include "core/telemetry/contract/event_kind.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

void EventListModel::setEvents(const std::vector<Event>& events) {
    const double first = events.empty() ? 0 : events.front().time;
    const double last = events.empty() ? 0 : events.back().time;
    if (events.size() == seen_ && first == seen_first_ && last == seen_last_) return;
    seen_ = events.size();
    seen_first_ = first;
    seen_last_ = last;

    std::vector<Row> rows;
    for (auto event = events.rbegin(); event != events.rend() && rows.size() < shownAtMost; ++event) {
        if (!event->kind.listed()) continue;
        rows.push_back({event->step, event->time, event->kind, QString::fromStdString(event->sentence)});
    }
    // The usual case, some new ones on top, keeps selection and scroll position.
    std::size_t added = 0;
    while (added < rows.size() && (rows_.empty() || !(rows[added] == rows_.front()))) ++added;
    const bool on_top = !rows_.empty() && rows.size() - added == rows_.size() &&
                        std::equal(rows_.begin(), rows_.end(), rows.begin() + static_cast<std::ptrdiff_t>(added));
    if (on_top && added == 0) return;
    if (on_top)
        beginInsertRows({}, 0, static_cast<int>(added) - 1);
    else
        beginResetModel();
    rows_ = std::move(rows);
    if (on_top)
        endInsertRows();
    else
        endResetModel();
}

int EventListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant EventListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole:
            return row.sentence;
        case Qt::AccessibleTextRole:
            return tr("step %1: %2").arg(QLocale().toString(qulonglong(row.step)), row.sentence);
        case Qt::ToolTipRole:
            return QLocale().toString(dateTime(row.time), QLocale::ShortFormat);
        case StepRole:
            return qulonglong(row.step);
        case KindRole:
            return QString::fromStdString(row.kind.name());
        case SeriousRole:
            return row.kind.tone() == EventTone::Bad;
        default:
            return {};
    }
}

}  // namespace plimsoll::ui
