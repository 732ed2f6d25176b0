// SPDX-License-Identifier: GPL-3.0-or-later
// A run's events as sentences, newest first. Samples of text are not among them: they have their own place.
#pragma once

#include <QAbstractListModel>
#include <QString>
#include <vector>

#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/record.h"

namespace plimsoll::ui {

class EventListModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { StepRole = Qt::UserRole, KindRole, SeriousRole };
    static constexpr std::size_t shownAtMost = 500;

    using QAbstractListModel::QAbstractListModel;

    /// Takes over what is new; an unchanged list costs nothing.
    void setEvents(const std::vector<Event>& events);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

private:
    struct Row {
        std::uint64_t step;
        double time;
        RecordedKind kind;
        QString sentence;
        bool operator==(const Row&) const = default;
    };
    std::vector<Row> rows_;
    std::size_t seen_ = 0;
    double seen_first_ = 0, seen_last_ = 0;
};

}  // namespace plimsoll::ui
