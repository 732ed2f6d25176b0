// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/run_inputs.h"

#include <optional>

#include "core/checkpoint/weights_fingerprint.h"
#include "core/engine/data/text_codec.h"
#include "core/plan/adapter.h"

namespace plimsoll::engine {

namespace {

Result<RunInputs> own_inputs(const Result<Corpus>& corpus, const Plan& plan) {
    if (!corpus) return tl::unexpected(corpus.error());
    PLIMSOLL_CHECK(require_vocabulary(*corpus, plan));
    if (auto codec = TextCodec::of(*corpus, plan.model.vocab_size); !codec) return tl::unexpected(codec.error());
    RunInputs inputs{fingerprint_of(*corpus, plan), 0};
    if (adapts(plan) && !plan.model.weights.empty()) {
        PLIMSOLL_TRY(inputs.weights, weights_fingerprint(plan.model.weights));
    }
    return inputs;
}

/// One rank's line of the table that all ranks see.
enum Column { Unread, Size, Text, Order, Weights, Columns };

torch::Tensor line_of(const Result<RunInputs>& inputs) {
    torch::Tensor line = torch::zeros({Columns}, torch::kInt64);
    auto* const at = line.mutable_data_ptr<std::int64_t>();
    if (!inputs) {
        at[Unread] = 1;
        return line;
    }
    at[Size] = inputs->data.bytes;
    at[Text] = static_cast<std::int64_t>(inputs->data.text);
    at[Order] = static_cast<std::int64_t>(inputs->data.order);
    at[Weights] = static_cast<std::int64_t>(inputs->weights);
    return line;
}

RunInputs inputs_in(const std::int64_t* line) {
    return {{line[Size], static_cast<std::uint64_t>(line[Text]), static_cast<std::uint64_t>(line[Order])},
            static_cast<std::uint64_t>(line[Weights])};
}

std::optional<Error> disagreement(const std::int64_t* table, int ranks, const Plan& plan) {
    const auto error = [](auto&& unexpected) { return std::optional(unexpected.value()); };
    for (int rank = 0; rank < ranks; ++rank) {
        if (table[rank * Columns + Unread] != 0) {
            return error(bad_input("rank {} could not read what the run trains on; its log tells why", rank));
        }
    }
    const RunInputs first = inputs_in(table);
    for (int rank = 1; rank < ranks; ++rank) {
        const RunInputs own = inputs_in(table + rank * Columns);
        if (own.data.bytes != first.data.bytes || own.data.text != first.data.text) {
            return error(bad_input(
                "rank {} has read another text than rank 0: {}, and {} on rank 0; put the same text on every machine, "
                "or set data.path ({}) to a place that all of them share",
                rank, words_of(own.data), words_of(first.data), plan.data.path));
        }
        if (own.data.order != first.data.order) {
            return error(bad_input(
                "rank {} would take the sequences of the text in another order than rank 0: start all ranks with the "
                "same version of plimsoll-worker",
                rank));
        }
        if (own.weights != first.weights) {
            return error(bad_input(
                "rank {} has other weights beside its adapter than rank 0: put the same files on every machine, or set "
                "model.weights ({}) to a place that all of them share",
                rank, plan.model.weights));
        }
    }
    return std::nullopt;
}

}  // namespace

Result<RunInputs> agree_on_inputs(const Result<Corpus>& corpus, const Plan& plan, Collectives& world) {
    const auto own = own_inputs(corpus, plan);
    const torch::Tensor table = torch::zeros({world.world_size(), Columns}, torch::kInt64);
    PLIMSOLL_CHECK(world.all_gather(table, line_of(own))->wait());
    if (!own) return own;
    if (auto odd = disagreement(table.const_data_ptr<std::int64_t>(), world.world_size(), plan)) {
        return tl::unexpected(*std::move(odd));
    }
    return own;
}

}  // namespace plimsoll::engine
