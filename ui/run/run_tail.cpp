// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_tail.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/estimate/estimate.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::ui {

namespace {

namespace fs = std::filesystem;

constexpr Bytes bytes_a_read = 2 * MiB;
constexpr std::size_t points_a_piece = 40'000;  // about 2 ms of the drawing thread
constexpr int live_interval = 100;              // ms
constexpr int ended_interval = 500;             // a run may be resumed at any time
constexpr double look_every = 0.5;              // s

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Cuts a batch into batches of few points; what goes before the points goes with the first, the events with the
// last.
std::vector<TelemetryBatch> cut(TelemetryBatch batch) {
    std::vector<TelemetryBatch> parts(1);
    parts.back().replaced = batch.replaced;
    parts.back().fork = batch.fork;
    parts.back().left = std::move(batch.left);
    parts.back().units = std::move(batch.units);
    std::size_t held = 0;
    for (auto& [name, points] : batch.points) {
        for (std::size_t at = 0; at < points.size();) {
            if (held == points_a_piece) {
                parts.emplace_back();
                held = 0;
            }
            const std::size_t count = std::min(points.size() - at, points_a_piece - held);
            const auto from = points.begin() + static_cast<std::ptrdiff_t>(at);
            parts.back().points[name].assign(from, from + static_cast<std::ptrdiff_t>(count));
            at += count;
            held += count;
        }
    }
    parts.back().events = std::move(batch.events);
    return parts;
}

}  // namespace

RunTail::RunTail() : timer_(new QTimer(this)) {
    timer_->setSingleShot(true);
    connect(timer_, &QTimer::timeout, this, &RunTail::read);
}

void RunTail::open(const QString& path, quint64 generation) {
    timer_->stop();
    generation_ = generation;
    path_ = path.toStdString();
    records_.emplace(RunFolder(path_));
    queue_.clear();
    plan_read_ = false;
    live_ = false;
    next_look_ = 0;
    problem_.clear();
    if (!path_.empty()) read();
}

void RunTail::next() {
    if (path_.empty()) return;
    if (!queue_.empty()) {
        auto piece = queue_.back();
        queue_.pop_back();
        emit this->piece(piece);
        return;
    }
    timer_->start(!records_->at_end() ? 0 : live_ ? live_interval : ended_interval);
}

RunPiece::Look RunTail::look() {
    RunPiece::Look look;
    std::error_code error;
    look.exists = fs::is_directory(path_, error);
    if (!look.exists) return look;
    const auto folder = RunFolder::open(path_);
    if (!folder) {
        look.problem = QString::fromStdString(folder.error().message);
        return look;
    }
    look.live = folder->live();
    const auto state = folder->state();
    if (state) look.state = *state;
    if (state && state->status == RunStatus::Stopping) look.save = save_under_way(folder->layout(), state->started);
    if (!state) look.problem = QString::fromStdString(state.error().message);
    if (look.problem.isEmpty()) look.problem = problem_;
    return look;
}

bool RunTail::planChanged() const {
    std::error_code error;
    const auto time = fs::last_write_time(RunLayout(path_).plan(), error);
    return !error && time != plan_time_;
}

void RunTail::readPlan(RunPiece& piece) {
    const auto folder = RunFolder::open(path_);
    if (!folder) return;
    // Before reading: a plan that is replaced meanwhile is read once more.
    std::error_code ignored;
    plan_time_ = fs::last_write_time(folder->plan_path(), ignored);
    const auto plan = folder->plan();
    if (!plan) return;
    plan_read_ = true;
    piece.plan = std::make_shared<const Plan>(*plan);
    const auto estimate = estimate_memory(*plan);
    if (!estimate || estimate->stages.empty()) return;
    // Ranks of a stage are neighbours: the pipeline is the outermost dimension of the layout.
    const auto world = std::clamp<std::int64_t>(plan->layout.world_size(), 1, max_ranks);
    const auto stages = static_cast<std::int64_t>(estimate->stages.size());
    for (std::int64_t rank = 0; rank < world; ++rank) {
        const RankMemory& memory = estimate->stages[static_cast<std::size_t>(rank * stages / world)];
        piece.predicted.push_back(memory.total());
        auto& kinds = piece.predicted_kinds.emplace_back();
        for (std::size_t c = 0; c < kinds.size(); ++c) kinds[c] = memory.of(static_cast<Category>(c));
    }
}

void RunTail::readFiles(RunPiece& piece) {
    piece.batches = records_->poll(bytes_a_read);
    piece.at_end = records_->at_end();
    piece.progress = records_->progress();
    const auto problems = records_->problems();
    const auto damages = records_->damages();
    if (!problems.empty())
        problem_ = QString::fromStdString(problems.back());
    else if (!damages.empty())
        problem_ = tr("The record of rank %1 is damaged in places (%2); what they held is missing from the plots.")
                       .arg(damages.back().rank)
                       .arg(damages.back().places);
    else
        problem_.clear();
}

void RunTail::read() {
    auto first = std::make_shared<RunPiece>();
    first->generation = generation_;
    const bool looking = now() >= next_look_;
    if (!plan_read_ || (looking && planChanged())) readPlan(*first);
    if (looking) records_->look();

    RunPiece found;
    readFiles(found);
    if (looking) {
        // After the files: whoever sees a run that has ended has seen all it recorded.
        first->look = look();
        live_ = first->look->live;
        next_look_ = now() + look_every;
    }
    std::vector<std::shared_ptr<RunPiece>> pieces{first};
    std::size_t held = 0;
    for (auto& [rank, batch] : found.batches) {
        for (TelemetryBatch& part : cut(std::move(batch))) {
            std::size_t points = 0;
            for (const auto& [name, list] : part.points) points += list.size();
            if (held > 0 && held + points > points_a_piece) {
                pieces.push_back(std::make_shared<RunPiece>());
                pieces.back()->generation = generation_;
                held = 0;
            }
            held += points;
            pieces.back()->batches.emplace_back(rank, std::move(part));
        }
    }
    for (const auto& piece : pieces) piece->progress = found.progress;
    pieces.back()->at_end = found.at_end;
    queue_.assign(pieces.rbegin(), pieces.rend());
    auto piece = queue_.back();
    queue_.pop_back();
    emit this->piece(piece);
}

}  // namespace plimsoll::ui
