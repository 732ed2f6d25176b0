// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/base/json.h"
#include "core/interop/deepspeed/facts/elastic_batch.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

std::string elasticity_key(std::string_view name) { return fmt::format("elasticity.{}", name); }

std::vector<std::int64_t> whole_numbers(const Json* list) {
    std::vector<std::int64_t> numbers;
    if (!list || !list->is_array()) return numbers;
    for (const Json& each : *list) {
        if (!each.is_number_integer()) return {};
        numbers.push_back(each.get<std::int64_t>());
    }
    return numbers;
}

/// "4, 5, 6 and 8".
std::string listed(const std::vector<std::int64_t>& numbers) {
    constexpr std::size_t most = 12;
    if (numbers.size() > most) {
        return fmt::format("{} and {} more", fmt::join(numbers.begin(), numbers.begin() + most, ", "),
                           numbers.size() - most);
    }
    if (numbers.size() < 2) return fmt::format("{}", fmt::join(numbers, ", "));
    return fmt::format("{} and {}", fmt::join(numbers.begin(), numbers.end() - 1, ", "), numbers.back());
}

/// Batches that nodes of `node` GPUs share without a rest: the smallest that every number of them does, and of those up
/// to the file's own batch the one that the most do.
std::string batch_for_nodes(const Case& c, std::int64_t min_nodes, std::int64_t max_nodes) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    const std::int64_t node = c.launch.gpus_per_node;
    const auto batch = c.lint.batch ? std::optional(c.lint.batch->train) : whole(c.at("train_batch_size"));
    const auto given = whole(c.at("train_micro_batch_size_per_gpu"));
    const std::int64_t micro = given ? *given : c.lint.batch ? c.lint.batch->micro : 0;
    if (node < 1 || micro < 1 || node > most / micro) return "";
    std::int64_t all = node * micro;
    for (std::int64_t nodes = min_nodes, common = 1; nodes <= max_nodes; ++nodes) {
        common = std::lcm(common, nodes);
        if (common > most / (node * micro)) return "";
        all = common * node * micro;
    }
    std::string text =
        fmt::format("; with micro-batches of {}, {} is the smallest batch that {} to {} nodes of {} GPUs all share",
                    micro, all, min_nodes, max_nodes, node);
    if (!batch || *batch >= all || *batch / node < micro) return text;
    const auto best = elastic_batch(
        {.max_batch = *batch / node, .micro_batches = {micro}, .min_gpus = min_nodes, .max_gpus = max_nodes});
    if (best && best->gpus.size() > 1) {
        text += fmt::format(", and {} is shared by {} of them", best->batch * node, listed(best->gpus));
    }
    return text;
}

void guide_block(Case& c, const Json& block) {
    const auto number = [&](const char* name, std::int64_t standard) {
        const auto found = block.is_object() && block.contains(name) ? whole(&block[name]) : std::nullopt;
        return found ? std::clamp<std::int64_t>(*found, 1, 1 << 20) : standard;
    };
    const std::int64_t min_nodes = number("min_nodes", 1),
                       max_nodes = std::max(number("max_nodes", min_nodes), min_nodes);
    c.ignored("elastic-block", "elastic",
              "DeepSpeed never reads this block: the range of nodes is the launcher's, torchrun --nnodes={}:{} "
              "--max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=HOST:29400 --rdzv-id=JOB, every change of members "
              "restarts from the last checkpoint, and the batch has to suit each number of nodes{}",
              min_nodes, max_nodes, batch_for_nodes(c, min_nodes, max_nodes));
}

bool check_range(Case& c, const ElasticRange& range, double version) {
    const auto refuse = [&](const char* key, std::string_view sentence) {
        c.refused("elasticity", elasticity_key(key), "{}", sentence);
        return false;
    };
    if (!c.at(elasticity_key("max_train_batch_size")))
        return refuse("max_train_batch_size", "elasticity needs it: write it");
    if (range.micro_batches.empty()) {
        return refuse("micro_batch_sizes", "elasticity needs a list of whole numbers here: write it");
    }
    if (range.min_gpus < 1 || range.max_gpus < 1) return refuse("min_gpus", "it has to be above 0: write 1");
    if (range.min_gpus > range.max_gpus) return refuse("min_gpus", "it is above max_gpus: write less");
    if (c.number(elasticity_key("min_time")) < 0) return refuse("min_time", "it is below 0: write minutes");
    if (version > 0.2) return refuse("version", "no release knows more than 0.2: write 0.1 or 0.2");
    const auto parallel = whole(c.at(elasticity_key("model_parallel_size"))).value_or(1);
    if (parallel > 1 && version < 0.2)
        return refuse("model_parallel_size", "version 0.1 cannot do it: write version 0.2");
    return true;
}

void enabled_block(Case& c) {
    const bool ignores = c.at(elasticity_key("ignore_non_elastic_batch_info")) &&
                         *c.at(elasticity_key("ignore_non_elastic_batch_info")) == true;
    for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"}) {
        if (!c.has(key) || ignores) continue;
        c.refused("elasticity-and-batch", key,
                  "elasticity chooses the batch itself: take it out, or write ignore_non_elastic_batch_info");
        return;
    }
    ElasticRange range;
    range.max_batch = whole(c.at(elasticity_key("max_train_batch_size"))).value_or(0);
    range.micro_batches = whole_numbers(c.at(elasticity_key("micro_batch_sizes")));
    range.min_gpus = whole(c.at(elasticity_key("min_gpus"))).value_or(1);
    range.max_gpus = whole(c.at(elasticity_key("max_gpus"))).value_or(10'000);
    const Json* larger = c.at(elasticity_key("prefer_larger_batch"));
    range.prefer_larger = !larger || *larger != false;
    const Json* written = c.at(elasticity_key("version"));
    const double version = written && written->is_number() ? written->get<double>() : 0.2;
    if (!check_range(c, range, version)) return;

    const ElasticNodes nodes{whole(c.at(elasticity_key("num_gpus_per_node"))).value_or(1),
                             whole(c.at(elasticity_key("model_parallel_size"))).value_or(1)};
    const std::int64_t ranks = c.lint.data_parallel;
    if (ranks == 0 && version >= 0.2) return;
    const auto best = version >= 0.2 ? elastic_batch_of_nodes(range, nodes, ranks) : elastic_batch(range);
    if (!best) {
        c.refused("elasticity", "elasticity", "{}", best.error().message);
        return;
    }
    if (ranks == 0) return;
    if (std::find(best->gpus.begin(), best->gpus.end(), ranks) == best->gpus.end()) {
        c.refused("elasticity", "elasticity",
                  "the batch of {} is not shared by {} data-parallel ranks: {} are possible", best->batch, ranks,
                  listed(best->gpus));
        return;
    }
    const ElasticShare each = elastic_share(range, *best, ranks);
    if (each.micro_batch == 0 || best->batch < 1) {
        c.refused("elasticity", "elasticity",
                  "no batch up to {} is made of micro-batches of {} on {} data-parallel ranks: raise "
                  "max_train_batch_size or list a smaller one",
                  range.max_batch, listed(range.micro_batches), ranks);
        return;
    }
    c.lint.batch = DeepSpeedBatch{best->batch, each.micro_batch, each.accumulation};
    c.deprecated(
        "removed", "elasticity",
        "DeepSpeed 0.19.8 and later refuse it: write train_batch_size {}, train_micro_batch_size_per_gpu {} and "
        "gradient_accumulation_steps {} for {} ranks, and let torchrun --nnodes=MIN:MAX restart the job",
        best->batch, each.micro_batch, each.accumulation, ranks);
}

}  // namespace

void lint_elasticity(Case& c) {
    if (const Json* block = c.at("elastic")) guide_block(c, *block);
    const Json* block = c.at("elasticity");
    if (!block || !block->is_object() || c.release >= DeepSpeedRelease{19, 8}) return;
    if (block->value("enabled", Json()) == true) enabled_block(c);
}

}  // namespace plimsoll::deepspeed
