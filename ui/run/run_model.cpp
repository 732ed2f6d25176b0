// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_model.h"

#include <algorithm>
#include <QDateTime>
#include <QFileInfo>

#include "core/run/run_store.h"
#include "core/telemetry/contract/run_layout.h"
#include "ui/run/run_tail.h"

namespace plimsoll::ui {

RunModel::RunModel(QObject* parent) : QObject(parent), tail_(new RunTail) {
    qRegisterMetaType<std::shared_ptr<plimsoll::ui::RunPiece>>();
    tail_->moveToThread(&thread_);
    connect(&thread_, &QThread::finished, tail_, &QObject::deleteLater);
    connect(tail_, &RunTail::piece, this, &RunModel::take);
    thread_.setObjectName(QStringLiteral("run-tail"));
    thread_.start(QThread::LowPriority);
}

RunModel::~RunModel() {
    thread_.quit();
    thread_.wait();
}

QString RunModel::newestRun() {
    const std::vector<RunFolder> runs = list_runs();
    const auto live = std::find_if(runs.begin(), runs.end(), [](const RunFolder& run) { return run.live(); });
    if (live != runs.end()) return QString::fromStdString(live->path().string());
    return runs.empty() ? QString() : QString::fromStdString(runs.front().path().string());
}

void RunModel::forget() {
    state_ = {};
    plan_.reset();
    predicted_.clear();
    predicted_kinds_.clear();
    store_ = {};
    problem_.clear();
    progress_ = 0;
    ranks_ = 0;
    live_ = loading_ = vanished_ = request_failed_ = false;
    save_.reset();
}

void RunModel::open(const QString& runPath) {
    forget();
    path_ = runPath;
    loading_ = !runPath.isEmpty();
    ++generation_;
    QMetaObject::invokeMethod(tail_,
                              [tail = tail_, runPath, generation = generation_] { tail->open(runPath, generation); });
    emit opened();
    emit statusChanged();
}

void RunModel::close() { open(QString()); }

QString RunModel::runName() const { return QFileInfo(path_).fileName(); }

void RunModel::take(const std::shared_ptr<RunPiece>& piece) {
    if (piece->generation != generation_) return;
    bool status = false;
    if (piece->plan) {
        plan_ = *piece->plan;
        predicted_ = std::move(piece->predicted);
        predicted_kinds_ = std::move(piece->predicted_kinds);
        status = true;
    }
    for (const auto& [rank, batch] : piece->batches) {
        store_.apply(batch, rank);
        if (!batch.points.empty()) ranks_ = std::max(ranks_, rank + 1);
    }
    const bool was_loading = loading_;
    if (loading_) {
        status = status || progress_ != piece->progress;
        progress_ = piece->progress;
        if (piece->at_end) loading_ = false;
    }
    if (piece->look) {
        const RunPiece::Look& look = *piece->look;
        const QString problem = request_failed_ && look.problem.isEmpty() ? problem_ : look.problem;
        status = status || vanished_ == look.exists || live_ != look.live || problem_ != problem ||
                 state_.status != look.state.status || state_.reason != look.state.reason ||
                 state_.world_size != look.state.world_size || state_.started != look.state.started ||
                 look.state.status == RunStatus::Stopping;
        save_ = look.save;
        vanished_ = !look.exists;
        live_ = look.live;
        problem_ = problem;
        if (look.exists) state_ = look.state;  // of a vanished run the last known state stays
    }
    // The signals before the next piece: whoever reacts by opening another run makes the rest of this one void.
    const quint64 generation = generation_;
    if (!piece->batches.empty()) emit updated();
    if (status || was_loading != loading_) emit statusChanged();
    if (generation == generation_ && was_loading && !loading_) emit caughtUp();
    if (generation == generation_) QMetaObject::invokeMethod(tail_, &RunTail::next);
}

const Pyramid* RunModel::find(const std::string& name, int rank) const {
    const Pyramid* found = store_.find(SeriesStore::name_on_rank(name, rank));
    return found != nullptr && found->size() > 0 ? found : nullptr;
}

int RunModel::rankCount() const {
    const std::int64_t planned = plan_ ? std::clamp<std::int64_t>(plan_->layout.world_size(), 0, max_ranks) : 0;
    return std::max(ranks_, static_cast<int>(planned));
}

std::int64_t RunModel::step() const { return static_cast<std::int64_t>(store_.last_step()); }

std::int64_t RunModel::totalSteps() const { return plan_ ? plan_->training.steps : 0; }

double RunModel::stepsPerSecond() const {
    const auto each = store_.seconds_a_step();
    return each && *each > 0 ? 1 / *each : 0;
}

double RunModel::secondsLeft() const {
    const double rate = stepsPerSecond();
    if (!live_ || rate <= 0 || totalSteps() <= 0) return -1;
    return static_cast<double>(std::max<std::int64_t>(0, totalSteps() - step())) / rate;
}

double RunModel::secondsElapsed() const {
    if (state_.started <= 0) return 0;
    const double end =
        state_.ended > 0 ? state_.ended : static_cast<double>(QDateTime::currentMSecsSinceEpoch()) / 1000;
    return std::max(0.0, end - state_.started);
}

bool RunModel::request(const char* command) {
    if (!isOpen()) return false;
    const auto written = RunFolder(path_.toStdString()).request(command);
    request_failed_ = !written;
    if (written) return true;
    problem_ = QString::fromStdString(written.error().message);
    emit statusChanged();
    return false;
}

bool RunModel::requestStop() { return request("stop"); }
bool RunModel::requestStopNow() { return request("now"); }

std::optional<StopWait> RunModel::stopWait() const {
    if (!live_ || state_.status != RunStatus::Stopping) return std::nullopt;
    return stop_wait(store_, save_, state_.started, static_cast<double>(QDateTime::currentMSecsSinceEpoch()) / 1000);
}

}  // namespace plimsoll::ui
