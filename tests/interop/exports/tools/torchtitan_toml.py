# SPDX-License-Identifier: Apache-2.0
"""torchtitan 0.2: its ConfigManager reads the TOML file, its ParallelDims takes the ranks, and its pipeline deals the
layers under PyTorch's schedule."""
import importlib.metadata

from without_package_init import leave_out_init

leave_out_init("torchtitan")
from torchtitan.config.manager import ConfigManager  # noqa: E402
from torchtitan.distributed.parallel_dims import ParallelDims  # noqa: E402

from torchtitan_stages import stages_of  # noqa: E402

TARGETS = ["torchtitan"]


def what():
    return f"torchtitan {importlib.metadata.version('torchtitan')}"


def read(path, plan):
    config = ConfigManager().parse_args(["--job.config_file", path])
    training, parallelism = config.training, config.parallelism
    dims = ParallelDims(parallelism.data_parallel_replicate_degree, parallelism.data_parallel_shard_degree,
                        parallelism.context_parallel_degree, parallelism.tensor_parallel_degree,
                        parallelism.pipeline_parallel_degree, parallelism.expert_parallel_degree,
                        parallelism.expert_tensor_parallel_degree, plan["world_size"])
    stages = stages_of(config, plan) if plan["pp"] > 1 else [plan["layers"]]
    return {
        # What parallelize_llama asserts: the sequence, and DDP alone or with context parallelism.
        "a rest of the sequence": (training.seq_len % dims.seq_len_divisor, 0),
        "DDP beside other parallelism": (dims.dp_replicate_enabled and not dims.fsdp_enabled and
                                         dims.dp_replicate != plan["world_size"], False),
        "heads without a rank": (plan["kv_heads"] % dims.tp, 0),
        "layers": (sum(stages), plan["layers"]),
        "stages": (stages, plan["stage_layers"] if len(stages) == len(plan["stage_layers"]) else stages),
        "training.local_batch_size": (training.local_batch_size,
                                      plan["micro_batch"] * (plan["accumulation"] if plan["pp"] > 1 else 1)),
        "training.global_batch_size": (training.global_batch_size, plan["global_batch"]),
        "training.seq_len": (training.seq_len, plan["sequence_length"]),
        "training.steps": (training.steps, plan["steps"]),
        "training.mixed_precision_param": (training.mixed_precision_param,
                                           "bfloat16" if plan["dtype"] == "bf16" else "float32"),
        "optimizer.lr": (config.optimizer.lr, plan["learning_rate"]),
        "optimizer.weight_decay": (config.optimizer.weight_decay, plan["weight_decay"]),
        "ranks": (parallelism.data_parallel_replicate_degree * parallelism.data_parallel_shard_degree *
                  parallelism.tensor_parallel_degree * parallelism.pipeline_parallel_degree *
                  parallelism.context_parallel_degree, plan["world_size"]),
        "micro-batch": (parallelism.pipeline_parallel_microbatch_size if plan["pp"] > 1 else training.local_batch_size,
                        plan["micro_batch"]),
    }
