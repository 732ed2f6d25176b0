// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/optimizer_state.h"

namespace plimsoll {
namespace {

constexpr auto zero_source = "ZeRO (Rajbhandari et al. 2020), sections 3.1 and 5";
constexpr std::int64_t block = 256;  ///< elements that share a scale in 8-bit states

std::string number(Count count) { return format_count(count.value()); }

}  // namespace

Count shard(const Slice& slice, const Sharding& groups, bool sharded) {
    if (!sharded) return slice.total;
    return share(slice.dense(), groups.dense) + share(slice.experts, groups.experts);
}

std::string shard_formula(std::int64_t bytes, const Slice& slice, const Sharding& groups, bool sharded) {
    if (!sharded || (groups.dense == 1 && groups.experts == 1))
        return fmt::format("{0} B × P = {0} × {1}", bytes, number(slice.total));
    if (slice.experts > 0)
        return fmt::format("{0} B × (D / N + X / M) = {0} × ({1} / {2} + {3} / {4}); D dense and X expert parameters",
                           bytes, number(slice.dense()), groups.dense, number(slice.experts), groups.experts);
    return fmt::format("{0} B × P / N = {0} × {1} / {2}; N = dp × cp", bytes, number(slice.total), groups.dense);
}

AdafactorElements adafactor_elements(const Plan& plan, const Slice& slice) {
    const auto& m = plan.model;
    const auto tp = plan.layout.tp;
    const Count h = m.hidden_size, heads = share(m.num_heads, tp), q = heads * m.head_size();
    const Count kv = share(m.num_kv_heads, tp) * m.head_size(), f = share(m.ffn_hidden_size, tp);
    const Count up = m.gated_mlp() ? 2 : 1, bias = m.linear_bias ? 1 : 0;
    const Count norm = m.norm == Norm::LayerNorm ? 2 * h : h;
    const bool gpt2 = m.family == Family::Gpt2;  // its matrices are [in, out], the others' [out, in]

    const AdafactorElements attention{(gpt2 ? h + q : q + 2 * kv + h) + (m.qkv_bias ? q + 2 * kv : Count(0)) + bias * h,
                                      gpt2 ? q + 2 * kv + h : 3 * h + q};
    const AdafactorElements mlp{up * f + h + bias * (up * f + h), up * h + f};
    const Count experts = m.moe() ? share(m.num_experts, plan.layout.ep) : Count(1);
    const AdafactorElements router{m.num_experts, m.moe() ? h : Count(0)};
    const Count rows = attention.rows + experts * mlp.rows + router.rows + 2 * norm;
    const Count columns = attention.columns + experts * mlp.columns + router.columns;
    const auto decoders = slice.layers - slice.encoder_layers, crossing = m.encoder_decoder() ? decoders : 0;

    AdafactorElements sum{slice.layers * rows + crossing * (attention.rows + norm) + slice.norms,
                          slice.layers * columns + crossing * attention.columns};
    const auto add = [&](Count matrix_rows, Count matrix_columns) {
        sum.rows += matrix_rows;
        sum.columns += matrix_columns;
    };
    if (slice.first) add(share(m.vocab_size, tp), h);
    if (slice.first && m.position == Position::Learned) add(m.max_position, h);
    if (slice.positions > 0) add(2 * 32, 2 * heads);
    if (slice.head > 0) add(share(m.vocab_size, tp), h);
    return sum;
}

OptimizerState optimizer_state(const Plan& plan, const Slice& slice, bool sharded) {
    const auto groups = sharding(plan.layout);
    const Count own = shard(slice, groups, sharded);
    const auto whole = [&](std::int64_t bytes) { return shard_formula(bytes, slice, groups, sharded); };
    const auto with_zero = [](const char* source) { return fmt::format("{}; {}", source, zero_source); };
    switch (plan.optimizer.kind) {
        case OptimizerKind::AdamW:
            return {"adam_moments", "Adam moments (fp32)", 8 * own, whole(8),
                    with_zero("AdamW keeps a mean and a variance, 4 B each")};
        case OptimizerKind::Lamb:
            return {"lamb_moments", "LAMB moments (fp32)", 8 * own, whole(8),
                    with_zero("LAMB (You et al. 2020) keeps Adam's mean and variance, 4 B each")};
        case OptimizerKind::Sgd:
            if (plan.optimizer.momentum == 0)
                return {"momentum", "SGD momentum", 0, "0: optimizer.momentum is 0, and plain SGD keeps nothing",
                        "Robbins and Monro 1951"};
            return {"momentum", "SGD momentum (fp32)", 4 * own, whole(4), with_zero("one moment of 4 B")};
        case OptimizerKind::AdamW8bit: {
            const Count blocks = share(own, block);
            return {"adam_moments_8bit", "Adam moments (8 bits)", 2 * (own + 4 * blocks),
                    fmt::format("2 × (1 B × S + 4 B × S / {}) = 2 × ({} + 4 × {}); S the rank's parameters: {}", block,
                                number(own), number(blocks), whole(1)),
                    with_zero("block-wise 8-bit states (Dettmers et al. 2022), a scale a block")};
        }
        case OptimizerKind::Adafactor: {
            const auto all = adafactor_elements(plan, slice);
            const auto ranks = sharded ? groups.dense : 1;
            return {"second_moment_factors", "Adafactor second moment (fp32)",
                    4 * (share(all.rows, ranks) + all.columns),
                    fmt::format("4 B × (R{} + C) = 4 × ({}{} + {}); R the rows of the matrices and the vectors, C the "
                                "columns",
                                ranks > 1 ? " / N" : "", number(all.rows), ranks > 1 ? fmt::format(" / {}", ranks) : "",
                                number(all.columns)),
                    with_zero("Adafactor (Shazeer and Stern 2018), without a first moment")};
        }
    }
    return {};
}

}  // namespace plimsoll
