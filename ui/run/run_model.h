// SPDX-License-Identifier: GPL-3.0-or-later
// A run as the studio watches it: its plan, state, series and events, kept up to date while it trains.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <QObject>
#include <QString>
#include <QThread>

#include "core/base/units.h"
#include "core/estimate/estimate.h"
#include "core/plan/plan.h"
#include "core/run/run_folder.h"
#include "core/run/stop_wait.h"
#include "core/telemetry/series_store.h"

namespace plimsoll::ui {

struct RunPiece;
class RunTail;

/// Reads on a thread of its own and takes over pieces that cost the GUI thread a few milliseconds each, so that hours
/// of history appear piece by piece. All members belong to the GUI thread.
class RunModel : public QObject {
    Q_OBJECT
public:
    explicit RunModel(QObject* parent = nullptr);
    ~RunModel() override;

    /// Path of the newest live run of the store, else of the newest run; "" when there is none.
    static QString newestRun();

    /// Watches this run from its first record on and closes the run watched before. Problems of the run show in
    /// problem().
    void open(const QString& runPath);
    void close();

    QString runPath() const { return path_; }  ///< "" while none is open
    QString runName() const;
    bool isOpen() const { return !path_.isEmpty(); }
    bool isLive() const { return live_; }              ///< a supervisor holds the run
    bool isLoading() const { return loading_; }        ///< the history is still being read
    double loadProgress() const { return progress_; }  ///< 0…1 while loading
    bool isVanished() const { return vanished_; }      ///< the folder is gone; what was read stays
    /// Why the run cannot be read, or what of it cannot; "" when all is well.
    QString problem() const { return problem_; }

    const RunState& state() const { return state_; }
    /// The plan as started; nothing while it is not read or unreadable.
    const std::optional<Plan>& plan() const { return plan_; }
    /// Memory of a rank's peak as the plan's estimate says, by rank; empty when there is no estimate.
    const std::vector<Bytes>& predictedMemory() const { return predicted_; }
    /// The same by Category.
    const std::vector<std::array<Bytes, category_names.size()>>& predictedKinds() const { return predicted_kinds_; }

    const SeriesStore& series() const { return store_; }
    /// A series of one rank; nullptr when it has no points.
    const Pyramid* find(const std::string& name, int rank = 0) const;
    /// How many ranks have recorded something (at least the plan's).
    int rankCount() const;
    const std::vector<Event>& events() const { return store_.events(); }

    std::int64_t step() const;        ///< latest recorded
    std::int64_t totalSteps() const;  ///< as planned; 0 when not known
    double stepsPerSecond() const;    ///< over the last steps; 0 when not known
    double secondsLeft() const;       ///< negative when not known or not live
    double secondsElapsed() const;

    /// Ends after the current step, with a checkpoint, however long both take. False when the request cannot be written.
    bool requestStop();
    /// Ends without waiting for the step; a checkpoint that is being written is finished.
    bool requestStopNow();
    /// What a run that is stopping still waits for; nothing where none is.
    std::optional<StopWait> stopWait() const;

signals:
    void opened();         ///< another run, or none: everything changed
    void updated();        ///< new points or events
    void statusChanged();  ///< state, live, loading, vanished, problem; while a run is stopping, at each look at it
    void caughtUp();       ///< the history has been read to its end

private:
    void take(const std::shared_ptr<RunPiece>& piece);
    void forget();
    bool request(const char* command);

    QThread thread_;
    RunTail* tail_;
    quint64 generation_ = 0;  ///< of open(): pieces of a former run are dropped

    QString path_;
    RunState state_;
    std::optional<Plan> plan_;
    std::vector<Bytes> predicted_;
    std::vector<std::array<Bytes, category_names.size()>> predicted_kinds_;
    SeriesStore store_;
    QString problem_;
    double progress_ = 0;
    int ranks_ = 0;
    std::optional<SaveUnderWay> save_;  ///< while the run is stopping
    bool live_ = false;
    bool loading_ = false;
    bool vanished_ = false;
    bool request_failed_ = false;
};

}  // namespace plimsoll::ui
