// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_telemetry.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr int max_ranks = 100'000;

/// "rank-3.rec" -> 3, "supervisor.rec" -> -1.
std::optional<int> rank_of(const std::string& file) {
    if (file == "supervisor.rec") return -1;
    if (!file.starts_with("rank-") || !file.ends_with(".rec")) return std::nullopt;
    int rank = -1;
    const char* begin = file.data() + 5;
    const char* end = file.data() + file.size() - 4;
    const auto [stop, error] = std::from_chars(begin, end, rank);
    if (error != std::errc() || stop != end || rank < 0 || rank >= max_ranks) return std::nullopt;
    return rank;
}

}  // namespace

bool RunTelemetry::poll(Bytes limit) {
    std::error_code error;
    for (auto entry = fs::directory_iterator(run_.path() / "telemetry", error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
        if (const auto rank = rank_of(entry->path().filename().string())) readers_.try_emplace(*rank, entry->path());
    }
    bool news = false;
    for (auto& [rank, reader] : readers_) {
        const auto batch = reader.poll(limit);
        if (!batch) {
            problems_[rank] = batch.error().message;
            continue;
        }
        problems_.erase(rank);
        store_.apply(*batch, rank);
        news |= !batch->empty();
    }
    return news;
}

bool RunTelemetry::at_end() const {
    return std::all_of(readers_.begin(), readers_.end(), [](const auto& entry) { return entry.second.at_end(); });
}

std::vector<std::string> RunTelemetry::problems() const {
    std::vector<std::string> sentences;
    for (const auto& [rank, sentence] : problems_) sentences.push_back(sentence);
    return sentences;
}

}  // namespace plimsoll
