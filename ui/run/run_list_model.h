// SPDX-License-Identifier: GPL-3.0-or-later
// The runs of the store, newest first; read on another thread, so hundreds do not hold up the window.
#pragma once

#include <filesystem>
#include <QAbstractListModel>
#include <QFileSystemWatcher>
#include <QTimer>
#include <vector>

#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

class RunListModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { PathRole = Qt::UserRole, NameRole, StatusRole, LiveRole };

    explicit RunListModel(std::filesystem::path store = runs_folder(), QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    /// -1 when the store has no such run.
    int rowOf(const QString& path) const;
    /// The store has been read at least once.
    bool isRead() const { return read_; }

    /// Reads the store again soon; also done by itself when folders come or go.
    void refresh();

signals:
    void refreshed();

private:
    struct Row {
        QString path, name;
        RunStatus status = RunStatus::Starting;
        double started = 0;
        bool live = false;
        bool readable = true;
        bool operator==(const Row&) const = default;
    };
    void take(std::vector<Row> rows);
    static QString statusText(const Row& row);

    std::filesystem::path store_;
    std::vector<Row> rows_;
    QFileSystemWatcher watcher_;
    QTimer soon_;
    Background reading_;
    bool again_ = false;
    bool read_ = false;
};

}  // namespace plimsoll::ui
