// SPDX-License-Identifier: Apache-2.0
#include "core/remedies/candidates.h"

#include <algorithm>

#include "core/plan/adapter.h"
#include "core/plan/gpu.h"
#include "core/plan/machine.h"
#include "core/plan/parameters.h"
#include "core/plan/recompute_rules.h"

namespace plimsoll {

namespace {

class List {
public:
    explicit List(const Plan& plan) : plan_(plan), layout_(plan.layout) {}

    void recomputation();
    void batch();
    void sharding();
    void offload();
    void kernels();
    void dtypes();
    void adapters();
    void parallelism();

    std::vector<PlanChange> all;

private:
    void add(std::string name, std::vector<std::string> settings, std::string reason, std::string source) {
        all.push_back({std::move(name), std::move(settings), std::move(reason), std::move(source)});
    }
    void add_inexact(std::string name, std::vector<std::string> settings, std::string reason, std::string source) {
        add(std::move(name), std::move(settings), std::move(reason), std::move(source));
        all.back().exact = false;
    }
    /// What host memory asks for: a ZeRO stage that shards what goes there.
    std::vector<std::string> with_stage(std::int64_t least, std::string setting) const {
        std::vector<std::string> settings{std::move(setting)};
        if (layout_.zero_stage < least) settings.insert(settings.begin(), fmt::format("layout.zero_stage={}", least));
        return settings;
    }
    const Plan& plan_;
    const Layout& layout_;
};

void List::recomputation() {
    const auto selective = "Korthikanti et al. 2022, section 5";
    if (layout_.recompute == Recompute::None)
        add("Recompute the attention core", {"layout.recompute=selective"},
            "score matrices are dropped and computed again in the backward: only the attention core's FLOPs come twice",
            selective);
    const bool less = layout_.recompute == Recompute::None || layout_.recompute == Recompute::Selective;
    if (less && knows_recompute_mlp(plan_))
        add("Recompute norms and MLP", {"layout.recompute=mlp"},
            "a layer keeps its input, the MLP's, and what attention reads and gives; norms and the MLP up to its last "
            "product come again",
            "Korthikanti et al. 2022, section 5; Megatron-LM's recompute modules layernorm and mlp");
    const bool recomputes_all = layout_.recompute == Recompute::Full && layout_.recompute_every == 1;
    for (const std::int64_t every : {4, 3, 2}) {
        const bool more = layout_.recompute != Recompute::Full || layout_.recompute_every > every;
        if (more && every <= plan_.model.num_layers)
            add(fmt::format("Recompute one layer in {}", every),
                {"layout.recompute=full", fmt::format("layout.recompute_every={}", every)},
                fmt::format("one layer in {} keeps its input only and runs its forward again", every),
                "Chen et al. 2016, sublinear memory cost");
    }
    if (!recomputes_all)
        add("Recompute every layer", {"layout.recompute=full", "layout.recompute_every=1"},
            "each layer keeps its input only; one more forward, about a third of the step's FLOPs",
            "Chen et al. 2016; Korthikanti et al. 2022");
    if (layout_.recompute != Recompute::None && layout_.recompute_stages > 0)
        add("Recompute on every stage", {"layout.recompute_stages=0"}, "the later pipeline stages recompute as well",
            selective);
}

void List::batch() {
    for (std::int64_t part = 2; part <= 8; part *= 2)
        if (layout_.micro_batch % part == 0)
            add(fmt::format("Micro-batch {}, {} accumulated", layout_.micro_batch / part, layout_.accumulation * part),
                {fmt::format("layout.micro_batch={}", layout_.micro_batch / part),
                 fmt::format("layout.accumulation={}", layout_.accumulation * part)},
                "the same global batch in more and smaller pieces: activations and logits shrink with the piece; the "
                "weights are read, and under ZeRO-2 and 3 sent, once more a piece",
                "gradient accumulation: the sum over pieces is the gradient of the whole");
    for (const std::int64_t pieces : {4, 16})
        if (layout_.loss_chunks < pieces)
            add(fmt::format("Loss in {} pieces", pieces), {fmt::format("layout.loss_chunks={}", pieces)},
                "no more than a piece of the logits exists at a time; the head's matrix is read once a piece",
                "Liger Kernel (Hsu et al. 2024)");
}

void List::sharding() {
    const auto zero = "ZeRO (Rajbhandari et al. 2020), sections 5 and 7";
    const char* reasons[] = {
        "optimizer states and masters are shared out over the ranks that hold the same weights; as many bytes travel",
        "gradients are shared out too; as many bytes travel with one micro-batch a step, with more the gradients "
        "travel once each",
        "parameters are shared out too and gathered for each forward and backward: 1.5 times the bytes travel"};
    if (layout_.dp * layout_.cp > 1)
        for (std::int64_t stage = layout_.zero_stage + 1; stage <= most_zero_stage(plan_); ++stage)
            add(fmt::format("ZeRO-{}", stage), {fmt::format("layout.zero_stage={}", stage)}, reasons[stage - 1], zero);
    if (layout_.tp > 1 && !layout_.sequence_parallel)
        add("Sequence parallel", {"layout.sequence_parallel=true"},
            "norms and dropouts keep 1 / tp of the sequence; each all-reduce becomes a reduce-scatter and an "
            "all-gather of as many bytes",
            "Korthikanti et al. 2022, section 4.2.2");
}

void List::offload() {
    if (plan_.cluster.on_cpu()) return;
    const auto least = layout_.pp > 1 ? 1 : 2;
    if (layout_.offload_optimizer == Offload::None)
        add("Optimizer in host memory", with_stage(least, "layout.offload_optimizer=cpu"),
            "states and masters wait in host memory, where the update runs; gradients go down and parameters come up over PCIe",
            "ZeRO-Offload (Ren et al. 2021)");
    if (layout_.offload_parameters == Offload::None && layout_.pp == 1 && !adapts(plan_))
        add("Parameters in host memory", with_stage(3, "layout.offload_parameters=cpu"),
            "each rank's shard comes over PCIe for each forward and backward",
            "ZeRO-Infinity (Rajbhandari et al. 2021)");
    if (!layout_.offload_activations)
        add("Activations in host memory", {"layout.offload_activations=true"},
            "what layers keep goes over PCIe and comes back for the backward",
            "ZeRO-Infinity (Rajbhandari et al. 2021), section 5.1.2");
}

void List::kernels() {
    if (plan_.numerics.attention == Attention::Eager)
        add("Flash attention", {"numerics.attention=flash"},
            "no score matrix is kept or passed through memory, and the masked half is not computed",
            "FlashAttention (Dao et al. 2022)");
    if (!layout_.compress_activations)
        add_inexact("Activations in 8 bits", {"layout.compress_activations=true"},
                    "what layers keep is quantized block by block and read back: gradients become noisier",
                    "ActNN (Chen et al. 2021); time from the card's memory bandwidth");
}

void List::dtypes() {
    const Numerics& numerics = plan_.numerics;
    const auto gpu = find_gpu(plan_.cluster.gpu);
    const bool bf16 = plan_.cluster.on_cpu() || (gpu && gpu->bf16_tflops > 0);
    if (numerics.dtype == Dtype::Fp32)
        add_inexact(
            bf16 ? "bf16 with fp32 masters" : "fp16 with fp32 masters",
            {bf16 ? "numerics.dtype=bf16" : "numerics.dtype=fp16"},
            "activations in two bytes; parameters 2 B + 2 B gradient + 4 B master in place of 4 B + 4 B. Rounding changes",
            "Micikevicius et al. 2018");
    if (numerics.fp32_gradients && numerics.half() && numerics.weights != WeightCopies::Autocast)
        add_inexact("Gradients in the weights' dtype", {"numerics.fp32_gradients=false"},
                    "2 B a parameter in place of 4 B. Sums over micro-batches are rounded more",
                    "Micikevicius et al. 2018");
    const bool wide_states = plan_.optimizer.state_dtype == Dtype::Fp32;
    if (plan_.optimizer.kind == OptimizerKind::AdamW && layout_.offload_optimizer == Offload::None) {
        std::vector<std::string> settings{"optimizer.kind=adamw-8bit"};
        if (!wide_states) settings.emplace_back("optimizer.state_dtype=fp32");
        add_inexact("AdamW in 8 bits", std::move(settings),
                    fmt::format("both moments in one byte each, quantized block by block, in place of {} B a parameter",
                                wide_states ? 8 : 4),
                    "Dettmers et al. 2022, 8-bit optimizers");
    }
    if (numerics.dtype == Dtype::Bf16 && numerics.weights == WeightCopies::Masters &&
        layout_.offload_optimizer == Offload::None)
        add_inexact(
            "bf16 weights without masters", {"numerics.weights=pure", "numerics.rounding=stochastic"},
            "4 B a parameter less; each update is rounded up or down at random, so that small ones count in the "
            "mean",
            "Zamirai et al. 2020, Revisiting BFloat16 Training");
}

void List::adapters() {
    // Of a model that begins from a checkpoint: one from scratch has nothing to adapt. On a GPU that cannot hold the
    // model's states nobody trains from scratch.
    if (adapts(plan_) || layer_matrices(plan_.model).empty()) return;
    if (plan_.model.weights.empty() && !asks_for_adapters(plan_)) return;
    if (layout_.offload_parameters != Offload::None) return;
    std::vector<std::string> settings{"adapter.rank=16"};
    if (layout_.zero_stage > 2) settings.emplace_back("layout.zero_stage=2");
    const auto reason = fmt::format(
        "gradients, masters and moments of the adapters alone, and no input kept for a matrix without one; what is "
        "learnt is of rank 16 a matrix{}",
        plan_.model.weights.empty() ? ", on top of a trained model: name its folder in model.weights" : "");
    const auto lora = "LoRA (Hu et al. 2021)";
    const auto add_adapters = [&](std::string name, std::vector<std::string> set, std::string why) {
        add_inexact(std::move(name), std::move(set), std::move(why), lora);
        all.back().adapters = true;
    };
    if (layout_.recompute != Recompute::Mlp) add_adapters("LoRA (rank 16)", settings, reason);
    if (layout_.recompute == Recompute::Full && layout_.recompute_every == 1) return;
    settings.emplace_back("layout.recompute=full");
    settings.emplace_back("layout.recompute_every=1");
    add_adapters("LoRA (rank 16), every layer recomputed", std::move(settings),
                 reason + "; each layer keeps its input only");
}

void List::parallelism() {
    const auto degree = [&](const char* name, const char* key, std::int64_t now, const char* reason,
                            const char* source) {
        for (std::int64_t times = 2; times <= 8; times *= 2) {
            // Data parallel gives the ranks, accumulation keeps the global batch.
            if (layout_.dp % times != 0) break;
            std::vector<std::string> settings{fmt::format("layout.{}={}", key, now * times),
                                              fmt::format("layout.dp={}", layout_.dp / times),
                                              fmt::format("layout.accumulation={}", layout_.accumulation * times)};
            add(fmt::format("{} {}, data parallel {}", name, now * times, layout_.dp / times), std::move(settings),
                reason, source);
        }
    };
    degree("Tensor parallel", "tp", layout_.tp,
           "each matrix is split over more ranks; four all-reduces of the activations a layer and micro-batch",
           "Megatron-LM (Shoeybi et al. 2019)");
    degree("Pipeline stages", "pp", layout_.pp,
           "each rank holds fewer layers and as many activations in flight; the pipeline fills and drains",
           "Narayanan et al. 2021");
    degree("Context parallel", "cp", layout_.cp,
           "each rank holds a part of the sequence; keys and values go round the ring",
           "Liu et al. 2023, ring attention");
    if (plan_.model.moe())
        for (std::int64_t ep = layout_.ep * 2; ep <= plan_.model.num_experts; ep *= 2)
            if (layout_.dp % ep == 0)
                add(fmt::format("Expert parallel {}", ep), {fmt::format("layout.ep={}", ep)},
                    "each rank holds fewer experts; tokens travel to them and back", "GShard (Lepikhin et al. 2021)");
}

}  // namespace

bool asks_for_adapters(const Plan& plan) {
    if (adapts(plan) || plan.cluster.on_cpu() || plan.cluster.world_size() != 1) return false;
    const auto usable = usable_bytes(plan.cluster);
    constexpr double state_bytes = 16;  // ZeRO (Rajbhandari et al. 2020), section 3.1
    return usable &&
           state_bytes * static_cast<double>(count_parameters(plan.model).total) > static_cast<double>(*usable);
}

std::vector<PlanChange> candidates(const Plan& plan) {
    List list(plan);
    list.recomputation();
    list.batch();
    list.sharding();
    list.offload();
    list.kernels();
    list.dtypes();
    list.adapters();
    list.parallelism();
    return std::move(list.all);
}

}  // namespace plimsoll
