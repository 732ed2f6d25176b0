// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/announcement.h"

#include <unistd.h>

#include "core/base/version.h"
#include "core/control/lr_extension.h"
#include "core/plan/adapter.h"
#include "core/plan/parameters.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

/// What becomes of the learning rate where the run has other steps than the checkpoint's had, if it jumps up.
std::string jump_words(const Plan& plan, const RunFacts& facts) {
    if (facts.planned_steps <= 0 || facts.planned_steps == plan.training.steps) return "";
    Plan before = plan;
    before.training.steps = facts.planned_steps;
    before.lr.extension = LrExtension::Stretch;
    const auto jump = rate_jump(before, plan, facts.position.updates);
    if (!jump) return "";
    return fmt::format(
        " The learning rate jumps from {:.3g} to {:.3g}, since the run has {} steps now and had {} (lr.extension).",
        jump->before, jump->after, plan.training.steps, facts.planned_steps);
}

}  // namespace

Result<void> announce(Reporter& reporter, const Plan& plan, const Corpus& corpus, const RunFacts& facts) {
    const std::int64_t parameters = count_parameters(plan.model).total;
    const auto dtype = std::string(dtype_names[static_cast<std::size_t>(plan.numerics.dtype)]);
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string adapters =
        adapts(plan) ? fmt::format(" and adapters of {}", format_short(static_cast<double>(adapter_parameters(plan))))
                     : "";
    const std::string what = fmt::format(
        "{} parameters{} in {} on {} {} ({}), on {} of {}: {} steps of {} tokens.",
        format_short(static_cast<double>(parameters)), adapters, precision_words(plan.numerics), facts.world_size,
        facts.world_size == 1 ? "rank" : "ranks", facts.device_for_person,
        corpus.token_width == 1 ? format_bytes(static_cast<Bytes>(corpus.text.size()))
                                : fmt::format("{} tokens", format_count(static_cast<std::int64_t>(corpus.tokens()))),
        corpus.name, plan.training.steps, format_count(plan.layout.global_batch() * plan.data.sequence_length));
    const StartEvent start{.parameters = parameters,
                           .trained_parameters = trained_parameters(plan),
                           .world_size = facts.world_size,
                           .dtype = dtype,
                           .device = facts.device,
                           .corpus = corpus.name,
                           .corpus_bytes = static_cast<Bytes>(corpus.text.size()),
                           .train_bytes = static_cast<Bytes>(corpus.train_size) * corpus.token_width,
                           .steps = plan.training.steps,
                           .seed = plan.training.seed,
                           .buckets = static_cast<std::int64_t>(facts.buckets),
                           .host = host,
                           .pid = ::getpid(),
                           .version = version()};
    if (!facts.resumed_from) {
        return reporter.tell(facts.position.updates, EventKind::Start, "Training " + what, start.to_json());
    }
    return reporter.tell(
        facts.position.updates, EventKind::Resume,
        fmt::format("Resumed from the checkpoint of step {}: {}{}", *facts.resumed_from, what, jump_words(plan, facts)),
        ResumeEvent{start, *facts.resumed_from, facts.position.samples}.to_json());
}

}  // namespace plimsoll::engine
