// SPDX-License-Identifier: Apache-2.0
// The optimizer's settings, judged by the batch and the length of the run.
#include "core/control/batch_rules.h"
#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

/// Beta2 of 0.999 averages over a thousand updates; a short run has no late jump that the average could lag behind.
constexpr std::int64_t long_run = 50'000;
/// Updates below which weights have hardly grown.
constexpr std::int64_t decay_matters = 1000;
constexpr double strong_decay = 0.5;

bool is_adam(OptimizerKind kind) { return kind == OptimizerKind::AdamW || kind == OptimizerKind::AdamW8bit; }

void check_beta2(const Plan& plan, Sheet& sheet) {
    const Optimizer& optimizer = plan.optimizer;
    const double tokens = tokens_per_batch(plan);
    sheet.found(
        {"beta2",
         Severity::Advice,
         "optimizer",
         fmt::format("AdamW's beta2 of {:g} is high for this run.", optimizer.beta2),
         {fmt::format("Its second moment is an average over {:.0f} updates: for as many it is too small after "
                      "gradients have grown, and steps come out too long; that is where loss spikes of large "
                      "models come from.",
                      1 / (1 - optimizer.beta2)),
          fmt::format("{} tokens a batch, {} updates.", format_short(tokens), format_count(plan.training.steps))},
         {{{"optimizer.beta2=0.95"}, "an average over 20 updates, as GPT-3 and LLaMA were trained"},
          {{"optimizer.beta2=0.98"}, "an average over 50 updates"}},
         "Brown et al. 2020, appendix B; Wortsman et al. 2023, Stable and low-precision training, section 3.4"});
}

}  // namespace

void check_optimizer(const Plan& plan, Sheet& sheet) {
    const Optimizer& optimizer = plan.optimizer;
    const double tokens = tokens_per_batch(plan);
    const bool large = tokens > batch_rule_switch;
    const auto name = name_of(optimizer.kind);
    if (optimizer.kind == OptimizerKind::Lamb && !optimizer.always_adapt)
        sheet.found({"lamb-adapts-partly",
                     Severity::Advice,
                     "optimizer",
                     "LAMB leaves parameters without weight decay at a trust ratio of 1.",
                     {"Biases and norms then move at Adam's rate, beside matrices whose rate follows their norm; at a "
                      "large batch's learning rate that is much."},
                     {{{"optimizer.always_adapt=true"}, "the trust ratio holds for all parameters"}},
                     "You et al. 2020 (LAMB), algorithm 2; always_adapt of its implementations"});
    else if (is_adam(optimizer.kind) && optimizer.beta2 >= 0.999 && (large || plan.training.steps >= long_run))
        check_beta2(plan, sheet);
    else if (is_adam(optimizer.kind) && large)
        sheet.found({"large-batch-adamw",
                     Severity::Advice,
                     "optimizer",
                     fmt::format("A batch of {} tokens is where LAMB is worth a comparison.", format_short(tokens)),
                     {"Above 1M tokens a batch the guide takes LAMB, whose steps follow each layer's norm; GPT-3 and "
                      "Llama 3 were trained with AdamW at 3 to 16M tokens, so this is a trial, not a fault."},
                     {{{"optimizer.kind=lamb", "optimizer.always_adapt=true"}, "layer-wise adaptive steps"}},
                     "You et al. 2020 (LAMB); the guide's rule of 1M tokens"});
    else
        sheet.fine("optimizer", fmt::format("{}, {} tokens a batch", name, format_short(tokens)));

    const bool decays = optimizer.weight_decay > 0;
    if (decays && optimizer.weight_decay <= strong_decay)
        return sheet.fine("weight-decay", fmt::format("{:g}, not on biases and norms", optimizer.weight_decay));
    if (!decays && (optimizer.kind == OptimizerKind::Sgd || plan.training.steps < decay_matters))
        return sheet.fine("weight-decay", fmt::format("off, over {} updates", plan.training.steps));
    const std::string now = decays ? fmt::format("A weight decay of {:g} is strong.", optimizer.weight_decay)
                                   : std::string("There is no weight decay.");
    sheet.found({decays ? "strong-weight-decay" : "no-weight-decay",
                 Severity::Advice,
                 "weight-decay",
                 now,
                 {decays ? fmt::format("At the peak rate each update takes {:.2g} of a weight away.",
                                       optimizer.weight_decay * peak_learning_rate(plan))
                         : fmt::format("Over {} updates weights grow and the effective learning rate falls with them.",
                                       format_count(plan.training.steps))},
                 {{{"optimizer.weight_decay=0.1"}, "as GPT-3 and LLaMA"},
                  {{"optimizer.weight_decay=0.01"}, "AdamW's usual one"}},
                 "Loshchilov and Hutter 2019; Brown et al. 2020, appendix B"});
}

}  // namespace plimsoll::doctor
