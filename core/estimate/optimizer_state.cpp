// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/optimizer_state.h"

#include "core/plan/adapter.h"

namespace plimsoll {
namespace {

/// To find an 8-bit code by the leading 20 bits of a number: one table for each moment.
constexpr Bytes code_tables = 2 * (MiB + KiB);
constexpr std::int64_t block = 256;  ///< elements that share a scale in 8-bit states

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

namespace {

AdafactorElements adapter_elements(const Plan& plan, const Slice& slice) {
    const auto tp = plan.layout.tp;
    const Count rank = plan.adapter.rank;
    AdafactorElements sum;
    for (const LayerMatrix& matrix : adapted_matrices(plan)) {
        const bool rows = matrix.split == LayerMatrix::Split::Rows;
        sum.rows += slice.layers * (rank + share(matrix.out, rows ? 1 : tp));
        sum.columns += slice.layers * (share(matrix.in, rows ? tp : 1) + rank);
    }
    return sum;
}

}  // namespace

AdafactorElements adafactor_elements(const Plan& plan, const Slice& slice) {
    if (adapts(plan)) return adapter_elements(plan, slice);
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
    const Count rows = attention.rows + experts * mlp.rows + router.rows + m.norms_a_layer() * norm + m.qk_norm_size();
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

const char* optimizer_key(OptimizerKind kind) {
    switch (kind) {
        case OptimizerKind::AdamW:
            return "adam_moments";
        case OptimizerKind::Lamb:
            return "lamb_moments";
        case OptimizerKind::Sgd:
            return "momentum";
        case OptimizerKind::AdamW8bit:
            return "adam_moments_8bit";
        case OptimizerKind::Adafactor:
            return "second_moment_factors";
    }
    return "";
}

Count optimizer_bytes(const Plan& plan, const Slice& slice, bool sharded) {
    const auto groups = sharding(plan.layout);
    const Count own = shard(slice, groups, sharded);
    switch (plan.optimizer.kind) {
        case OptimizerKind::AdamW:
        case OptimizerKind::Lamb:
            return 2 * bytes_of(plan.optimizer.state_dtype) * own;
        case OptimizerKind::Sgd:
            return plan.optimizer.momentum == 0 ? Count(0) : bytes_of(plan.optimizer.state_dtype) * own;
        case OptimizerKind::AdamW8bit:
            return 2 * (own + 4 * share(own, block)) + code_tables;
        case OptimizerKind::Adafactor: {
            const auto all = adafactor_elements(plan, slice);
            return 4 * (share(all.rows, sharded ? groups.dense : 1) + all.columns);
        }
    }
    return 0;
}

Words optimizer_words(const Plan& plan, const Slice& slice, bool sharded) {
    const auto groups = sharding(plan.layout);
    const Count own = shard(slice, groups, sharded);
    const auto whole = [&](std::int64_t bytes) { return shard_formula(bytes, slice, groups, sharded); };
    const auto dtype = name_of(plan.optimizer.state_dtype);
    const std::int64_t each = bytes_of(plan.optimizer.state_dtype);
    const auto with_zero = [](std::string_view source) { return fmt::format("{}; {}", source, zero_source); };
    switch (plan.optimizer.kind) {
        case OptimizerKind::AdamW:
            return {fmt::format("Adam moments ({})", dtype), whole(2 * each),
                    with_zero(fmt::format("AdamW keeps a mean and a variance, {} B each", each))};
        case OptimizerKind::Lamb:
            return {fmt::format("LAMB moments ({})", dtype), whole(2 * each),
                    with_zero(fmt::format("LAMB (You et al. 2020) keeps Adam's mean and variance, {} B each", each))};
        case OptimizerKind::Sgd:
            if (plan.optimizer.momentum == 0)
                return {"SGD momentum", "0: optimizer.momentum is 0, and plain SGD keeps nothing",
                        "Robbins and Monro 1951"};
            return {fmt::format("SGD momentum ({})", dtype), whole(each),
                    with_zero(fmt::format("one moment of {} B", each))};
        case OptimizerKind::AdamW8bit:
            return {
                "Adam moments (8 bits)",
                fmt::format(
                    "2 × (1 B × S + 4 B × S / {} + a table of 1 MiB) = 2 × ({} + 4 × {} + 1,049,600); S the rank's parameters: {}",
                    block, number(own), number(share(own, block)), whole(1)),
                with_zero("block-wise 8-bit states (Dettmers et al. 2022), a scale a block")};
        case OptimizerKind::Adafactor: {
            const auto all = adafactor_elements(plan, slice);
            const auto ranks = sharded ? groups.dense : 1;
            return {"Adafactor second moment (fp32)",
                    fmt::format(
                        "4 B × (R{} + C) = 4 × ({}{} + {}); R the rows of the matrices and the vectors, C the columns",
                        ranks > 1 ? " / N" : "", number(all.rows), ranks > 1 ? fmt::format(" / {}", ranks) : "",
                        number(all.columns)),
                    with_zero("Adafactor (Shazeer and Stern 2018), without a first moment")};
        }
    }
    return {};
}

}  // namespace plimsoll
