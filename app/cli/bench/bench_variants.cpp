// SPDX-License-Identifier: Apache-2.0
#include "app/cli/bench/bench_variants.h"

#include <algorithm>

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"

namespace plimsoll::cli {

namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (end > at) words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

Result<std::vector<Variant>> make_variants(const Plan& base,
                                           const std::vector<std::pair<std::string, std::string>>& named) {
    std::vector<Variant> variants;
    for (const auto& [name, settings] : named) {
        PLIMSOLL_TRY(auto variant, make_variant(base, name, settings));
        variants.push_back(std::move(variant));
    }
    return variants;
}

}  // namespace

Result<Plan> for_bench(Plan plan, std::int64_t steps) {
    if (steps < 2 || steps > 100'000) {
        return bad_input("--steps is {}: 2 to 100,000 are allowed, of which the first are left out", steps);
    }
    plan.training.steps = steps;
    plan.lr.warmup_steps = std::min(plan.lr.warmup_steps, steps);
    plan.training.layer_norms_every = plan.training.validate_every = plan.training.sample_every = 0;
    plan.training.checkpoint_every = 0;
    return plan;
}

Result<Variant> make_variant(const Plan& base, const std::string& name, const std::string& settings) {
    const std::vector<std::string> words = words_of(settings);
    auto plan = with_settings(base, words);
    if (!plan) return bad_input("variant \"{}\": {}", name, plan.error().message);
    const auto sets = [&](const std::string& key) {
        return std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.starts_with(key + "="); });
    };
    Layout& layout = plan->layout;
    Cluster& cluster = plan->cluster;
    // check_plan reports senseless factors.
    const bool sensible = std::min({layout.dp, layout.tp, layout.pp, layout.cp, layout.micro_batch}) > 0;
    if (sensible && cluster.on_cpu() && cluster.nodes == 1 && !sets("cluster.gpus_per_node")) {
        cluster.gpus_per_node = layout.world_size();
    }
    if (sensible && !sets("layout.accumulation") &&
        base.layout.global_batch() % (layout.dp * layout.micro_batch) == 0) {
        layout.accumulation = base.layout.global_batch() / (layout.dp * layout.micro_batch);
    }
    return Variant{name, std::move(*plan)};
}

std::vector<std::string> settings_of_set(const std::string& set) {
    // A model with many gradients and few tokens.
    if (set == "all-reduce") {
        return {"model.hidden_size=256", "model.ffn_hidden_size=704", "model.num_layers=8",
                "layout.dp=4",           "cluster.gpus_per_node=4",   "data.sequence_length=32",
                "layout.micro_batch=1",  "layout.accumulation=1"};
    }
    if (set != "recompute") return {};
    // Many thin layers, so that their activations are most of the memory; eager attention, whose scores selective
    // recomputation saves.
    return {"model.num_layers=32",  "layout.dp=1",           "cluster.gpus_per_node=1",
            "layout.micro_batch=4", "layout.accumulation=1", "numerics.attention=eager"};
}

Result<std::vector<Variant>> variants_of_set(const std::string& set, const Plan& base) {
    if (set == "recompute") {
        return make_variants(base, {{"none", "layout.recompute=none"},
                                    {"full, every layer", "layout.recompute=full layout.recompute_every=1"},
                                    {"full, every 2nd", "layout.recompute=full layout.recompute_every=2"},
                                    {"full, every 4th", "layout.recompute=full layout.recompute_every=4"},
                                    {"full, every 8th", "layout.recompute=full layout.recompute_every=8"},
                                    {"selective", "layout.recompute=selective"},
                                    {"mlp", "layout.recompute=mlp"}});
    }
    if (set == "all-reduce") {
        return make_variants(base,
                             {{"flat", "training.all_reduce_group=0"}, {"groups of 2", "training.all_reduce_group=2"}});
    }
    const std::int64_t sequences = base.layout.global_batch();
    if (sequences % 2 != 0) {
        return bad_input("the global batch is {} sequences, which two ranks cannot share: set layout.micro_batch",
                         sequences);
    }
    const auto ranks = [&](std::int64_t dp, std::int64_t threads) {
        return fmt::format("layout.dp={} layout.micro_batch={} layout.accumulation=1 training.threads={}", dp,
                           sequences / dp, threads);
    };
    return make_variants(base, {{"1 rank x 2 threads", ranks(1, 2)}, {"2 ranks x 1 thread", ranks(2, 1)}});
}

Result<std::vector<Variant>> bucket_variants(const Plan& base) {
    std::vector<std::pair<std::string, std::string>> named;
    for (const int mib : {10, 25, 50, 100}) {
        const std::string setting = fmt::format("training.bucket_mib={}", mib);
        named.emplace_back(setting, setting);
    }
    return make_variants(base, named);
}

}  // namespace plimsoll::cli
