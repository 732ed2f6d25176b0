// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/announcement.h"

#include <unistd.h>

#include "core/base/version.h"
#include "core/plan/adapter.h"
#include "core/plan/parameters.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

Result<void> announce(Reporter& reporter, const Plan& plan, const Corpus& corpus, const RunFacts& facts) {
    const std::int64_t parameters = count_parameters(plan.model).total;
    const auto dtype = std::string(dtype_names[static_cast<std::size_t>(plan.numerics.dtype)]);
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string adapters =
        adapts(plan) ? fmt::format(" and adapters of {}", format_short(static_cast<double>(adapter_parameters(plan))))
                     : "";
    const std::string what =
        fmt::format("{} parameters{} in {} on {} {} ({}), on {} of {}: {} steps of {} tokens.",
                    format_short(static_cast<double>(parameters)), adapters, precision_words(plan.numerics),
                    facts.world_size, facts.world_size == 1 ? "rank" : "ranks", facts.device_for_person,
                    format_bytes(static_cast<Bytes>(corpus.text.size())), corpus.name, plan.training.steps,
                    format_count(plan.layout.global_batch() * plan.data.sequence_length));
    const StartEvent start{.parameters = parameters,
                           .trained_parameters = trained_parameters(plan),
                           .world_size = facts.world_size,
                           .dtype = dtype,
                           .device = facts.device,
                           .corpus = corpus.name,
                           .corpus_bytes = static_cast<Bytes>(corpus.text.size()),
                           .train_bytes = static_cast<Bytes>(corpus.train_size),
                           .steps = plan.training.steps,
                           .seed = plan.training.seed,
                           .buckets = static_cast<std::int64_t>(facts.buckets),
                           .host = host,
                           .pid = ::getpid(),
                           .version = version()};
    if (!facts.resumed_from) {
        return reporter.tell(facts.position.updates, EventKind::Start, "Training " + what, start.to_json());
    }
    return reporter.tell(facts.position.updates, EventKind::Resume,
                         fmt::format("Resumed from the checkpoint of step {}: {}", *facts.resumed_from, what),
                         ResumeEvent{start, *facts.resumed_from, facts.position.samples}.to_json());
}

}  // namespace plimsoll::engine
