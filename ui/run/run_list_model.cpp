// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_list_model.h"

#include <algorithm>
#include <QLocale>

#include "core/run/run_store.h"
#include "ui/common/escaped_text.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

RunListModel::RunListModel(std::filesystem::path store, QObject* parent)
    : QAbstractListModel(parent), store_(std::move(store)) {
    soon_.setSingleShot(true);
    soon_.setInterval(100);  // a run folder appears with several changes of the store
    connect(&soon_, &QTimer::timeout, this, &RunListModel::refresh);
    connect(&watcher_, &QFileSystemWatcher::directoryChanged, &soon_, qOverload<>(&QTimer::start));
    refresh();
}

void RunListModel::refresh() {
    if (reading_.isBusy()) {
        again_ = true;
        return;
    }
    reading_.ask(
        [store = store_](const Question& question) {
            std::vector<Row> rows;
            for (const RunFolder& run : list_runs(store)) {
                if (question.isCancelled()) break;
                Row row{.path = QString::fromStdString(run.path().string()),
                        .name = QString::fromStdString(run.name())};
                row.live = run.live();
                if (const auto state = run.state()) {
                    row.status = state->status;
                    row.started = state->started;
                } else {
                    row.readable = false;
                }
                rows.push_back(std::move(row));
            }
            return rows;
        },
        [this](Result<std::vector<Row>> rows) { take(std::move(rows).value_or(std::vector<Row>())); });
}

void RunListModel::take(std::vector<Row> rows) {
    read_ = true;
    const QString folder = QString::fromStdString(store_.string());
    if (watcher_.directories().isEmpty()) watcher_.addPath(folder);
    const bool same_runs = std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(),
                                      [](const Row& a, const Row& b) { return a.path == b.path; });
    if (same_runs) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows_[i] == rows[i]) continue;
            rows_[i] = rows[i];
            emit dataChanged(index(static_cast<int>(i)), index(static_cast<int>(i)));
        }
    } else {
        beginResetModel();
        rows_ = std::move(rows);
        endResetModel();
    }
    emit refreshed();
    if (again_) {
        again_ = false;
        refresh();
    }
}

int RunListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QString RunListModel::statusText(const Row& row) {
    if (!row.readable) return tr("unreadable");
    const QString status = runStatusText(row.status);
    if (row.started <= 0) return status;
    const auto when = dateTime(row.started);
    return tr("%1, started %2").arg(status, QLocale().toString(when, QLocale::ShortFormat));
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole:
        case NameRole:
            return row.name;
        case Qt::ToolTipRole:
            return plainTip(row.path);
        case Qt::AccessibleTextRole:
            return tr("%1, %2").arg(row.name, statusText(row));
        case PathRole:
            return row.path;
        case StatusRole:
            return statusText(row);
        case LiveRole:
            return row.live;
        default:
            return {};
    }
}

int RunListModel::rowOf(const QString& path) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.path == path; });
    return row == rows_.end() ? -1 : static_cast<int>(row - rows_.begin());
}

}  // namespace plimsoll::ui
