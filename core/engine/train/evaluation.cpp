// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/evaluation.h"

#include <algorithm>

#include "core/engine/train/generate.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

constexpr std::int64_t sample_length = 160;
constexpr double sample_temperature = 0.8;

}  // namespace

Result<torch::Tensor> Evaluation::own_losses() {
    torch::Tensor sum = torch::zeros({2}, torch::dtype(torch::kFloat64).device(model_.device()));
    const std::vector<Batch> own = batches_.validation();
    // Ranks need one another in each forward, so those with fewer batches go along with one that does not count.
    const auto rounds =
        static_cast<std::size_t>((batches_.validation_sequences() + plan_.layout.dp * plan_.layout.micro_batch - 1) /
                                 (plan_.layout.dp * plan_.layout.micro_batch));
    for (std::size_t round = 0; round < rounds; ++round) {
        if (ranks_.stop_asked()) break;
        const bool counts = round < own.size();
        const Batch& batch = counts ? own[round] : batches_.any_validation();
        PLIMSOLL_TRY(const auto loss, pipeline_.loss(batch));
        if (!counts || !speaks_for_data()) continue;
        sum[0] += loss * static_cast<double>(batch.tokens.size(0));
        sum[1] += batch.tokens.size(0);
    }
    return sum;
}

Result<void> Evaluation::validate(std::int64_t updates) {
    const std::int64_t sequences = batches_.validation_sequences();
    if (sequences == 0) return {};
    model_.train(false);
    const auto sum = own_losses();
    model_.train(true);
    if (!sum) return tl::unexpected(sum.error());
    if (auto summed = mesh_.world().all_reduce_sum(*sum)->wait(); !summed || !ranks_.first_rank()) return summed;
    const torch::Tensor host = sum->to(torch::kCPU);
    if (host[1].item<double>() < static_cast<double>(sequences)) return {};  // stopped: the part is not the whole
    return reporter_.record_validation(updates, host[0].item<double>() / static_cast<double>(sequences), sequences);
}

Result<void> Evaluation::sample(std::int64_t updates) {
    const std::string& prompt = plan_.training.sample_prompt;
    Result<void> failure;
    const auto logits = [&](const torch::Tensor& tokens) {
        auto row = pipeline_.next_logits(tokens.to(model_.device()));
        if (row) return *row;
        failure = tl::unexpected(row.error());
        return torch::Tensor();
    };
    model_.train(false);
    const std::string text = generate(
        logits, codec_, prompt, sample_length, sample_temperature, static_cast<std::uint64_t>(plan_.training.seed),
        std::min(plan_.data.sequence_length, plan_.model.max_position), [&] { return ranks_.stop_asked(); });
    model_.train(true);
    if (!failure) return failure;
    return reporter_.tell(updates, EventKind::Sample, text, SampleEvent{prompt, ""}.to_json());
}

}  // namespace plimsoll::engine
