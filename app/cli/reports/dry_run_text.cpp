// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/dry_run_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "app/cli/terminal/terminal.h"
#include "core/base/units.h"

namespace plimsoll::cli {

namespace {

constexpr std::size_t shown_blocks = 8;

Bytes bytes(const Json& object, const char* name) { return object.at(name).get<Bytes>(); }

std::string dry_run_verdict(const Json& rank, Bytes capacity) {
    const auto out_of_memory = rank.at("out_of_memory").get<std::string>();
    if (!out_of_memory.empty()) {
        return fmt::format("  Does not fit, in {}: {}.\n", rank.at("out_of_memory_phase").get<std::string>(),
                           out_of_memory);
    }
    if (rank.at("reserved").is_null()) return "";
    const Bytes reserved = bytes(rank, "reserved");
    std::string text = fmt::format("  {} reserved in {} segments", format_bytes(reserved),
                                   format_count(rank.at("segments").get<std::int64_t>()));
    if (capacity > 0) text += fmt::format(", of {} that the card has for tensors: fits", format_bytes(capacity));
    if (const auto retries = rank.at("retries").get<std::int64_t>(); retries > 0) {
        text += fmt::format(", after giving unused segments back {} times", format_count(retries));
    }
    const Bytes live = bytes(rank, "peak");
    std::string meaning = fmt::format(
        "Reserved is what PyTorch's allocator has taken from the card since the start of the run, weights and states "
        "being made included; {} of it were live at the step's peak, the other {} are free blocks and roundings. "
        "Reserved memory decides what fits.",
        format_bytes(live), format_bytes(std::max<Bytes>(0, reserved - live)));
    if (rank.contains("estimate")) {
        const Json& estimate = rank.at("estimate");
        meaning += fmt::format(" plimsoll estimate: {} live, {} reserved, {} with CUDA and NCCL.",
                               format_bytes(bytes(estimate, "live")), format_bytes(bytes(estimate, "reserved")),
                               format_bytes(bytes(estimate, "total")));
    }
    const auto width = static_cast<std::size_t>(std::max(terminal_size().columns, 80));
    return text + ".\n  " + wrapped(meaning, width - 2, 2) + "\n";
}

/// Blocks of one op in one phase, over all layers.
struct Kind {
    Bytes bytes = 0;
    std::int64_t count = 0;
    std::vector<std::string> layers;
};

std::string layers_text(const std::vector<std::string>& layers) {
    if (layers.size() > 1) return fmt::format("{} layers", layers.size());
    const std::string& only = layers.front();
    return only.empty() || only == "embed" || only == "head" ? only : "layer " + only;
}

std::string blocks_table(const Json& rank) {
    std::map<std::array<std::string, 3>, Kind> kinds;
    for (const Json& each : rank.at("standing")) {
        Kind& kind = kinds[{each.at("op").get<std::string>(), each.at("category").get<std::string>(),
                            each.at("phase").get<std::string>()}];
        kind.bytes += bytes(each, "bytes");
        kind.count += each.at("count").get<std::int64_t>();
        kind.layers.push_back(each.at("layer").get<std::string>());
    }
    std::vector<std::pair<std::array<std::string, 3>, Kind>> sorted(kinds.begin(), kinds.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    std::string text;
    for (std::size_t i = 0; i < std::min(shown_blocks, sorted.size()); ++i) {
        const auto& [name, kind] = sorted[i];
        text += fmt::format("    {} {}  {} {} {}, {}\n", fitted(format_bytes(kind.bytes), 10, true),
                            fitted(fmt::format("{} x", format_count(kind.count)), 9, true),
                            fitted(layers_text(kind.layers), 10),
                            fitted(name[0].empty() ? "made at the start" : name[0], 34), name[1], name[2]);
    }
    return text;
}

std::string of_rank(const Json& rank, Bytes capacity) {
    std::string text =
        bold(fmt::format("Rank {} (stage {}, {} alike): {} live at the peak, in {}", rank.at("rank").get<int>(),
                         rank.at("stage").get<int>(), format_count(rank.at("stage_ranks").get<std::int64_t>()),
                         format_bytes(bytes(rank, "peak")), rank.at("phase").get<std::string>())) +
        "\n" + dry_run_verdict(rank, capacity);
    for (const auto& [name, value] : rank.at("categories").items()) {
        if (value.get<Bytes>() > 0) {
            text += fmt::format("  {} {}\n", fitted(name, 22), fitted(format_bytes(value.get<Bytes>()), 10, true));
        }
    }
    if (bytes(rank, "host") > 0) text += fmt::format("  {} in host memory\n", format_bytes(bytes(rank, "host")));
    text += "  Live tensors at the peak:\n" + blocks_table(rank);
    return text + fmt::format("  {} allocations and frees a step, {} micro-batches gone through, in {}\n",
                              format_count(rank.at("events").get<std::int64_t>()),
                              format_count(rank.at("micro_batches").get<std::int64_t>()),
                              format_seconds(rank.at("seconds").get<double>()));
}

}  // namespace

std::string dry_run_report(const Json& figures) {
    std::string text = fmt::format(
        "Dry run of {} on {}.\n", printable(figures.at("plan").get<std::string>()),
        figures.at("device").get<std::string>() == "cpu" ? "CPU ranks" : figures.at("device").get<std::string>());
    for (const Json& rank : figures.at("ranks")) {
        text += '\n';
        text += of_rank(rank, bytes(figures, "capacity"));
    }
    return text;
}

}  // namespace plimsoll::cli
