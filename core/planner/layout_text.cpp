// SPDX-License-Identifier: Apache-2.0
#include "core/planner/layout_text.h"

#include "core/plan/schedule_kind.h"
#include "core/schedule/schedule.h"

namespace plimsoll {

std::string layout_words(const Layout& l) {
    std::vector<std::string> words{fmt::format("dp {}", l.dp)};
    if (l.tp > 1) words.push_back(fmt::format("tp {}{}", l.tp, l.sequence_parallel ? " + sp" : ""));
    if (l.pp > 1)
        words.push_back(fmt::format("pp {} {}{}", l.pp, schedule_title(l.schedule),
                                    takes_chunks(l.schedule) ? fmt::format(" x {}", l.chunks) : ""));
    if (l.cp > 1) words.push_back(fmt::format("cp {}", l.cp));
    if (l.ep > 1) words.push_back(fmt::format("ep {}", l.ep));
    if (l.zero_stage > 0) words.push_back(fmt::format("ZeRO-{}", l.zero_stage));
    if (l.offload_optimizer != Offload::None)
        words.push_back(fmt::format("optimizer on {}", l.offload_optimizer == Offload::Nvme ? "NVMe" : "host"));
    words.push_back(fmt::format("{} x {}", l.micro_batch, l.accumulation));
    if (l.recompute != Recompute::None) words.push_back(fmt::format("recompute {}", name_of(l.recompute)));
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace plimsoll
