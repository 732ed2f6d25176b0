// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_kept_effect.h"

#include <array>

namespace plimsoll::deepspeed {

namespace {

struct Row {
    std::string_view path;  ///< with everything below it; the first row that fits decides
    KeptEffect effect;
};

constexpr auto plan = KeptEffect::Plan;
constexpr auto reports = KeptEffect::Reports;
constexpr auto files = KeptEffect::Files;
constexpr auto buffers = KeptEffect::Buffers;
constexpr auto training = KeptEffect::Training;

constexpr std::array rows{
    Row{"train_batch_size", plan},
    Row{"train_micro_batch_size_per_gpu", plan},
    Row{"gradient_accumulation_steps", plan},
    Row{"gradient_clipping", plan},
    Row{"sequence_parallel_size", plan},
    Row{"data_parallel_size", plan},
    Row{"communication_data_type", plan},
    Row{"data_types.grad_accum_dtype", plan},
    Row{"optimizer.type", plan},
    Row{"scheduler.type", plan},
    Row{"bfloat16", plan},
    Row{"bf16.enabled", plan},
    Row{"fp16.enabled", plan},
    Row{"fp16.loss_scale", plan},
    Row{"fp16.initial_scale_power", plan},
    Row{"fp16.loss_scale_window", plan},
    Row{"fp16.hysteresis", plan},
    Row{"fp16.consecutive_hysteresis", plan},
    Row{"fp16.min_loss_scale", plan},
    Row{"tensor_parallel.autotp_size", plan},
    Row{"expert_parallel.autoep_size", plan},
    Row{"expert_parallel.enabled", plan},
    Row{"expert_parallel.preset_model", plan},
    Row{"zero_optimization.stage", plan},
    Row{"zero_optimization.offload_optimizer.device", plan},
    Row{"zero_optimization.offload_optimizer.nvme_path", plan},
    Row{"zero_optimization.offload_param.device", plan},
    Row{"zero_optimization.offload_param.nvme_path", plan},
    Row{"zero_optimization.cpu_offload", plan},
    Row{"zero_optimization.cpu_offload_param", plan},

    Row{"steps_per_print", reports},
    Row{"wall_clock_breakdown", reports},
    Row{"memory_breakdown", reports},
    Row{"dump_state", reports},
    Row{"log_level", reports},
    Row{"vocabulary_size", reports},
    Row{"flops_profiler", reports},
    Row{"tensorboard", reports},
    Row{"wandb", reports},
    Row{"csv_monitor", reports},
    Row{"comet", reports},
    Row{"comms_logger", reports},
    Row{"timers", reports},
    Row{"autotuning", reports},
    Row{"activation_checkpointing.profile", reports},
    Row{"zero_optimization.log_trace_cache_warnings", reports},
    Row{"zero_optimization.enable_sanity_checks", reports},

    Row{"checkpoint", files},
    Row{"datastates_ckpt", files},
    Row{"aio", files},
    Row{"zero_optimization.load_from_fp32_weights", files},
    Row{"zero_optimization.elastic_checkpoint", files},
    Row{"zero_optimization.pipeline_loading_checkpoint", files},
    Row{"zero_optimization.stage3_gather_16bit_weights_on_model_save", files},
    Row{"zero_optimization.stage3_gather_fp16_weights_on_model_save", files},

    Row{"allgather_size", buffers},
    Row{"disable_allgather", buffers},
    Row{"disable_python_gc", buffers},
    Row{"use_data_before_expert_parallelism", buffers},
    Row{"zero_allow_untested_optimizer", buffers},
    Row{"zero_force_ds_cpu_optimizer", buffers},
    Row{"zero_optimization.contiguous_gradients", buffers},
    Row{"zero_optimization.reduce_scatter", buffers},
    Row{"zero_optimization.reduce_bucket_size", buffers},
    Row{"zero_optimization.use_multi_rank_bucket_allreduce", buffers},
    Row{"zero_optimization.allgather_partitions", buffers},
    Row{"zero_optimization.allgather_bucket_size", buffers},
    Row{"zero_optimization.overlap_comm", buffers},
    Row{"zero_optimization.cpu_offload_use_pin_memory", buffers},
    Row{"zero_optimization.sub_group_size", buffers},
    Row{"zero_optimization.stage3_prefetch_bucket_size", buffers},
    Row{"zero_optimization.stage3_param_persistence_threshold", buffers},
    Row{"zero_optimization.stage3_model_persistence_threshold", buffers},
    Row{"zero_optimization.stage3_max_live_parameters", buffers},
    Row{"zero_optimization.stage3_max_reuse_distance", buffers},
    Row{"zero_optimization.stage3_module_granularity_threshold", buffers},
    Row{"zero_optimization.stage3_use_all_reduce_for_fetch_params", buffers},
    Row{"zero_optimization.stage3_allgather_sequential", buffers},
    Row{"zero_optimization.round_robin_gradients", buffers},
    Row{"zero_optimization.parameter_alignment", buffers},
    Row{"zero_optimization.memory_efficient_linear", buffers},
    Row{"zero_optimization.override_module_apply", buffers},
    Row{"zero_optimization.leaf_module", buffers},
    Row{"zero_optimization.save_muon_momentum_buffer_in_memory", buffers},
    Row{"zero_optimization.offload_optimizer.buffer_count", buffers},
    Row{"zero_optimization.offload_optimizer.pin_memory", buffers},
    Row{"zero_optimization.offload_optimizer.pipeline_read", buffers},
    Row{"zero_optimization.offload_optimizer.pipeline_write", buffers},
    Row{"zero_optimization.offload_optimizer.fast_init", buffers},
    Row{"zero_optimization.offload_optimizer.cpuadam_cores_perc", buffers},
    Row{"zero_optimization.offload_param", buffers},
    Row{"activation_checkpointing.synchronize_checkpoint_boundary", buffers},
    Row{"activation_checkpointing.number_checkpoints", buffers},
    Row{"activation_checkpointing.contiguous_memory_optimization", buffers},

    Row{"activation_checkpointing", training},
    Row{"dataloader_drop_last", training},
    Row{"gradient_allreduce_op", training},
    Row{"gradient_predivide_factor", training},
    Row{"prescale_gradients", training},
    Row{"managed_gradient_accumulation", training},
    Row{"seq_parallel_communication_data_type", training},
    Row{"torch_autocast", training},
    Row{"data_types", training},
    Row{"fp16", training},
    Row{"bf16", training},
    Row{"compile", training},
    Row{"data_efficiency", training},
    Row{"weight_quantization", training},
    Row{"hybrid_engine", training},
    Row{"pipeline", training},
    Row{"optimizer", training},
    Row{"scheduler", training},
    Row{"tensor_parallel", training},
    Row{"expert_parallel", training},
    Row{"zero_optimization.compute_grad_norm", training},
    Row{"zero_optimization.ignore_unused_parameters", training},
    Row{"zero_optimization.legacy_stage1", training},
    Row{"zero_optimization.zenflow", training},
    Row{"zero_optimization.zero_hpz_partition_size", training},
    Row{"zero_optimization.zero_quantized_weights", training},
    Row{"zero_optimization.zero_quantized_nontrainable_weights", training},
    Row{"zero_optimization.zero_quantized_gradients", training},
    Row{"zero_optimization.offload_optimizer", training},
};

bool covers(std::string_view row, std::string_view path) {
    return path.starts_with(row) && (path.size() == row.size() || path[row.size()] == '.');
}

}  // namespace

std::optional<KeptEffect> kept_effect(std::string_view path) {
    for (const Row& row : rows) {
        if (covers(row.path, path)) return row.effect;
    }
    return std::nullopt;
}

}  // namespace plimsoll::deepspeed
