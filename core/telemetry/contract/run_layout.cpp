// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/run_layout.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view supervisor = "supervisor";
constexpr std::string_view rank_prefix = "rank-";
constexpr std::string_view step_prefix = "step-";
constexpr std::string_view left_prefix = "left-";
constexpr std::string_view record_suffix = ".rec";
constexpr std::string_view log_suffix = ".log";

std::string stem(int rank) { return rank < 0 ? std::string(supervisor) : fmt::format("{}{}", rank_prefix, rank); }

/// All of the text is a number, without a sign.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number = -1;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

}  // namespace

fs::path RunLayout::record(int rank) const { return records() / fmt::format("{}{}", stem(rank), record_suffix); }

fs::path RunLayout::log(int rank) const { return logs() / fmt::format("{}{}", stem(rank), log_suffix); }

fs::path RunLayout::store_log() const { return logs() / fmt::format("store{}", log_suffix); }

fs::path RunLayout::checkpoint(std::int64_t step) const { return checkpoints() / checkpoint_name(step); }

fs::path RunLayout::old_checkpoints(int number) const { return run_ / fmt::format("checkpoints.{}", number); }

fs::path RunLayout::left_checkpoint(std::int64_t step) const {
    return checkpoints() / fmt::format("{}{}", left_prefix, checkpoint_name(step));
}

std::optional<int> rank_of(const fs::path& record) {
    const std::string file = record.filename().string();
    std::string_view name = file;
    if (!name.ends_with(record_suffix)) return std::nullopt;
    name.remove_suffix(record_suffix.size());
    if (name == supervisor) return supervisor_rank;
    if (!name.starts_with(rank_prefix)) return std::nullopt;
    const auto rank = whole_number<int>(name.substr(rank_prefix.size()));
    return rank && *rank < max_ranks && stem(*rank) == name ? rank : std::nullopt;
}

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", step_prefix, step); }

std::optional<std::int64_t> step_of(const std::string& name) {
    if (!name.starts_with(step_prefix)) return std::nullopt;
    const auto step = whole_number<std::int64_t>(std::string_view(name).substr(step_prefix.size()));
    return step && checkpoint_name(*step) == name ? step : std::nullopt;
}

std::string hidden_checkpoint_name(std::int64_t step, std::string_view purpose) {
    return fmt::format(".{}.{}", checkpoint_name(step), purpose);
}

bool is_hidden_checkpoint(std::string_view name) {
    return name.starts_with('.') && name.substr(1).starts_with(step_prefix);
}

}  // namespace plimsoll
