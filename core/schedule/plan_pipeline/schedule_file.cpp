// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/schedule_file.h"

#include <array>
#include <charconv>
#include <optional>

#include "core/base/file.h"
#include "core/plan/json_fields.h"
#include "core/schedule/check_schedule.h"
#include "core/schedule/stream_simulation.h"

namespace plimsoll {
namespace {

constexpr Bytes largest_file = 16 * MiB;
constexpr std::array<std::string_view, 2> placement_names{"loop", "v"};

std::optional<int> leading_number(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// "F3" or "F3.1"; B is read as a whole backward.
std::optional<PipelineOp> op_named(std::string_view text, bool with_chunk) {
    if (text.empty()) return std::nullopt;
    PipelineOp op;
    switch (text.front()) {
        case 'F':
            op.kind = OpKind::Forward;
            break;
        case 'B':
            op.kind = OpKind::Backward;
            break;
        case 'W':
            op.kind = OpKind::BackwardWeight;
            break;
        default:
            return std::nullopt;
    }
    text.remove_prefix(1);
    const auto micro_batch = leading_number(text);
    if (!micro_batch) return std::nullopt;
    op.micro_batch = *micro_batch;
    if (with_chunk) {
        if (!text.starts_with('.')) return std::nullopt;
        text.remove_prefix(1);
        const auto chunk = leading_number(text);
        if (!chunk) return std::nullopt;
        op.chunk = *chunk;
    }
    return text.empty() ? std::optional(op) : std::nullopt;
}

class ScheduleReader {
public:
    ScheduleReader(const Json& json, const std::string& what) : json_(json), what_(what) {}

    Result<PipelineSchedule> read() {
        if (!json_.is_object() || json_.value("plimsoll_schedule", Json()) != 1)
            return bad_input(R"({} is no pipeline schedule: it has to start with "plimsoll_schedule": 1)", what_);
        PipelineSchedule schedule;
        for (const auto& [key, field] : {std::pair{"ranks", &schedule.ranks},
                                         {"micro_batches", &schedule.micro_batches},
                                         {"chunks", &schedule.chunks}}) {
            const auto value = json_.contains(key) ? whole_number(json_[key]) : std::nullopt;
            if (!value || *value < 1 || *value > max_schedule_ops)
                return bad_input("{}: {} has to be a whole number from 1 to {}", what_, key, max_schedule_ops);
            *field = static_cast<int>(*value);
        }
        const double ops = 2.0 * schedule.ranks * schedule.micro_batches * schedule.chunks;
        if (ops > static_cast<double>(max_schedule_ops))
            return bad_input("{}: the schedule would have {:.0f} operations, more than the {} that can be laid out",
                             what_, ops, max_schedule_ops);
        const Json placement = json_.value("placement", Json());
        if (placement != placement_names[0] && placement != placement_names[1])
            return bad_input(R"({}: placement has to be "loop" or "v", not {})", what_, shown(placement));
        schedule.placement = placement == placement_names[1] ? Placement::V : Placement::Loop;
        PLIMSOLL_CHECK(read_lists(schedule));
        split_backwards(schedule);
        if (auto runs = check_schedule(schedule); !runs) return bad_input("{}: {}", what_, runs.error().message);
        if (auto come = check_messages(schedule); !come) return bad_input("{}: {}", what_, come.error().message);
        return schedule;
    }

private:
    Result<void> read_lists(PipelineSchedule& schedule) const {
        const auto lists = json_.find("ops");
        if (lists == json_.end() || !lists->is_array() || lists->size() != static_cast<std::size_t>(schedule.ranks))
            return bad_input("{}: ops has to hold one list of operations a rank, {} of them", what_, schedule.ranks);
        for (const auto& list : *lists) {
            const auto rank = schedule.ops.size();
            if (!list.is_array())
                return bad_input("{}: the operations of rank {} have to be a list, not {}", what_, rank, shown(list));
            auto& ops = schedule.ops.emplace_back();
            ops.reserve(list.size());
            for (const auto& name : list) {
                const auto op =
                    name.is_string() ? op_named(name.get_ref<const std::string&>(), schedule.chunks > 1) : std::nullopt;
                if (!op)
                    return bad_input("{}: {} of rank {} is no operation; they are written F3, B3 or W3{}", what_,
                                     shown(name), rank, schedule.chunks > 1 ? ", with the chunk: F3.1" : "");
                ops.push_back(*op);
            }
        }
        return {};
    }

    /// Makes a B whose W is listed an input backward. What is out of range is left for check_schedule to name.
    static void split_backwards(PipelineSchedule& schedule) {
        const auto micro_batches = static_cast<std::size_t>(schedule.micro_batches);
        const auto in_range = [&](const PipelineOp& op) {
            return op.chunk < schedule.chunks && op.micro_batch < schedule.micro_batches;
        };
        const auto place = [&](const PipelineOp& op) {
            return static_cast<std::size_t>(op.chunk) * micro_batches + static_cast<std::size_t>(op.micro_batch);
        };
        for (auto& ops : schedule.ops) {
            std::vector<bool> has_weight(static_cast<std::size_t>(schedule.chunks) * micro_batches);
            for (const auto& op : ops)
                if (op.kind == OpKind::BackwardWeight && in_range(op)) has_weight[place(op)] = true;
            for (auto& op : ops)
                if (op.kind == OpKind::Backward && in_range(op) && has_weight[place(op)])
                    op.kind = OpKind::BackwardInput;
        }
    }

    const Json& json_;
    const std::string& what_;
};

}  // namespace

Result<PipelineSchedule> schedule_from_json(const Json& json, const std::string& what) {
    return ScheduleReader(json, what).read();
}

std::string schedule_text(const PipelineSchedule& schedule) {
    auto text = fmt::format(
        "{{\n  \"plimsoll_schedule\": 1,\n  \"ranks\": {},\n  \"micro_batches\": {},\n  \"chunks\": {},\n"
        "  \"placement\": \"{}\",\n  \"ops\": [",
        schedule.ranks, schedule.micro_batches, schedule.chunks,
        placement_names[static_cast<std::size_t>(schedule.placement)]);
    for (std::size_t rank = 0; rank < schedule.ops.size(); ++rank) {
        text += rank == 0 ? "\n    [" : ",\n    [";
        for (std::size_t k = 0; k < schedule.ops[rank].size(); ++k)
            text += fmt::format("{}\"{}\"", k == 0 ? "" : ", ", short_name(schedule.ops[rank][k], schedule.chunks > 1));
        text += "]";
    }
    return text + "\n  ]\n}\n";
}

Result<PipelineSchedule> read_schedule(const std::filesystem::path& path) {
    return read_json(path, largest_file).and_then([&](const Json& json) {
        return schedule_from_json(json, path.string());
    });
}

Result<void> write_schedule(const std::filesystem::path& path, const PipelineSchedule& schedule) {
    return write_file_atomic(path, schedule_text(schedule));
}

}  // namespace plimsoll
