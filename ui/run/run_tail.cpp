// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_tail.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>

#include "core/estimate/estimate.h"

namespace plimsoll::ui {

namespace {

namespace fs = std::filesystem;

constexpr Bytes bytes_a_read = 2 * MiB;
constexpr std::size_t points_a_piece = 40'000;  // about 2 ms of the drawing thread
constexpr int most_ranks = 4096;
constexpr int live_interval = 100;   // ms
constexpr int ended_interval = 500;  // a run may be resumed at any time
constexpr double look_every = 0.5;   // s

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// "rank-3.rec" -> 3, "supervisor.rec" -> -1.
std::optional<int> rankOf(const std::string& file_name) {
    if (file_name == "supervisor.rec") return -1;
    if (!file_name.starts_with("rank-") || !file_name.ends_with(".rec")) return std::nullopt;
    const char* begin = file_name.data() + 5;
    const char* end = file_name.data() + file_name.size() - 4;
    int rank = -1;
    const auto [stopped, error] = std::from_chars(begin, end, rank);
    if (error != std::errc() || stopped != end || rank < 0 || rank >= most_ranks) return std::nullopt;
    return rank;
}

// Cuts a batch into batches of few points; the fork, what it left and the units go with the first, the events with the
// last.
std::vector<TelemetryBatch> cut(TelemetryBatch batch) {
    std::vector<TelemetryBatch> parts(1);
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
    files_.clear();
    queue_.clear();
    plan_read_ = false;
    live_ = false;
    first_end_ = true;
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
    const bool behind = std::any_of(files_.begin(), files_.end(), [](const auto& file) {
        return !file.second.unreadable && !file.second.reader.at_end();
    });
    timer_->start(behind ? 0 : live_ ? live_interval : ended_interval);
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
    if (state)
        look.state = *state;
    else
        look.problem = QString::fromStdString(state.error().message);
    if (look.problem.isEmpty()) look.problem = problem_;
    return look;
}

void RunTail::findFiles() {
    std::error_code error;
    for (fs::directory_iterator it(path_ / "telemetry", error), end; !error && it != end; it.increment(error)) {
        const auto rank = rankOf(it->path().filename().string());
        if (rank && !files_.contains(*rank)) files_.emplace(*rank, File{TelemetryReader(it->path())});
    }
    for (auto& [rank, file] : files_) {
        const auto size = fs::file_size(
            path_ / "telemetry" / (rank < 0 ? "supervisor.rec" : "rank-" + std::to_string(rank) + ".rec"), error);
        if (!error) file.size = size;
    }
}

void RunTail::readPlan(RunPiece& piece) {
    const auto folder = RunFolder::open(path_);
    if (!folder) return;
    const auto plan = folder->plan();
    if (!plan) return;
    plan_read_ = true;
    piece.plan = std::make_shared<const Plan>(*plan);
    const auto estimate = estimate_memory(*plan);
    if (!estimate || estimate->stages.empty()) return;
    // Ranks of a stage are neighbours: the pipeline is the outermost dimension of the layout.
    const auto world = std::clamp<std::int64_t>(plan->layout.world_size(), 1, most_ranks);
    const auto stages = static_cast<std::int64_t>(estimate->stages.size());
    for (std::int64_t rank = 0; rank < world; ++rank) {
        const RankMemory& memory = estimate->stages[static_cast<std::size_t>(rank * stages / world)];
        piece.predicted.push_back(memory.total());
        auto& kinds = piece.predicted_kinds.emplace_back();
        for (std::size_t c = 0; c < kinds.size(); ++c) kinds[c] = memory.of(static_cast<Category>(c));
    }
}

void RunTail::readFiles(RunPiece& piece) {
    std::uint64_t size = 0;
    std::uint64_t read = 0;
    piece.at_end = true;
    problem_.clear();
    for (auto& [rank, file] : files_) {
        auto batch = file.reader.poll(bytes_a_read);
        file.read = std::min(file.size, file.read + static_cast<std::uint64_t>(bytes_a_read));
        if (file.reader.at_end()) file.read = file.size;
        size += file.size;
        read += file.read;
        file.unreadable = !batch;
        if (!batch) {
            problem_ = QString::fromStdString(batch.error().message);
            continue;
        }
        if (file.reader.damaged() > 0)
            problem_ = tr("The record of rank %1 is damaged in places (%2); what they held is missing from the plots.")
                           .arg(rank)
                           .arg(file.reader.damaged());
        piece.at_end = piece.at_end && file.reader.at_end();
        if (!batch->empty()) piece.batches.emplace_back(rank, std::move(*batch));
    }
    piece.progress = size == 0 ? 1 : static_cast<double>(read) / static_cast<double>(size);
}

void RunTail::read() {
    auto first = std::make_shared<RunPiece>();
    first->generation = generation_;
    if (!plan_read_) readPlan(*first);
    const bool looking = now() >= next_look_;
    if (looking) findFiles();

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
