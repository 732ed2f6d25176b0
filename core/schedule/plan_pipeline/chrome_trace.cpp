// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/chrome_trace.h"

#include <fmt/format.h>

#include <array>

#include "core/base/json.h"
#include "core/schedule/plan_pipeline/memory_curve.h"

namespace plimsoll {
namespace {

constexpr double microseconds = 1000;  // a time unit is a millisecond
constexpr std::array categories{"forward", "backward", "backward_input", "backward_weight"};

class Writer {
public:
    template <class... Args>
    void event(fmt::format_string<Args...> format, Args&&... args) {
        text_ += text_.empty() ? "[\n" : ",\n";
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    }
    std::string take() { return std::move(text_) + "\n]\n"; }

private:
    std::string text_;
};

}  // namespace

std::string chrome_trace(const Pipeline& pipeline) {
    const auto& schedule = pipeline.schedule;
    Writer out;
    const auto title =
        fmt::format("{}, {} ranks, {} micro-batches", pipeline_title(pipeline), schedule.ranks, schedule.micro_batches);
    out.event(R"({{"name":"process_name","ph":"M","pid":0,"args":{{"name":{}}}}})",
              Json(title).dump(-1, ' ', false, Json::error_handler_t::replace));
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        out.event(R"({{"name":"thread_name","ph":"M","pid":0,"tid":{0},"args":{{"name":"rank {0}"}}}})", rank);
        out.event(R"({{"name":"thread_sort_index","ph":"M","pid":0,"tid":{0},"args":{{"sort_index":{0}}}}})", rank);
    }
    const auto memory = memory_curve(schedule, pipeline.timeline);
    for (const auto& ops : pipeline.timeline.ranks)
        for (const auto& timed : ops) {
            const auto& op = timed.op;
            const int stage = schedule.stage_of(timed.rank, op.chunk);
            out.event(
                R"({{"name":"{}","cat":"{}","ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"micro_batch":{},"chunk":{},"stage":{}}}}})",
                short_name(op, schedule.chunks > 1), categories[static_cast<std::size_t>(op.kind)], timed.rank,
                timed.start * microseconds, (timed.end - timed.start) * microseconds, op.micro_batch, op.chunk, stage);
            // Arrows start inside the op that sends and end at the start of the one that receives, under one id.
            const bool gradient = sends_gradient(op.kind);
            if (op.kind != OpKind::Forward && !gradient) continue;
            const auto id = [&](int sender) {
                return (static_cast<std::int64_t>(sender) * schedule.micro_batches + op.micro_batch) * 2 +
                       (gradient ? 1 : 0);
            };
            const auto elsewhere = [&](int other) {
                return other >= 0 && other < schedule.stages() && schedule.rank_of(other) != timed.rank;
            };
            if (elsewhere(gradient ? stage - 1 : stage + 1))
                out.event(R"({{"name":"send","cat":"transfer","ph":"s","id":{},"pid":0,"tid":{},"ts":{:.3f}}})",
                          id(stage), timed.rank, (timed.start + (timed.end - timed.start) * 0.999) * microseconds);
            if (const int from = gradient ? stage + 1 : stage - 1; elsewhere(from))
                out.event(
                    R"({{"name":"send","cat":"transfer","ph":"f","bp":"e","id":{},"pid":0,"tid":{},"ts":{:.3f}}})",
                    id(from), timed.rank, timed.start * microseconds);
        }
    for (std::size_t rank = 0; rank < memory.ranks.size(); ++rank)
        for (const auto& point : memory.ranks[rank])
            out.event(
                R"({{"name":"activations of rank {0}","ph":"C","pid":0,"ts":{1:.3f},"args":{{"micro_batches":{2:.4f}}}}})",
                rank, point.time * microseconds, point.micro_batches);
    return out.take();
}

}  // namespace plimsoll
