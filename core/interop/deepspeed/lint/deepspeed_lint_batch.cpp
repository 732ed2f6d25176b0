// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/json.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

constexpr const char* train_key = "train_batch_size";
constexpr const char* micro_key = "train_micro_batch_size_per_gpu";
constexpr const char* accumulation_key = "gradient_accumulation_steps";

/// Whether the three can be counted with: a wrong type has been reported by lint_keys.
bool countable(const Case& c) {
    for (const char* key : {train_key, micro_key, accumulation_key}) {
        if (const Json* value = c.at(key); value && !value->is_null() && !whole(value)) return false;
        if (c.file.contains(key) && c.file.at(key) == "auto") return false;
    }
    return true;
}

std::string ranks_in_words(const Case& c) {
    const DeepSpeedLaunch& launch = c.launch;
    if (launch.tp * launch.pp * launch.sp == 1) {
        if (c.lint.data_parallel == launch.world) return fmt::format("{} ranks", c.lint.data_parallel);
        return fmt::format("{} data-parallel ranks (sequence_parallel_size {})", c.lint.data_parallel,
                           shown(c.file.at("sequence_parallel_size")));
    }
    return fmt::format("{} data-parallel ranks ({} ranks / tp {} / pp {} / sp {})", c.lint.data_parallel, launch.world,
                       launch.tp, launch.pp, launch.sp);
}

/// Missing numbers as DeepSpeedConfig._set_batch_related_parameters derives them.
DeepSpeedBatch derived(std::int64_t train, std::int64_t micro, std::int64_t accumulation, std::int64_t dp) {
    if (train > 0 && micro > 0 && accumulation > 0) return {train, micro, accumulation};
    if (train > 0 && micro > 0) return {train, micro, train / micro / dp};
    if (train > 0 && accumulation > 0) return {train, train / dp / accumulation, accumulation};
    if (train > 0) return {train, train / dp, 1};
    const std::int64_t steps = accumulation > 0 ? accumulation : 1;
    return {micro * steps * dp, micro, steps};
}

/// The batch nearest below that divides.
std::int64_t whole_batch(std::int64_t train, std::int64_t piece) { return std::max(train / piece * piece, piece); }

void without_world(Case& c, std::int64_t train, std::int64_t micro, std::int64_t accumulation) {
    if (train == 0 || micro == 0) return;
    const std::int64_t piece = micro * std::max<std::int64_t>(accumulation, 1);
    if (train % piece != 0) {
        c.refused("batch-product", train_key,
                  "{} is not a multiple of {} x {} = {}, for any number of ranks: write {}, or leave it out", train,
                  micro, std::max<std::int64_t>(accumulation, 1), piece, whole_batch(train, piece));
    } else if (accumulation > 0) {
        c.note("batch-product", train_key,
               "this batch means {} data-parallel ranks: another number of them is refused; leave {} out to allow any",
               train / piece, train_key);
    }
}

}  // namespace

/// "sequence_parallel_size" divides the ranks where the script gives deepspeed.initialize no mpu (runtime/config.py of
/// 0.17.0 and later); beside "data_parallel_size" the two are a mesh (deepspeed/__init__.py of 0.15.0 and later).
void lint_ranks(Case& c) {
    constexpr const char* sequence_key = "sequence_parallel_size";
    constexpr const char* data_key = "data_parallel_size";
    const bool mpu = c.launch.tp * c.launch.pp * c.launch.sp > 1;
    if (mpu || !c.file.contains(sequence_key)) return;
    const bool mesh = c.file.contains(data_key) && c.release >= DeepSpeedRelease{15, 0};
    if (!mesh && c.release < DeepSpeedRelease{17, 0}) return;
    const std::int64_t sequence = whole(c.at(sequence_key)).value_or(0);
    const std::int64_t data = mesh ? whole(c.at(data_key)).value_or(0) : 1;
    constexpr std::int64_t most = 1'000'000;
    if (sequence < 1 || data < 1 || sequence > most || data > most) {
        const char* key = sequence < 1 || sequence > most ? sequence_key : data_key;
        c.refused("sequence-parallel", key, "{} is no number of ranks: write a whole number above 0",
                  shown(c.file.at(key)));
        return;
    }
    const std::int64_t world = c.launch.world;
    if (mesh && world > 0 && world != sequence * data) {
        c.refused("sequence-parallel", data_key, "{} x {} data- and sequence-parallel ranks are not {} ranks: write {}",
                  data, sequence, world, std::max<std::int64_t>(world / sequence, 1));
    } else if (world > 0 && world % sequence != 0) {
        c.refused("sequence-parallel", sequence_key, "{} does not divide the {} ranks: write a divisor of them",
                  sequence, world);
    } else if (mesh) {
        c.lint.data_parallel = data;
    } else if (world > 0) {
        c.lint.data_parallel = world / sequence;
    }
}

void lint_batch(Case& c) {
    if (const Json* elasticity = c.at("elasticity");
        elasticity && elasticity->is_object() && elasticity->value("enabled", Json()) == true) {
        return;  // lint_elasticity
    }
    const bool asked_for_auto = c.file.contains(train_key) && c.file.at(train_key) == "auto";
    if (c.launch.hugging_face && c.stage() == 3 && c.has(train_key) && !asked_for_auto) {
        c.danger("hf-zero3-batch", train_key,
                 "with Hugging Face and ZeRO-3 the model is built before the ranks have met, and the batch is checked "
                 "against one rank: leave {} out, or write \"auto\"",
                 train_key);
    }
    if (!countable(c)) return;
    const auto given = [&](const char* key) { return whole(c.at(key)).value_or(0); };
    for (const char* key : {train_key, micro_key, accumulation_key}) {
        if (c.has(key) && !c.at(key)->is_null() && given(key) <= 0) {
            c.refused("batch-positive", key, "{} is not above 0: a batch has at least one sequence", given(key));
            return;
        }
    }
    const std::int64_t train = given(train_key), micro = given(micro_key), accumulation = given(accumulation_key);
    if (train == 0 && micro == 0) {
        if (c.launch.hugging_face) return;  // filled in from the training arguments
        c.refused("batch-missing", train_key, "neither {} nor {} is there: write one of them", train_key, micro_key);
        return;
    }
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (train > most || micro > most || accumulation > most) {
        c.danger("batch-product", train_key, "a batch above {} makes no sense: check the three batch numbers", most);
        return;
    }
    if (c.lint.data_parallel == 0) {
        without_world(c, train, micro, accumulation);
        return;
    }
    const std::int64_t dp = c.lint.data_parallel;
    const DeepSpeedBatch batch = derived(train, micro, accumulation, dp);
    const double product =
        static_cast<double>(batch.micro) * static_cast<double>(batch.accumulation) * static_cast<double>(dp);
    if (batch.micro > 0 && batch.accumulation > 0 && product == static_cast<double>(batch.train)) {
        c.lint.batch = batch;
        return;
    }
    const bool all_given = train > 0 && micro > 0 && accumulation > 0;
    if (all_given) {
        c.refused("batch-product", train_key,
                  "{} is not {} x {} x {} (micro-batch, accumulation, {}): write {:.0f}, or leave it out", train, micro,
                  accumulation, dp, ranks_in_words(c), product);
        return;
    }
    const std::int64_t piece = dp * std::max<std::int64_t>(micro, 1) * std::max<std::int64_t>(accumulation, 1);
    c.refused("batch-product", train_key, "{} does not divide over {}{}: write a multiple of {}, such as {}", train,
              ranks_in_words(c),
              micro > 0          ? fmt::format(" with micro-batches of {}", micro)
              : accumulation > 0 ? fmt::format(" in {} micro-batches", accumulation)
                                 : "",
              piece, whole_batch(train, piece));
}

}  // namespace plimsoll::deepspeed
