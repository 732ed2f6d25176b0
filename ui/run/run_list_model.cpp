// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_list_model.h"

#include <algorithm>
#include <QLocale>

#include "ui/common/escaped_text.h"
#include "ui/run/run_summary_words.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

namespace {

QString pathOf(const RunSummary& run) { return QString::fromStdString(run.path.string()); }
QString titleOf(const RunSummary& run) { return QString::fromStdString(run.title()); }

QString tagsOf(const RunSummary& run) {
    QStringList tags;
    for (const std::string& tag : run.notes.tags) tags.append(QString::fromStdString(tag));
    return tags.join(QStringLiteral(", "));
}

bool sameLine(const RunSummary& a, const RunSummary& b) {
    return a.live == b.live && a.readable == b.readable && a.state.status == b.state.status &&
           a.state.started == b.state.started && a.step == b.step && a.loss == b.loss && a.notes == b.notes &&
           a.plan_time == b.plan_time;
}

/// The run before this one with the same model: what it is compared with.
const Plan* planBefore(const std::vector<RunSummary>& runs, std::size_t index) {
    if (!runs[index].plan) return nullptr;
    for (std::size_t i = index + 1; i < runs.size(); ++i)
        if (runs[i].plan && runs[i].plan->model.name == runs[index].plan->model.name) return &*runs[i].plan;
    return nullptr;
}

}  // namespace

RunListModel::RunListModel(std::filesystem::path store, QObject* parent)
    : QAbstractTableModel(parent), store_(std::move(store)) {
    soon_.setSingleShot(true);
    soon_.setInterval(100);  // a run folder appears with several changes of the store
    connect(&soon_, &QTimer::timeout, this, &RunListModel::refresh);
    connect(&watcher_, &QFileSystemWatcher::directoryChanged, &soon_, qOverload<>(&QTimer::start));
    refresh();
}

RunListModel::Rows RunListModel::read(const std::filesystem::path& store, const Rows& before,
                                      const Question& question) {
    std::vector<RunSummary> runs;
    for (const RunFolder& run : list_runs(store)) {
        if (question.isCancelled()) break;
        const auto known =
            std::find_if(before.begin(), before.end(), [&](const Row& row) { return row.run.path == run.path(); });
        runs.push_back(summarize(run, known == before.end() ? nullptr : &known->run));
    }
    Rows rows;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Plan* earlier = planBefore(runs, i);
        rows.push_back({.run = runs[i], .changes = earlier ? changesBetween(*earlier, *runs[i].plan) : QString()});
    }
    return rows;
}

void RunListModel::refresh() {
    if (reading_.isBusy()) {
        again_ = true;
        return;
    }
    reading_.ask([store = store_, before = rows_](const Question& question) { return read(store, before, question); },
                 [this](Result<Rows> rows) { take(std::move(rows).value_or(Rows())); });
}

void RunListModel::take(Rows rows) {
    read_ = true;
    const QString folder = QString::fromStdString(store_.string());
    if (watcher_.directories().isEmpty()) watcher_.addPath(folder);
    const bool sameRuns = std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(),
                                     [](const Row& a, const Row& b) { return a.run.path == b.run.path; });
    if (sameRuns) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool same = sameLine(rows_[i].run, rows[i].run) && rows_[i].changes == rows[i].changes;
            rows_[i] = std::move(rows[i]);
            const auto row = static_cast<int>(i);
            if (!same) emit dataChanged(index(row, 0), index(row, columns - 1));
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

int RunListModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
        return int((section == Steps || section == Loss ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    static const std::array<const char*, columns> names{QT_TR_NOOP("Run"),
                                                        QT_TR_NOOP("Status"),
                                                        QT_TR_NOOP("Steps"),
                                                        QT_TR_NOOP("Loss"),
                                                        QT_TR_NOOP("Plan"),
                                                        QT_TR_NOOP("Precision"),
                                                        QT_TR_NOOP("Differs from the run before"),
                                                        QT_TR_NOOP("Tags"),
                                                        QT_TR_NOOP("Started")};
    return section >= 0 && section < columns ? tr(names[static_cast<std::size_t>(section)]) : QString();
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const Row& row = rows_[static_cast<std::size_t>(index.row())];
    const RunSummary& run = row.run;
    switch (role) {
        case Qt::ToolTipRole: {
            QString tip = pathOf(run);
            if (!run.notes.note.empty()) tip += QLatin1Char('\n') + QString::fromStdString(run.notes.note);
            return plainTip(tip);
        }
        case Qt::AccessibleTextRole:
            if (index.column() == Name) return tr("%1, %2").arg(titleOf(run), summaryStatus(run));
            break;
        case Qt::TextAlignmentRole:
            return index.column() == Steps || index.column() == Loss ? int(Qt::AlignRight | Qt::AlignVCenter)
                                                                     : int(Qt::AlignLeft | Qt::AlignVCenter);
        case PathRole:
            return pathOf(run);
        case NameRole:
            return titleOf(run);
        case StatusRole:
            return row.changes.isEmpty() ? summaryStatus(run)
                                         : QStringLiteral("%1 · %2").arg(summaryStatus(run), row.changes);
        case LiveRole:
            return run.live;
        case SortRole:
            if (index.column() == Steps) return qlonglong{run.step};
            if (index.column() == Loss) return run.loss ? *run.loss : 1e300;
            if (index.column() == Started) return run.state.started;
            break;
        default:
            break;
    }
    if (role != Qt::DisplayRole && role != SortRole && role != Qt::AccessibleTextRole) return {};
    switch (index.column()) {
        case Name:
            return titleOf(run);
        case Status:
            return run.readable ? runStatusText(run.state.status) : tr("unreadable");
        case Steps:
            return summarySteps(run);
        case Loss:
            return summaryLoss(run);
        case PlanName:
            return summaryPlan(run);
        case Precision:
            return summaryPrecision(run);
        case Changes:
            return row.changes;
        case Tags:
            return tagsOf(run);
        case Started:
            return run.state.started > 0 ? QLocale().toString(dateTime(run.state.started), QLocale::ShortFormat)
                                         : QString();
        default:
            return {};
    }
}

int RunListModel::rowOf(const QString& path) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return pathOf(r.run) == path; });
    return row == rows_.end() ? -1 : static_cast<int>(row - rows_.begin());
}

const RunSummary* RunListModel::run(const QString& path) const {
    const int row = rowOf(path);
    return row < 0 ? nullptr : &rows_[static_cast<std::size_t>(row)].run;
}

}  // namespace plimsoll::ui
