// SPDX-License-Identifier: GPL-3.0-or-later
// The runs of the store as a table, newest first; read on another thread, so hundreds do not hold up the window.
#pragma once

#include <filesystem>
#include <QAbstractTableModel>
#include <QFileSystemWatcher>
#include <QTimer>
#include <vector>

#include "core/run/run_store.h"
#include "core/run/run_summary.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

class RunListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role { PathRole = Qt::UserRole, NameRole, StatusRole, LiveRole, SortRole };
    enum Column { Name, Status, Steps, Loss, PlanName, Precision, Changes, Tags, Started };
    static constexpr int columns = 9;

    explicit RunListModel(std::filesystem::path store = runs_folder(), QObject* parent = nullptr);

    QModelIndex index(int row, int column = 0, const QModelIndex& parent = {}) const override {
        return QAbstractTableModel::index(row, column, parent);
    }
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    /// -1 when the store has no such run.
    int rowOf(const QString& path) const;
    /// nullptr when the store has no such run.
    const RunSummary* run(const QString& path) const;
    const std::filesystem::path& store() const { return store_; }
    /// The store has been read at least once.
    bool isRead() const { return read_; }

    /// Reads the store again soon; also done by itself when folders come or go.
    void refresh();

signals:
    void refreshed();

private:
    struct Row {
        RunSummary run;
        QString changes;
    };
    using Rows = std::vector<Row>;
    static Rows read(const std::filesystem::path& store, const Rows& before, const Question& question);
    void take(Rows rows);

    std::filesystem::path store_;
    Rows rows_;
    QFileSystemWatcher watcher_;
    QTimer soon_;
    Background reading_;
    bool again_ = false;
    bool read_ = false;
};

}  // namespace plimsoll::ui
