// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/allocator_settings.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/nearest.h"

namespace plimsoll {

namespace {

constexpr std::int64_t smallest_split_mib = 21;
constexpr std::int64_t largest_split_mib = 1 << 20;

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

Result<void> set(AllocatorSettings& settings, std::string_view name, std::string_view value) {
    if (name == "expandable_segments") {
        if (value != "True" && value != "False") {
            return bad_input("expandable_segments is True or False, not \"{}\"", value);
        }
        settings.expandable_segments = value == "True";
        return {};
    }
    if (name == "max_split_size_mb") {
        std::int64_t mib = 0;
        if (!read_number(value, mib) || mib < smallest_split_mib || mib > largest_split_mib) {
            return bad_input("max_split_size_mb is a whole number of MiB from {} to {}, not \"{}\"", smallest_split_mib,
                             largest_split_mib, value);
        }
        settings.max_split_size = mib * MiB;
        return {};
    }
    if (name == "garbage_collection_threshold") {
        double share = 0;
        if (!read_number(value, share) || !(share > 0 && share < 1)) {
            return bad_input("garbage_collection_threshold is a share between 0 and 1, not \"{}\"", value);
        }
        settings.garbage_collection_threshold = share;
        return {};
    }
    if (name == "roundup_power2_divisions") {
        std::int64_t divisions = 0;
        if (!read_number(value, divisions) || divisions < 1 || divisions > 1024 ||
            !std::has_single_bit(static_cast<std::uint64_t>(divisions))) {
            return bad_input("roundup_power2_divisions is a power of two up to 1024, not \"{}\"", value);
        }
        settings.roundup_power2_divisions = divisions;
        return {};
    }
    const std::vector<std::string> known{"expandable_segments", "max_split_size_mb", "garbage_collection_threshold",
                                         "roundup_power2_divisions"};
    return bad_input(
        "the allocator setting \"{}\" is not known{}; expandable_segments, max_split_size_mb, "
        "garbage_collection_threshold and roundup_power2_divisions are",
        name, did_you_mean(std::string(name), known));
}

}  // namespace

Result<AllocatorSettings> parse_allocator_settings(std::string_view text) {
    AllocatorSettings settings;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view item = trimmed(text.substr(0, comma));
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        const std::size_t colon = item.find(':');
        if (colon == std::string_view::npos) {
            return bad_input("an allocator setting is name:value (max_split_size_mb:128), not \"{}\"", item);
        }
        PLIMSOLL_CHECK(set(settings, trimmed(item.substr(0, colon)), trimmed(item.substr(colon + 1))));
    }
    return settings;
}

}  // namespace plimsoll
