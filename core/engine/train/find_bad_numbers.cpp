// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/find_bad_numbers.h"

#include <algorithm>
#include <cmath>

#include "core/allocator/memory_trace.h"

namespace plimsoll::engine {

namespace {

constexpr std::int64_t places_a_layer = 1'000'000;
constexpr std::int64_t longest_text = 256;

bool finite(const torch::Tensor& x) { return x.numel() == 0 || at::isfinite(x).all().item<bool>(); }
bool has_nan(const torch::Tensor& x) { return at::isnan(x).any().item<bool>(); }

/// Rows of a model from its input to its output: the embeddings, its layers, the head.
std::int64_t row_of(const std::string& parameter, std::int64_t layers) {
    const std::string layer = Decoder::layer_of(parameter);
    return layer == "embed" ? 0 : layer == "head" ? layers + 1 : std::stoll(layer) + 1;
}

std::string layer_name(std::int64_t row, std::int64_t layers) {
    return row == 0 ? "embed" : row == layers + 1 ? "head" : std::to_string(row - 1);
}

/// What this rank found, ordered so that the largest place wins over all ranks.
struct Found {
    std::int64_t place = -1;
    BadNumbers what;
};

/// The same on every rank: the finding of the largest place, told by the first rank that has it.
Result<std::optional<BadNumbers>> agree(const Found& own, Collectives& world) {
    const auto options = torch::dtype(torch::kInt64);
    const torch::Tensor best = torch::full({1}, own.place, options);
    PLIMSOLL_CHECK(world.all_reduce_max(best)->wait());
    const auto place = best.item<std::int64_t>();
    if (place < 0) return std::nullopt;
    const torch::Tensor teller = torch::full({1}, own.place == place ? world.world_size() - world.rank() : 0, options);
    PLIMSOLL_CHECK(world.all_reduce_max(teller)->wait());
    const int root = world.world_size() - static_cast<int>(teller.item<std::int64_t>());

    torch::Tensor text = torch::zeros({longest_text}, torch::kByte);
    const std::string line = fmt::format("{}{}\n{}\n{}", own.what.forward ? 'f' : 'b', own.what.nan ? 'n' : 'i',
                                         own.what.layer, own.what.tensor);
    std::copy_n(line.data(), std::min<std::size_t>(line.size(), longest_text - 1),
                text.mutable_data_ptr<std::uint8_t>());
    PLIMSOLL_CHECK(world.broadcast(text, root));
    const std::string told(reinterpret_cast<const char*>(text.const_data_ptr<std::uint8_t>()));
    const std::size_t end = told.find('\n', 3);
    return BadNumbers{.tensor = told.substr(end + 1),
                      .layer = told.substr(3, end - 3),
                      .forward = told[0] == 'f',
                      .nan = told[1] == 'n'};
}

}  // namespace

Result<std::optional<BadNumbers>> find_bad_gradient(const Plan& plan, const DistributedModel& model) {
    Found found;
    std::int64_t index = 0;
    for (const RankParameter& each : model.parameters().all()) {
        const std::int64_t row = row_of(each.name, plan.model.num_layers);
        const torch::Tensor& gradient = each.part.gradient;
        // The backward goes from the last row to the first, and through each from its last tensor on.
        const std::int64_t place = row * places_a_layer + index++;
        if (place <= found.place || !gradient.defined() || finite(gradient)) continue;
        found = {place, {each.name, layer_name(row, plan.model.num_layers), false, has_nan(gradient)}};
    }
    return agree(found, model.context().mesh->world());
}

Result<std::optional<BadNumbers>> find_bad_forward(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const std::vector<Batch>& batches) {
    const std::int64_t layers = plan.model.num_layers;
    Found found;
    const auto take = [&](std::int64_t row, std::string tensor, bool nan) {
        // The first row wins, so its place is the largest.
        const std::int64_t place = layers + 2 - row;
        if (place > found.place) found = {place, {std::move(tensor), layer_name(row, layers), true, nan}};
    };
    LayerProbe& probe = *model.context().probe;
    const auto look = probe.look;
    probe.look = [&](std::int32_t layer, const torch::Tensor& output) {
        const torch::Tensor passed = look ? look(layer, output) : output;
        if (!finite(passed)) {
            const std::int64_t row = layer == embedding_layer ? 0 : layer + 1;
            take(row, row == 0 ? "the output of the embeddings" : fmt::format("the output of layer {}", layer),
                 has_nan(passed));
        }
        return passed;
    };
    Result<void> result;
    for (const Batch& batch : batches) {
        const auto loss = pipeline.loss(batch);
        if (!loss) result = tl::unexpected(loss.error());
        if (!result) break;
        if (!std::isfinite(*loss)) take(layers + 1, "the loss", std::isnan(*loss));
    }
    probe.look = look;
    if (!result) return tl::unexpected(result.error());
    // A weight that is bad already explains its layer's output.
    for (const RankParameter& each : model.parameters().all()) {
        const std::int64_t row = row_of(each.name, layers);
        if (found.place != layers + 2 - row || finite(each.part.tensor)) continue;
        found.what = {each.name, layer_name(row, layers), true, has_nan(each.part.tensor)};
        break;
    }
    return agree(found, model.context().mesh->world());
}

Result<std::optional<BadNumbers>> find_bad_numbers(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const BatchSource& source, std::uint64_t samples, double loss) {
    if (!std::isfinite(loss)) {
        std::vector<Batch> batches;
        for (std::int64_t k = 0; k < plan.layout.accumulation; ++k) batches.push_back(source.micro_batch(samples, k));
        auto found = find_bad_forward(plan, model, pipeline, batches);
        if (!found || *found) return found;
    }
    return find_bad_gradient(plan, model);
}

}  // namespace plimsoll::engine
