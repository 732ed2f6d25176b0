// SPDX-License-Identifier: Apache-2.0
#include "core/engine/data/batch.h"

#include <algorithm>

#include "core/data/token_file.h"

namespace plimsoll::engine {

namespace {
constexpr std::size_t most_validation_sequences = 64;
}

BatchSource::BatchSource(const Corpus& corpus, const Plan& plan, int rank, int world_size, torch::Device device)
    : corpus_(corpus),
      order_(corpus.train_size, plan.data.sequence_length, static_cast<std::uint64_t>(plan.training.seed)),
      micro_batch_(plan.layout.micro_batch),
      sequence_length_(plan.data.sequence_length),
      rank_(static_cast<std::uint64_t>(rank)),
      world_size_(static_cast<std::uint64_t>(world_size)),
      device_(device) {}

Batch BatchSource::micro_batch(std::uint64_t first_sample, std::int64_t index) const {
    std::vector<std::size_t> offsets;
    std::vector<std::uint64_t> samples;
    for (std::int64_t i = 0; i < micro_batch_; ++i) {
        const auto mine = static_cast<std::uint64_t>(index * micro_batch_ + i);
        samples.push_back(first_sample + mine * world_size_ + rank_);
        offsets.push_back(order_.offset(samples.back()));
    }
    Batch batch = at_offsets(offsets);
    batch.samples = std::move(samples);
    return batch;
}

std::int64_t BatchSource::validation_sequences() const {
    const std::size_t size = corpus_.tokens() - corpus_.train_size;
    if (size == 0) return 0;
    const std::size_t windows = (size - 1) / static_cast<std::size_t>(sequence_length_);
    return static_cast<std::int64_t>(std::min(windows, most_validation_sequences));
}

std::vector<Batch> BatchSource::validation() const {
    const auto count = static_cast<std::size_t>(validation_sequences());
    const std::size_t length = static_cast<std::size_t>(sequence_length_);
    std::vector<Batch> batches;
    std::vector<std::size_t> offsets;
    const auto flush = [&] {
        if (!offsets.empty()) batches.push_back(at_offsets(offsets));
        offsets.clear();
    };
    for (std::size_t i = rank_; i < count; i += world_size_) {
        const std::size_t windows = (corpus_.tokens() - corpus_.train_size - 1) / length;
        offsets.push_back(corpus_.train_size + i * windows / count * length);
        if (offsets.size() == static_cast<std::size_t>(micro_batch_)) flush();
    }
    flush();
    return batches;
}

Batch BatchSource::any_validation() const { return at_offsets({corpus_.train_size}); }

Batch BatchSource::at_offsets(const std::vector<std::size_t>& offsets) const {
    const auto rows = static_cast<std::int64_t>(offsets.size());
    torch::Tensor windows = torch::empty({rows, sequence_length_ + 1}, torch::kInt64);
    auto* out = windows.mutable_data_ptr<std::int64_t>();
    for (const std::size_t offset : offsets) {
        for (std::int64_t i = 0; i <= sequence_length_; ++i) {
            *out++ = token_at(corpus_.text, corpus_.token_width, offset + static_cast<std::size_t>(i));
        }
    }
    windows = windows.to(device_);
    return {
        windows.narrow(1, 0, sequence_length_).contiguous(), windows.narrow(1, 1, sequence_length_).contiguous(), {}};
}

}  // namespace plimsoll::engine
