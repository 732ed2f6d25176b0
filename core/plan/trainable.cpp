// SPDX-License-Identifier: Apache-2.0
#include "core/plan/trainable.h"

#include <algorithm>

#include "core/plan/adapter.h"
#include "core/plan/machine.h"

namespace plimsoll {

namespace {

/// A byte is a token.
constexpr std::int64_t byte_tokens = 256;

Result<void> trainable_model(const Plan& plan) {
    const Model& model = plan.model;
    if (model.encoder_decoder()) {
        return bad_input(
            "this version trains decoders only, and T5 is an encoder-decoder (estimate and export work): set "
            "model.preset to a gpt2, llama, mistral, mixtral or qwen2 model");
    }
    if (model.activation != Activation::Gelu && model.activation != Activation::SwiGlu) {
        return bad_input("this version trains the activations gelu and swiglu, not {}: set model.activation",
                         name_of(model.activation));
    }
    if (model.vocab_size < byte_tokens) {
        return bad_input(
            "model.vocab_size is {}, and this version's tokens are bytes: set model.vocab_size to 256 or more",
            model.vocab_size);
    }
    if (plan.data.sequence_length > model.max_position) {
        return bad_input("data.sequence_length is {}, more than the {} positions of the model: set it to {} at most",
                         plan.data.sequence_length, model.max_position, model.max_position);
    }
    return {};
}

Result<void> trainable_layout(const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.zero_stage > most_zero_stage(plan)) {
        return bad_input(
            "this version trains adapters under layout.zero_stage 0 to 2 (estimate and export know 3): set it to 2, and "
            "split the weights with layout.tp or layout.pp where they do not fit");
    }
    const std::int64_t pieces = 2 * layout.cp, length = plan.data.sequence_length;
    if (layout.cp > 1 && length % pieces != 0) {
        return bad_input(
            "data.sequence_length {} does not come apart into the {} pieces of layout.cp {} (two a rank, so that all "
            "have the same work): take {} or {}",
            length, pieces, layout.cp, std::max(pieces, length / pieces * pieces), (length / pieces + 1) * pieces);
    }
    return {};
}

Result<void> enough_here(const Cluster& cluster) {
    if (cluster.nodes != 1) {
        return bad_input(
            "the plan spans {} machines and this starts ranks on one: set cluster.nodes=1, or start "
            "`plimsoll-worker DIR` on each with torchrun --no-python or srun",
            cluster.nodes);
    }
    if (cluster.on_cpu()) return {};
    const Machine machine = probe_machine();
    const auto found = static_cast<std::int64_t>(machine.gpus.size());
    if (found >= cluster.gpus_per_node) return {};
    return bad_input("the plan is for {} x {} and this machine has {}: set cluster.gpu=cpu to train on its processors",
                     cluster.gpus_per_node, cluster.gpu, found == 0 ? "no GPU" : fmt::format("{} GPUs", found));
}

}  // namespace

Result<void> require_trainable(const Plan& plan) {
    if (auto model = trainable_model(plan); !model) return model;
    return trainable_layout(plan);
}

Result<void> require_trainable_here(const Plan& plan) {
    if (auto trainable = require_trainable(plan); !trainable) return trainable;
    return enough_here(plan.cluster);
}

}  // namespace plimsoll
