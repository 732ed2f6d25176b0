// SPDX-License-Identifier: Apache-2.0
#include "app/cli/plan_choices.h"

#include <charconv>
#include <span>

namespace plimsoll::cli {

namespace {

std::vector<std::string> parts(const std::string& text, char separator) {
    std::vector<std::string> all;
    for (std::size_t from = 0; from <= text.size();) {
        const auto to = std::min(text.find(separator, from), text.size());
        all.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return all;
}

template <class Enum, std::size_t Size>
Result<std::vector<Enum>> names(const std::string& text, const std::array<std::string_view, Size>& known,
                                const char* option) {
    std::vector<Enum> all;
    if (text.empty()) return all;
    for (const auto& part : parts(text, ',')) {
        const auto found = std::find(known.begin(), known.end(), part);
        if (found == known.end()) return bad_input("{}: \"{}\" is not one of {}", option, part, fmt::join(known, ", "));
        all.push_back(static_cast<Enum>(found - known.begin()));
    }
    return all;
}

}  // namespace

Result<std::vector<std::int64_t>> whole_numbers(const std::string& text, char separator, const char* option) {
    std::vector<std::int64_t> all;
    if (text.empty()) return all;
    for (const auto& part : parts(text, separator)) {
        std::int64_t value = 0;
        const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
        if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() || value < 0)
            return bad_input("{}: \"{}\" is not a list of whole numbers such as 1{}2{}4", option, text, separator,
                             separator);
        all.push_back(value);
    }
    return all;
}

void add_choices(CLI::App& command, ChoiceTexts& t) {
    const auto add = [&](const char* option, std::string& text, const char* help) {
        command.add_option(option, text, help)
            ->type_name("LIST")
            ->group("Limits on the search (a list such as 1,2,4; left out: all)");
    };
    add("--tp", t.tp, "Tensor-parallel ranks");
    add("--pp", t.pp, "Pipeline stages");
    add("--cp", t.cp, "Context-parallel ranks");
    add("--ep", t.ep, "Expert-parallel ranks");
    add("--zero", t.zero, "ZeRO stages");
    add("--micro-batch", t.micro_batch, "Sequences a rank takes at once");
    add("--chunks", t.chunks, "Stages a rank holds");
    add("--sequence-parallel", t.sequence_parallel, "true, false");
    add("--schedule", t.schedule, "gpipe, 1f1b, interleaved-1f1b, …; left out: all but zb-1p and zb-2p");
    add("--recompute", t.recompute, "none, selective, full, mlp");
    add("--offload", t.offload, "Optimizer: none, cpu, nvme");
}

Result<Choices> read_choices(const ChoiceTexts& t) {
    Choices choices;
    const std::pair<const std::string*, std::pair<const char*, std::vector<std::int64_t>*>> numbers[] = {
        {&t.tp, {"--tp", &choices.tp}},
        {&t.pp, {"--pp", &choices.pp}},
        {&t.cp, {"--cp", &choices.cp}},
        {&t.ep, {"--ep", &choices.ep}},
        {&t.zero, {"--zero", &choices.zero_stage}},
        {&t.micro_batch, {"--micro-batch", &choices.micro_batch}},
        {&t.chunks, {"--chunks", &choices.chunks}}};
    for (const auto& [text, target] : numbers) {
        PLIMSOLL_TRY(auto read, whole_numbers(*text, ',', target.first));
        *target.second = std::move(read);
    }
    PLIMSOLL_TRY(auto schedules, names<Schedule>(t.schedule, schedule_names, "--schedule"));
    choices.schedule = std::move(schedules);
    PLIMSOLL_TRY(auto recompute, names<Recompute>(t.recompute, recompute_names, "--recompute"));
    choices.recompute = std::move(recompute);
    PLIMSOLL_TRY(auto offload, names<Offload>(t.offload, offload_names, "--offload"));
    choices.offload_optimizer = std::move(offload);
    static constexpr std::array<std::string_view, 2> truths{"false", "true"};
    PLIMSOLL_TRY(const auto sequence, names<int>(t.sequence_parallel, truths, "--sequence-parallel"));
    for (const int on : sequence) choices.sequence_parallel.push_back(on == 1);
    return choices;
}

}  // namespace plimsoll::cli
