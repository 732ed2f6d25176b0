// SPDX-License-Identifier: Apache-2.0
// Ranks and batch. The plan that is imported onto gives the number of ranks; the axes of the file divide it.
#include <algorithm>

#include "core/interop/deepspeed/deepspeed_import_parts.h"

namespace plimsoll::deepspeed {

namespace {

constexpr std::int64_t most_ranks = 1'000'000;
constexpr std::int64_t most_batch = std::int64_t{1} << 31;

/// Sets the number of data-parallel ranks, on nodes of the base's size.
void set_ranks(Plan& plan, std::int64_t dp) {
    if (dp < 1 || dp > most_ranks) return;
    plan.layout.dp = dp;
    const std::int64_t world = plan.layout.world_size();
    Cluster& cluster = plan.cluster;
    if (world == cluster.world_size() || world > most_ranks) return;
    if (world % cluster.gpus_per_node == 0) {
        cluster.nodes = world / cluster.gpus_per_node;
    } else {
        cluster.gpus_per_node = world;
        cluster.nodes = 1;
    }
}

std::int64_t axis(Import& file, std::string_view path, std::int64_t now) {
    const std::int64_t size = std::max<std::int64_t>(file.integer_at(path).value_or(now), 1);
    if (size > most_ranks) stop("{}: {} is {}; 1 to {} is possible", file.what, path, size, most_ranks);
    return size;
}

/// Tensor- and sequence-parallel ranks are taken from the plan's ranks, not added to them.
void divide_ranks(Import& file) {
    Layout& layout = file.plan.layout;
    const std::int64_t world = layout.world_size();
    layout.tp = axis(file, "tensor_parallel.autotp_size", layout.tp);
    layout.cp = axis(file, "sequence_parallel_size", layout.cp);
    layout.ep = axis(file, "expert_parallel.autoep_size", layout.ep);
    const std::int64_t each = layout.tp * layout.pp * layout.cp;
    if (file.at("sequence_parallel_size") && file.at("data_parallel_size")) {
        set_ranks(file.plan, axis(file, "data_parallel_size", layout.dp));
    } else if (world % each == 0) {
        layout.dp = world / each;
    } else {
        stop(
            "{}: the {} ranks of the plan are not a multiple of tp {} x pp {} x cp {}: give the plan's cluster and "
            "layout.dp another number of ranks with --set",
            file.what, world, layout.tp, layout.pp, layout.cp);
    }
}

std::int64_t batch_key(Import& file, std::string_view path, std::int64_t of_the_plan) {
    if (file.is_auto(path)) {
        file.autos.emplace_back(path);
        return of_the_plan;
    }
    const std::int64_t value = file.integer_at(path).value_or(0);
    if (value > most_batch) stop("{}: {} is {}; a batch above {} makes no sense", file.what, path, value, most_batch);
    return value;
}

}  // namespace

void read_batch(Import& file) {
    Layout& layout = file.plan.layout;
    divide_ranks(file);
    const bool counts_tensor = file.at("tensor_parallel.autotp_size") && layout.tp > 1;
    const std::int64_t counted = layout.dp * (counts_tensor ? layout.tp : 1);
    const bool from_arguments =
        file.is_auto("train_micro_batch_size_per_gpu") || file.is_auto("gradient_accumulation_steps");
    std::int64_t train = file.is_auto("train_batch_size") ? 0 : batch_key(file, "train_batch_size", 0);
    if (file.is_auto("train_batch_size")) file.autos.emplace_back("train_batch_size");
    std::int64_t micro = batch_key(file, "train_micro_batch_size_per_gpu", layout.micro_batch);
    std::int64_t accumulation = batch_key(file, "gradient_accumulation_steps", layout.accumulation);
    if (train > 0 && micro > 0 && accumulation > 0 && !from_arguments) {
        const std::int64_t ranks = train / (micro * accumulation);
        if (!counts_tensor || ranks % layout.tp == 0) set_ranks(file.plan, ranks / (counts_tensor ? layout.tp : 1));
    } else if (train > 0 && micro > 0 && accumulation == 0) {
        accumulation = train / micro / counted;
    } else if (train > 0 && accumulation > 0 && micro == 0) {
        micro = train / counted / accumulation;
    } else if (train > 0 && micro == 0) {
        micro = train / counted;
        accumulation = 1;
    }
    if (micro > 0) layout.micro_batch = micro;
    if (train == 0 && accumulation == 0) file.left_out("gradient_accumulation_steps", 1, layout.accumulation != 1);
    layout.accumulation = std::max<std::int64_t>(accumulation, 1);
    if (train == 0) return;
    const std::int64_t product = layout.global_batch() * (counts_tensor ? layout.tp : 1);
    if (product != train && from_arguments) {
        file.notes.push_back(
            fmt::format("train_batch_size is {} in the file; the plan's values, which \"auto\" keeps, make {}: the "
                        "Trainer refuses training arguments that do not make the file's.",
                        train, product));
    } else if (product != train) {
        stop("{}: train_batch_size {} is not {} x {} x {} {}ranks: plimsoll lint says what would be", file.what, train,
             layout.micro_batch, layout.accumulation, layout.dp * (counts_tensor ? layout.tp : 1),
             counts_tensor ? "" : "data-parallel ");
    } else if (counts_tensor) {
        file.notes.push_back(
            fmt::format("train_batch_size {} counts the {} tensor-parallel ranks as data-parallel ones, as DeepSpeed's "
                        "check does: a step takes {} different sequences.",
                        train, layout.tp, layout.global_batch()));
    }
}

}  // namespace plimsoll::deepspeed
