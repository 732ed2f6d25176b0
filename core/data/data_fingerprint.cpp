// SPDX-License-Identifier: Apache-2.0
#include "core/data/data_fingerprint.h"

#include <algorithm>

#include "core/base/xxh64.h"
#include "core/data/corpus.h"
#include "core/data/sample_order.h"

namespace plimsoll {

namespace {

/// Sequences of the order that are looked at: a shuffle that differs, differs in the first few.
constexpr std::uint64_t most_looked_at = 1024;

void put(std::string& out, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

DataFingerprint fingerprint_of(const Corpus& corpus, const Plan& plan) {
    const SampleOrder order(corpus.train_size, plan.data.sequence_length,
                            static_cast<std::uint64_t>(plan.training.seed));
    std::string places;
    put(places, corpus.train_size);
    put(places, static_cast<std::uint64_t>(plan.data.sequence_length));
    put(places, order.samples_per_epoch());
    const std::uint64_t looked_at = std::min<std::uint64_t>(order.samples_per_epoch(), most_looked_at);
    for (std::uint64_t i = 0; i < looked_at; ++i) put(places, order.offset(i));
    return {static_cast<Bytes>(corpus.text.size()), xxh64(corpus.text), xxh64(places)};
}

std::string words_of(const DataFingerprint& data) {
    return fmt::format("{} bytes with the hash {:016x}", format_count(data.bytes), data.text);
}

Result<void> require_trained_on(const DataFingerprint& then, const DataFingerprint& now, const std::string& path,
                                const std::string& checkpoint) {
    if (then == now) return {};
    if (then.bytes != now.bytes || then.text != now.text) {
        return bad_input(
            "{} (data.path) is not the text that the run was trained on: it holds {}, and that one held {}; give that "
            "text with --data, or start a new run from the weights that there are (--set model.weights={})",
            path, words_of(now), words_of(then), checkpoint);
    }
    return bad_input(
        "the sequences of {} would come in another order than the run was trained in: set data.sequence_length, "
        "data.validation_fraction and training.seed to what they were, or start a new run from the weights that there "
        "are (--set model.weights={})",
        path, checkpoint);
}

}  // namespace plimsoll
