// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/overhead.h"

#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

constexpr Bytes cuda_context = 500 * MiB;
constexpr Bytes pair_communicator = 544 * MiB, communicator = 688 * MiB;
/// Reserved / active - 1 over all memory but the model states, on the four runs that logged both (torchtitan, eager,
/// Llama-7B and 8B): 0.36, 0.27, 0.22, 0.32. Over all memory the ratio is 1.18 to 1.27.
constexpr std::int64_t fragmentation_percent = 28;

std::array<std::pair<const char*, std::int64_t>, 5> groups_of(const Layout& layout) {
    return {{{"data", layout.dp * layout.cp},
             {"tensor", layout.tp},
             {"pipeline", layout.pp},
             {"context", layout.cp},
             {"expert", layout.ep}}};
}

Count nccl_bytes(const Layout& layout) {
    Count bytes;
    for (const auto& group : groups_of(layout))
        if (group.second > 1) bytes += group.second == 2 ? pair_communicator : communicator;
    return bytes;
}

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
    const Count bytes = nccl_bytes(layout);
    if (bytes == 0) return std::nullopt;
    std::string text;
    for (const auto& [name, ranks] : groups_of(layout))
        if (ranks > 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, ranks);
    return Term{"nccl",
                "NCCL",
                Category::Overhead,
                bytes.value(),
                fmt::format("688 MiB a communicator, 544 MiB when it has two ranks: {}", text),
                "NVIDIA/nccl issue 964 (A100)"};
}

void overhead(const Plan& plan, Count dynamic, TermSink& sink, Count refilled) {
    if (plan.cluster.on_cpu()) {
        sink.add("overhead", Category::Overhead, 0, [] {
            return Words{
                "Framework overhead",
                "0: on the CPU tensors are counted as they are allocated; the program itself needs some memory besides",
                "Plimsoll's counting allocator"};
        });
        return;
    }
    sink.add("cuda_context", Category::Overhead, cuda_context, [] {
        const auto term = cuda_context_term();
        return Words{term.name, term.formula, term.source};
    });
    if (const Count nccl = nccl_bytes(plan.layout); nccl > 0)
        sink.add("nccl", Category::Overhead, nccl, [&] {
            const auto term = nccl_term(plan.layout);
            return Words{term->name, term->formula, term->source};
        });
    sink.add("fragmentation", Category::Overhead, share(dynamic * fragmentation_percent, 100) - refilled, [&] {
        return Words{"Allocator fragmentation",
                     fmt::format("{} % of activations, logits and buffers = {} × {} / 100{}", fragmentation_percent,
                                 format_count(dynamic.value()), fragmentation_percent,
                                 refilled > 0 ? fmt::format(", less {} that the optimizer's step takes of it",
                                                            format_count(refilled.value()))
                                              : ""),
                     "reserved ÷ active memory of four torchtitan runs (pull requests 165, 699): 22 to 36 %"};
    });
}

}  // namespace plimsoll
