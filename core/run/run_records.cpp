// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_records.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/units.h"

namespace plimsoll {

namespace fs = std::filesystem;

void RunRecords::look() {
    std::error_code error;
    for (auto entry = fs::directory_iterator(run_.layout().records(), error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const auto rank = rank_of(entry->path());
        if (rank && !files_.contains(*rank)) files_.emplace(*rank, File{TelemetryReader(entry->path()), ""});
    }
}

std::vector<RunRecords::RankBatch> RunRecords::poll(Bytes limit) {
    std::vector<RankBatch> news;
    for (auto& [rank, file] : files_) {
        auto batch = file.reader.poll(limit);
        file.problem = batch ? "" : batch.error().message;
        if (batch && !batch->empty()) news.emplace_back(rank, *std::move(batch));
    }
    return news;
}

bool RunRecords::at_end() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](const auto& entry) { return !entry.second.problem.empty() || entry.second.reader.at_end(); });
}

double RunRecords::progress() const {
    std::uint64_t size = 0, read = 0;
    for (const auto& [rank, file] : files_) {
        size += file.reader.size();
        // What follows the last whole frame is not waited for.
        read += file.reader.at_end() ? file.reader.size() : std::min(file.reader.offset(), file.reader.size());
    }
    return size == 0 ? 1 : static_cast<double>(read) / static_cast<double>(size);
}

std::vector<std::string> RunRecords::problems() const {
    std::vector<std::string> sentences;
    for (const auto& [rank, file] : files_)
        if (!file.problem.empty()) sentences.push_back(file.problem);
    return sentences;
}

std::vector<RunRecords::Damage> RunRecords::damages() const {
    std::vector<Damage> all;
    for (const auto& [rank, file] : files_)
        if (file.reader.damaged() > 0) all.push_back({rank, file.reader.damaged(), file.reader.unnamed()});
    return all;
}

std::vector<std::string> RunRecords::damage_sentences() const {
    std::vector<std::string> sentences;
    for (const Damage& damage : damages()) {
        std::string sentence = fmt::format("{} is damaged in {}, which {} passed over; the rest is read",
                                           run_.telemetry_path(damage.rank).string(),
                                           damage.places == 1 ? "one place" : fmt::format("{} places", damage.places),
                                           damage.places == 1 ? "was" : "were");
        if (damage.unnamed > 0) {
            sentence += fmt::format(
                "; {} recorded values cannot be shown until their series is declared again, at the run's next checkpoint",
                format_count(static_cast<std::int64_t>(damage.unnamed)));
        }
        sentences.push_back(std::move(sentence));
    }
    return sentences;
}

}  // namespace plimsoll
