// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a run folder on a thread of its own and hands it over in pieces.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <QObject>
#include <QString>
#include <QTimer>
#include <utility>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/plan/plan.h"
#include "core/run/run_records.h"
#include "core/run/stop_wait.h"

namespace plimsoll::ui {

/// One hand-over: whole values, so that it may cross threads.
struct RunPiece {
    quint64 generation = 0;
    std::vector<RunRecords::RankBatch> batches;
    bool at_end = false;  ///< everything that was on disk has been handed over
    double progress = 0;  ///< 0…1 of the bytes on disk

    /// Set once or twice a second: how the folder stands.
    struct Look {
        bool exists = false;
        bool live = false;
        RunState state;
        std::optional<SaveUnderWay> save;  ///< looked for while the run is stopping
        QString problem;
    };
    std::optional<Look> look;
    std::shared_ptr<const Plan> plan;                                       ///< when it has been read, or read again
    std::vector<Bytes> predicted;                                           ///< with the plan: estimated peak by rank
    std::vector<std::array<Bytes, category_names.size()>> predicted_kinds;  ///< the same by Category
};

/// Lives in the reading thread. A piece is followed by the next only after next(): a backlog of hours neither fills the
/// memory nor the event queue of the thread that draws.
class RunTail : public QObject {
    Q_OBJECT
public:
    RunTail();

    /// Starts over with this folder; "" ends reading.
    void open(const QString& path, quint64 generation);
    /// The last piece has been taken over.
    void next();

signals:
    void piece(std::shared_ptr<plimsoll::ui::RunPiece> piece);

private:
    void read();
    RunPiece::Look look();
    bool planChanged() const;
    void readPlan(RunPiece& piece);
    void readFiles(RunPiece& piece);

    QTimer* timer_;
    quint64 generation_ = 0;
    std::filesystem::path path_;
    std::optional<RunRecords> records_;             ///< of the run that is open
    std::vector<std::shared_ptr<RunPiece>> queue_;  ///< pieces cut small, the last first
    bool plan_read_ = false;
    std::filesystem::file_time_type plan_time_;  ///< of the plan that was read: a run may be resumed with another
    bool live_ = false;
    double next_look_ = 0;  ///< seconds of the steady clock
    QString problem_;       ///< of the record files
};

}  // namespace plimsoll::ui
