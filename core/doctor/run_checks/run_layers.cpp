// SPDX-License-Identifier: Apache-2.0
// Layers that do not learn, and layers whose gradients are out of all proportion.
#include <algorithm>
#include <map>

#include "core/base/median.h"
#include "core/control/robust_window.h"
#include "core/doctor/plan_checks/plan_checks.h"
#include "core/doctor/run_checks/run_checks.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t least_samples = 3;
/// A choice: in runs of llama-tiny the norms of its layers lay within a factor of 17 of one another. A layer four
/// orders below the others stands still beside them, one two orders above them sets the clipping for all.
constexpr double dead_below = 1e-4;
constexpr double explodes_above = 100;

struct LayerNorms {
    std::map<std::uint64_t, std::map<std::string, double>> by_step;
    std::vector<std::string> names;
};

/// Norms of the last half of the samples, since early trouble may be over.
LayerNorms recent_norms(const RunFacts& run) {
    LayerNorms all;
    const std::string prefix = series::layer_norm_prefix;
    for (const auto& [name, points] : run.store().series()) {
        if (!name.starts_with(prefix) || name.find('@') != std::string::npos) continue;
        const std::string layer = name.substr(prefix.size());
        all.names.push_back(layer);
        const Curve curve = run.curve(name);
        for (std::size_t i = curve.size() / 2; i < curve.size(); ++i)
            all.by_step[curve.steps[i]][layer] = curve.values[i];
    }
    return all;
}

std::string layer_words(const std::string& layer) {
    return layer == "embed" ? "the embeddings" : layer == "head" ? "the head" : "layer " + layer;
}

struct Odd {
    std::string layer;
    double ratio = 0;  ///< to the median layer, at the last sample
    double norm = 0, median = 0;
    std::size_t samples = 0;
    std::uint64_t step = 0;
};

/// Layers that are odd in every recent sample.
std::vector<Odd> odd_layers(const LayerNorms& norms, const std::function<bool(double norm, double middle)>& is_odd) {
    std::vector<Odd> all;
    for (const std::string& name : norms.names) {
        Odd odd;
        odd.layer = name;
        bool always = true;
        for (const auto& [step, layers] : norms.by_step) {
            const auto at = layers.find(name);
            if (at == layers.end() || layers.size() < 3) continue;
            std::vector<double> others;
            for (const auto& [other, norm] : layers)
                if (other != name) others.push_back(norm);
            odd.median = median(others);
            odd.norm = at->second;
            odd.ratio = odd.median > 0 ? odd.norm / odd.median : 0;
            odd.step = step;
            ++odd.samples;
            always = always && odd.median > 0 && is_odd(odd.norm, odd.median);
        }
        if (always && odd.samples >= least_samples) all.push_back(odd);
    }
    return all;
}

std::vector<std::string> evidence_of(const std::vector<Odd>& all) {
    std::vector<std::string> evidence;
    for (const Odd& odd : all)
        evidence.push_back(
            fmt::format("Step {}: the gradient norm of {} is {:.3g}, {:.2g} times the median layer's "
                        "{:.3g}; so it was in the last {} samples.",
                        odd.step, layer_words(odd.layer), odd.norm, odd.ratio, odd.median, odd.samples));
    if (evidence.size() > 4) {
        const std::size_t more = evidence.size() - 4;
        evidence.resize(4);
        evidence.push_back(fmt::format("{} more layers are like them.", more));
    }
    return evidence;
}

std::string names_of(const std::vector<Odd>& all) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 4); ++i) names.push_back(layer_words(all[i].layer));
    return fmt::format("{}{}", fmt::join(names, ", "), all.size() > 4 ? ", …" : "");
}

}  // namespace

void check_run_layers(const RunFacts& run, Sheet& sheet) {
    const LayerNorms norms = recent_norms(run);
    if (norms.by_step.size() < least_samples || norms.names.size() < 3) {
        const std::string why =
            run.plan.training.layer_norms_every == 0
                ? std::string("training.layer_norms_every is 0: no layer's norm is recorded")
                : fmt::format("fewer than {} samples of the layers' norms are recorded", 2 * least_samples - 1);
        sheet.unknown("dead-layers", why);
        sheet.unknown("exploding-layers", why);
        return;
    }
    const auto dead = odd_layers(norms, [](double norm, double middle) { return norm <= dead_below * middle; });
    const auto loud = odd_layers(norms, [](double norm, double middle) { return norm >= explodes_above * middle; });
    const std::string fine =
        fmt::format("{} of them, over the last {} samples", norms.names.size(), norms.by_step.size());
    if (dead.empty()) sheet.fine("dead-layers", fine);
    if (loud.empty()) sheet.fine("exploding-layers", fine);
    const bool fp16 = run.plan.numerics.dtype == Dtype::Fp16;
    if (!dead.empty()) {
        Finding finding{"dead-layers",
                        Severity::Warning,
                        "dead-layers",
                        fmt::format("{} hardly {} a gradient.", names_of(dead), dead.size() == 1 ? "gets" : "get"),
                        evidence_of(dead),
                        {},
                        "per-layer gradient norms, training.layer_norms_every"};
        finding.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(finding.title[0])));
        if (fp16)
            finding.changes.push_back({{"numerics.dtype=bf16", "numerics.loss_scale=0"},
                                       "fp16 gradients below 6e-8 are zero; bf16 keeps them"});
        finding.changes.push_back({{lr_setting(run.plan, 0.5)},
                                   "a rate that was too high is what most often drives a "
                                   "layer where its gradient is gone; start again"});
        if (run.plan.model.init_std < 0.02)
            finding.changes.push_back({{"model.init_std=0.02"}, "larger initial weights"});
        sheet.found(std::move(finding));
    }
    if (!loud.empty()) {
        Finding finding{"exploding-layers",
                        Severity::Warning,
                        "exploding-layers",
                        fmt::format("{} {} gradients far above the other layers'.", names_of(loud),
                                    loud.size() == 1 ? "has" : "have"),
                        evidence_of(loud),
                        calming_changes(run.plan),
                        "per-layer gradient norms; Zhang et al. 2020, Why gradient clipping accelerates training"};
        finding.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(finding.title[0])));
        sheet.found(std::move(finding));
    }
}

}  // namespace plimsoll::doctor
