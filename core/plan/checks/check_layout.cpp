// SPDX-License-Identifier: Apache-2.0
#include "core/plan/checks/problems.h"
#include "core/plan/schedule_kind.h"

namespace plimsoll {

namespace {

void check_ranks(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    const Cluster& cluster = plan.cluster;
    if (layout.world_size() == cluster.world_size()) return;
    const std::int64_t others = layout.tp * layout.pp * layout.cp;
    const bool dp_can_fill = cluster.world_size() % others == 0;
    const std::string cure = dp_can_fill
                                 ? fmt::format("set layout.dp to {}", cluster.world_size() / others)
                                 : fmt::format(
                                       "tp x pp x cp = {} has to divide the number of GPUs (nearest: {}), or set "
                                       "cluster.gpus_per_node and cluster.nodes to {} GPUs",
                                       others, nearest_divisors(others, {cluster.world_size()}), layout.world_size());
    problems.add("layout.dp",
                 "the layout takes dp {} x tp {} x pp {} x cp {} = {} ranks, but the cluster has {} x {} = {} GPUs; {}",
                 layout.dp, layout.tp, layout.pp, layout.cp, layout.world_size(), cluster.gpus_per_node, cluster.nodes,
                 cluster.world_size(), cure);
}

void check_tensor_parallel(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    const Model& model = plan.model;
    const std::int64_t tp = layout.tp;
    // More ranks than key and value heads hold copies of them: each head on tp / num_kv_heads ranks.
    const auto slices_kv = [&](std::int64_t ranks) {
        return model.num_kv_heads % ranks == 0 || ranks % model.num_kv_heads == 0;
    };
    const std::string cure = common_divisors({model.num_heads, model.ffn_hidden_size}, slices_kv);
    if (tp > model.num_heads) {
        problems.add("layout.tp",
                     "layout.tp {} is more than the {} heads of the model, and each rank needs a whole head; take {}",
                     tp, model.num_heads, cure);
    } else if (model.num_heads % tp != 0) {
        problems.add("layout.tp", "layout.tp {} does not divide model.num_heads {}; take {}", tp, model.num_heads,
                     cure);
    } else if (!slices_kv(tp)) {
        problems.add("layout.tp", "layout.tp {} and model.num_kv_heads {} do not divide one another; take {}", tp,
                     model.num_kv_heads, cure);
    } else if (model.ffn_hidden_size % tp != 0) {
        problems.add("layout.tp", "layout.tp {} does not divide model.ffn_hidden_size {}; take {}", tp,
                     model.ffn_hidden_size, cure);
    }
    if (!layout.sequence_parallel) return;
    if (tp == 1) {
        problems.add("layout.sequence_parallel",
                     "layout.sequence_parallel splits the sequence over the tensor-parallel "
                     "ranks, but layout.tp is 1; set it to false or raise layout.tp");
    }
}

void check_sequence(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    const std::int64_t length = plan.data.sequence_length;
    const std::int64_t parts = layout.cp * (layout.sequence_parallel ? layout.tp : 1);
    if (length % parts != 0) {
        const std::int64_t below = length / parts * parts;
        const std::string cure =
            below >= 2 ? fmt::format("{} or {}", below, below + parts) : std::to_string(below + parts);
        problems.add("data.sequence_length",
                     "data.sequence_length {} cannot be split evenly over {} ranks ({}); take {}", length, parts,
                     layout.sequence_parallel
                         ? fmt::format("layout.cp {} x layout.tp {} with sequence_parallel", layout.cp, layout.tp)
                         : fmt::format("layout.cp {}", layout.cp),
                     cure);
    }
    if (plan.model.position == Position::Learned && length > plan.model.max_position) {
        problems.add("data.sequence_length",
                     "data.sequence_length {} is longer than the {} learned positions of the model; "
                     "take {} or less, or raise model.max_position",
                     length, plan.model.max_position, plan.model.max_position);
    }
}

void check_pipeline(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.pp > plan.model.num_layers) {
        problems.add("layout.pp", "layout.pp {} is more stages than the model has layers ({}); take {} or fewer",
                     layout.pp, plan.model.num_layers, plan.model.num_layers);
    }
    const bool chunked = takes_chunks(layout.schedule);
    const std::int64_t chunks = chunks_of(layout.schedule, layout.chunks);
    if (layout.pp > 1 && layout.pp <= plan.model.num_layers && chunks > plan.model.num_layers / layout.pp) {
        const std::int64_t most_chunks = plan.model.num_layers / layout.pp;
        problems.add(chunked ? "layout.chunks" : "layout.schedule",
                     "layout.pp {} x {} chunks are {} stages, more than the model has layers ({}); {}", layout.pp,
                     chunks, format_short(static_cast<double>(layout.pp) * static_cast<double>(chunks)),
                     plan.model.num_layers,
                     chunked ? fmt::format("take layout.chunks {} or fewer, or layout.pp {} or fewer", most_chunks,
                                           std::max<std::int64_t>(1, plan.model.num_layers / chunks))
                             : fmt::format("take layout.pp {} or fewer, or layout.schedule 1f1b",
                                           std::max<std::int64_t>(1, plan.model.num_layers / 2)));
    }
    if (layout.pp > 1 && layout.schedule == Schedule::DualPipeV && layout.accumulation < 2 * layout.pp) {
        problems.add("layout.accumulation",
                     "dualpipe-v needs two micro-batches a pipeline rank, {} for layout.pp {}, not {}; take "
                     "layout.accumulation {} or more, or layout.pp {} or fewer",
                     2 * layout.pp, layout.pp, layout.accumulation, 2 * layout.pp,
                     std::max<std::int64_t>(1, layout.accumulation / 2));
    }
    if (plan.model.encoder_decoder() && layout.pp > 1) {
        problems.add("layout.pp",
                     "pipeline stages split decoder-only models, and T5 has an encoder; set layout.pp to 1, it is {}",
                     layout.pp);
    }
    if (plan.model.encoder_decoder() && layout.cp > 1) {
        problems.add(
            "layout.cp",
            "context parallelism splits decoder-only models, and T5 has an encoder; set layout.cp to 1, it is {}",
            layout.cp);
    }
    if (layout.pp > 1 && layout.zero_stage >= 2) {
        problems.add("layout.zero_stage",
                     "ZeRO stage {} cannot be combined with pipeline stages: gradients must stay whole "
                     "until the last micro-batch (DeepSpeed refuses it too); take stage 1 or set layout.pp to 1",
                     layout.zero_stage);
    }
}

void check_expert_parallel(Problems& problems, const Plan& plan) {
    const Layout& layout = plan.layout;
    if (layout.ep == 1) return;
    if (!plan.model.moe()) {
        problems.add("layout.ep", "layout.ep {} spreads experts, but the model has none; set it to 1", layout.ep);
        return;
    }
    if (layout.dp % layout.ep != 0 || plan.model.num_experts % layout.ep != 0) {
        problems.add("layout.ep", "layout.ep {} has to divide both layout.dp {} and model.num_experts {}; take {}",
                     layout.ep, layout.dp, plan.model.num_experts,
                     nearest_divisors(layout.ep, {layout.dp, plan.model.num_experts}));
    }
}

}  // namespace

void check_parallelism(Problems& problems, const Plan& plan) {
    check_ranks(problems, plan);
    check_tensor_parallel(problems, plan);
    check_pipeline(problems, plan);
    check_expert_parallel(problems, plan);
    check_sequence(problems, plan);
    check_activations(problems, plan);
}

}  // namespace plimsoll
