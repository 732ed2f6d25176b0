// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/distributed_model.h"

#include <map>
#include <string_view>

#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

DistributedModel::DistributedModel(const Plan& plan, const Mesh& mesh, const PipelineSchedule& schedule,
                                   torch::Device device)
    : stages_(plan, mesh, schedule, device),
      parameters_(stages_),
      sums_(stages_, parameters_),
      sizes_(stages_, parameters_, sums_),
      weights_(stages_, parameters_),
      optimizer_(stages_, parameters_, sums_) {}

void DistributedModel::train(bool on) {
    for (const auto& chunk : stages_.all()) chunk->train(on);
}

void DistributedModel::prepare_backward(bool reduce) {
    sizes_.before_backward();
    parameters_.prepare_backward(reduce);
}

Result<void> DistributedModel::make_optimizer(const Optimizer& settings) {
    sizes_.start_clip_by_tensor(settings);
    return optimizer_.make(settings);
}

Result<void> DistributedModel::step(double lr, double inv_scale, double clip_factor) {
    const MemoryScope scope(MemoryCategory::Optimizer);
    if (auto stepped = optimizer_.step(lr, inv_scale, clip_factor); !stepped) return stepped;
    return parameters_.share();
}

Result<NamedTensors> DistributedModel::whole_optimizer_state() {
    PLIMSOLL_TRY(auto parts, optimizer_.whole_state());
    sizes_.add_averages(parts);
    return gather_on_first_rank(parts, context().mesh->world());
}

Result<void> DistributedModel::load_optimizer_state(const NamedTensors& whole, std::int64_t steps) {
    const std::map<std::string_view, torch::Tensor> by_name(whole.begin(), whole.end());
    if (auto loaded = sizes_.load_averages(by_name, steps); !loaded) return loaded;
    return optimizer_.load_state(by_name, steps);
}

}  // namespace plimsoll::engine
