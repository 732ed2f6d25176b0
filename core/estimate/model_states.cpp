// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/optimizer_state.h"

namespace plimsoll {
namespace {

/// `bytes` a parameter, for the whole slice or for a rank's shard.
struct State {
    std::int64_t bytes;
    bool sharded;
};

std::string formula(const State& state, const Slice& slice, const Sharding& groups) {
    return shard_formula(state.bytes, slice, groups, state.sharded);
}

std::string parameters_formula(const State& state, const Slice& slice, const Plan& plan) {
    const auto tensor_slice =
        plan.layout.tp > 1 ? fmt::format(", the slice of one of {} tensor-parallel ranks", plan.layout.tp) : "";
    const auto experts = plan.layout.ep > 1 ? fmt::format(", with 1 / {} of the experts", plan.layout.ep) : "";
    return fmt::format("{}; P = {}{}{}", formula(state, slice, sharding(plan.layout)), slice.formula(), tensor_slice,
                       experts);
}

}  // namespace

Sharding sharding(const Layout& layout) {
    const auto ranks = layout.dp * layout.cp;
    return {ranks, ranks / layout.ep};
}

void model_states(const Plan& plan, const Slice& slice, TermSink& sink) {
    const auto& layout = plan.layout;
    const auto groups = sharding(layout);
    const Slice& trained = slice.trained();
    const Numerics& numerics = plan.numerics;
    const State weights{bytes_of(numerics.weight_dtype()), layout.zero_stage >= 3};
    const State gradients{bytes_of(numerics.gradient_dtype()), layout.zero_stage >= 2};
    const State masters{4, layout.zero_stage >= 1}, compensation{weights.bytes, layout.zero_stage >= 1};
    const auto bytes = [&](const State& state, const Slice& of, bool away) {
        return away ? Count(0) : state.bytes * shard(of, groups, state.sharded);
    };
    const auto moved = [](const char* what, Offload where) {
        return fmt::format("0 on the device: {} {}", what,
                           where == Offload::Nvme ? "is on the NVMe drive" : "is in host memory");
    };

    const bool weights_away = layout.offload_parameters != Offload::None;
    sink.add("parameters", Category::Parameters, bytes(weights, slice, weights_away), [&] {
        return Words{"Parameters",
                     weights_away ? moved("each rank's shard", layout.offload_parameters)
                                  : parameters_formula(weights, slice, plan),
                     "exact count of the architecture; tensor slices as in Megatron-LM (Shoeybi et al. 2019)"};
    });

    const bool optimizer_away = layout.offload_optimizer != Offload::None;
    // Whole gradients (ZeRO-1) are summed on the device; sharded gradients leave the device as they are reduced.
    const bool gradients_away = optimizer_away && gradients.sharded;
    sink.add("gradients", Category::Gradients, bytes(gradients, trained, gradients_away), [&] {
        return Words{
            "Gradients",
            gradients_away ? moved("the reduced shard", layout.offload_optimizer) : formula(gradients, trained, groups),
            gradients_away ? "ZeRO-Offload (Ren et al. 2021), section 4" : zero_source};
    });
    if (numerics.has_masters())
        sink.add("master_weights", Category::Optimizer, bytes(masters, trained, optimizer_away), [&] {
            return Words{
                "Master weights (fp32)",
                optimizer_away ? moved("the fp32 copy", layout.offload_optimizer) : formula(masters, trained, groups),
                "mixed precision (Micikevicius et al. 2018); " + std::string(zero_source)};
        });
    if (numerics.has_compensation())
        sink.add("compensation", Category::Optimizer, bytes(compensation, trained, optimizer_away), [&] {
            return Words{"Kahan compensation", formula(compensation, trained, groups),
                         "what rounding took from each weight (Zamirai et al. 2020, algorithm 1)"};
        });
    const bool sharded = layout.zero_stage >= 1;
    const auto moments = optimizer_away ? Count(0) : optimizer_bytes(plan, trained, sharded);
    sink.add(optimizer_key(plan.optimizer.kind), Category::Optimizer, moments, [&] {
        auto words = optimizer_words(plan, trained, sharded);
        if (optimizer_away) words.formula = moved("the optimizer's state", layout.offload_optimizer);
        return words;
    });
}

std::vector<Term> host_states(const Plan& plan, const Slice& slice) {
    const auto& layout = plan.layout;
    const auto groups = sharding(layout);
    const auto number = [](Count count) { return format_count(count.value()); };
    const Slice& trained = slice.trained();
    const Count own = shard(trained, groups, true), all = shard(slice, groups, true);
    std::vector<Term> terms;
    const auto add = [&](std::string key, std::string name, Category category, Count bytes, std::string text,
                         const char* source) {
        terms.push_back({std::move(key), std::move(name), category, bytes.value(), std::move(text), source});
    };
    const auto per_parameter = [&](std::int64_t bytes) { return formula({bytes, true}, trained, groups); };

    constexpr auto offload = "ZeRO-Offload (Ren et al. 2021), section 4";
    if (layout.offload_optimizer == Offload::Cpu) {
        add("host_master_weights", "Master weights (fp32)", Category::Optimizer, 4 * own, per_parameter(4), offload);
        const auto moments = optimizer_words(plan, trained, true);
        add(fmt::format("host_{}", optimizer_key(plan.optimizer.kind)), moments.name, Category::Optimizer,
            optimizer_bytes(plan, trained, true), moments.formula, offload);
        add("host_gradients", "Gradients for the CPU's optimizer (fp32)", Category::Gradients, 4 * own,
            per_parameter(4), offload);
    }
    if (layout.offload_optimizer == Offload::Nvme) {
        const Count largest = share(trained.largest, groups.dense);
        add("host_optimizer_buffers", "Swap buffers of the optimizer", Category::Buffers, 4 * 4 * largest,
            fmt::format("4 buffers × 4 B × the shard of the largest matrix = 4 × 4 × {}", number(largest)),
            "DeepSpeed offload_optimizer.buffer_count, default 4");
    }
    if (layout.offload_parameters == Offload::Cpu) {
        const auto bytes = bytes_of(plan.numerics.weight_dtype());
        add("host_parameters", "Parameters", Category::Parameters, bytes * all, formula({bytes, true}, slice, groups),
            "ZeRO-Infinity (Rajbhandari et al. 2021)");
    }
    // On the CPU device memory is host memory, and shards in transfer count among the gathered weights.
    if (layout.offload_parameters == Offload::Nvme && !plan.cluster.on_cpu()) {
        const Count buffer = std::max(Count(100'000'000), share(slice.largest, groups.dense));
        const auto bytes = bytes_of(plan.numerics.weight_dtype());
        add("host_parameter_buffers", "Swap buffers of the parameters", Category::Buffers, 5 * bytes * buffer,
            fmt::format("5 buffers × {} B × {}", bytes, number(buffer)),
            "DeepSpeed offload_param.buffer_count and buffer_size, defaults 5 and 1e8");
    }
    return terms;
}

}  // namespace plimsoll
