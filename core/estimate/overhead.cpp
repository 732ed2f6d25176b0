// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/overhead.h"

#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

constexpr Bytes cuda_context = 500 * MiB;
constexpr Bytes pair_communicator = 544 * MiB, communicator = 688 * MiB;
/// Reserved / active - 1 over what is not model states, on the four runs that logged both (torchtitan, eager, Llama-7B
/// and 8B): 0.36, 0.27, 0.22, 0.32. Of the whole that is 1.18 to 1.27.
constexpr std::int64_t fragmentation_percent = 28;

}  // namespace

Term cuda_context_term() {
    return {"cuda_context",
            "CUDA context and kernels",
            Category::Overhead,
            cuda_context,
            "500 MiB",
            "0.3 to 0.5 GB commonly measured on A100 and H100; Hugging Face's documentation shows 1.3 GiB on V100"};
}

std::optional<Term> nccl_term(const Layout& layout) {
    Count nccl;
    std::string groups;
    const auto group = [&](const char* name, std::int64_t ranks) {
        if (ranks < 2) return;
        nccl += ranks == 2 ? pair_communicator : communicator;
        groups += fmt::format("{}{} {}", groups.empty() ? "" : ", ", name, ranks);
    };
    group("data", layout.dp * layout.cp);
    group("tensor", layout.tp);
    group("pipeline", layout.pp);
    group("context", layout.cp);
    group("expert", layout.ep);
    if (nccl == 0) return std::nullopt;
    return Term{"nccl",
                "NCCL",
                Category::Overhead,
                nccl.value(),
                fmt::format("688 MiB a communicator, 544 MiB when it has two ranks: {}", groups),
                "NVIDIA/nccl issue 964 (A100)"};
}

std::vector<Term> overhead(const Plan& plan, Count dynamic) {
    if (plan.cluster.gpu == "cpu")
        return {
            {"overhead", "Framework overhead", Category::Overhead, 0,
             "0: on the CPU tensors are counted as they are allocated; the program itself needs some memory besides",
             "Plimsoll's counting allocator"}};

    std::vector<Term> terms{cuda_context_term()};
    if (auto nccl = nccl_term(plan.layout)) terms.push_back(*std::move(nccl));
    terms.push_back({"fragmentation", "Allocator fragmentation", Category::Overhead,
                     share(dynamic * fragmentation_percent, 100).value(),
                     fmt::format("{} % of activations, logits and buffers = {} × {} / 100", fragmentation_percent,
                                 format_count(dynamic.value()), fragmentation_percent),
                     "reserved ÷ active memory of four torchtitan runs (pull requests 165, 699): 22 to 36 %"});
    return terms;
}

}  // namespace plimsoll
