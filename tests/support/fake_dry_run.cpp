// SPDX-License-Identifier: Apache-2.0
// Stands in for `plimsoll dry-run PLAN --rank R --timeline FILE`: a step of the plan's shape made up without LibTorch.
// FAKE_DRY_RUN=refuse, crash, hang or garbage does that instead.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/allocator/timeline_file.h"
#include "core/base/file.h"
#include "core/plan/plan_io.h"

namespace {

using namespace plimsoll;

constexpr Bytes act = 96 * MiB, weights = 400 * MiB;

MemoryTrace step_of(const Plan& plan) {
    MemoryTrace trace;
    const auto label = [&](MemoryCategory category, std::int32_t layer, const char* op) {
        return MemoryLabel{category, layer, trace.op(op), trace.phase()};
    };
    const auto layers = static_cast<std::int32_t>(plan.model.num_layers);
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        trace.allocate(weights, label(MemoryCategory::Parameters, layer, "aten::empty"));
        trace.allocate(2 * weights, label(MemoryCategory::Optimizer, layer, "aten::zeros"));
    }
    std::vector<std::int32_t> gradients;
    for (std::int64_t m = 0; m < std::min<std::int64_t>(plan.layout.accumulation, 4); ++m) {
        trace.begin_phase(fmt::format("forward {}", m));
        std::vector<std::int32_t> kept;
        for (std::int32_t layer = 0; layer < layers; ++layer)
            for (const char* op : {"aten::mm", "aten::silu", "aten::mul"}) {
                kept.push_back(trace.allocate(act, label(MemoryCategory::Activations, layer, op)));
                trace.free(trace.allocate(act / 2, label(MemoryCategory::Buffers, layer, op)));
            }
        trace.begin_phase(fmt::format("backward {}", m));
        const auto logits = trace.allocate(6 * act, label(MemoryCategory::Buffers, head_layer, "aten::_log_softmax"));
        trace.free(logits);
        for (std::int32_t layer = layers - 1; layer >= 0; --layer) {
            if (m == 0)
                gradients.push_back(trace.allocate(weights / 2, label(MemoryCategory::Gradients, layer, "aten::mm")));
            for (int i = 0; i < 3; ++i) {
                trace.free(kept.back());
                kept.pop_back();
            }
        }
    }
    trace.begin_phase("optimizer");
    for (const auto gradient : gradients) trace.free(gradient);
    return trace;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = std::getenv("FAKE_DRY_RUN") ? std::getenv("FAKE_DRY_RUN") : "";
    if (argc != 7 || std::string(argv[1]) != "dry-run" || std::string(argv[3]) != "--rank" ||
        std::string(argv[5]) != "--timeline") {
        fmt::print(stderr, "plimsoll: this is called as dry-run PLAN --rank R --timeline FILE\n");
        return 2;
    }
    if (mode == "hang") pause();
    if (mode == "crash") std::abort();
    if (mode == "refuse") {
        fmt::print(stderr, "a line before\nplimsoll: this plan cannot be run dry: it has no layers\n");
        return 2;
    }
    if (mode == "garbage") return write_file_atomic(argv[6], "{\"plimsoll_timeline\": 7}") ? 0 : 1;
    const auto loaded = load_plan(argv[2]);
    if (!loaded) {
        fmt::print(stderr, "plimsoll: {}\n", loaded.error().message);
        return 2;
    }
    const auto trace = step_of(loaded->plan);
    const auto replayed = replay(trace, {}, 512 * GiB);
    auto timeline = make_timeline(trace, trace.phases()[1].event, &replayed);
    timeline.plan = loaded->plan.model.preset;
    timeline.rank = std::atoi(argv[4]);
    timeline.device = loaded->plan.cluster.gpu;
    const auto written = write_timeline(argv[6], timeline);
    if (!written) fmt::print(stderr, "plimsoll: {}\n", written.error().message);
    return written ? 0 : 1;
}
