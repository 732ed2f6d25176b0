// SPDX-License-Identifier: Apache-2.0
// What a config.json describes: the tensors of the model by name and shape, how many numbers they hold, and its layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/architecture/family.h"
#include "core/base/json.h"
#include "core/base/result.h"

namespace plimsoll {

/// As a published checkpoint holds it: experts one by one where the family stores them so.
struct TensorShape {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t numbers = 0;
    double active = 1;    ///< share of it that a token goes through: below 1 in routed experts
    bool buffer = false;  ///< stored, but not trained and not counted
};

/// Layers that are alike in what is told of them.
struct LayerKind {
    std::int64_t count = 0;
    std::string attention = "multi-head";  ///< or grouped-query, multi-query, multi-head latent, state space, none, …
    std::string mlp, norm, placement, position, qk_norm;
    std::optional<std::int64_t> window;  ///< tokens back that attention sees; none: all
    bool parallel = false;               ///< attention and MLP see the same input
};

struct Architecture {
    std::string family, title, model_type;
    std::string kind = "decoder";  ///< decoder, encoder, encoder-decoder
    std::optional<std::int64_t> hidden, layers, decoder_layers, heads, kv_heads, head_dim, inner, vocab, context;
    std::optional<std::int64_t> experts, experts_per_token, expert_inner, shared_inner;
    std::optional<bool> tied;  ///< the output head is the input embedding
    std::string rope_scaling;  ///< "llama3", "yarn", …; empty: none
    std::vector<LayerKind> kinds;
    std::vector<TensorShape> tensors;    ///< by name
    std::int64_t parameters = 0;         ///< a tied tensor once
    std::int64_t active_parameters = 0;  ///< a token goes through
    std::vector<std::string> notes;      ///< what a reader has to know beside
};

/// `as`: the family to read the config as, where its own class is not known; "" otherwise. Errors are one sentence: a key
/// that is missing, keys that contradict one another, a class that no family has (with the nearest one), a model whose code
/// comes with it (auto_map).
Result<Architecture> describe(const Json& config, const FamilyFiles& families, const std::string& as = "");

}  // namespace plimsoll
