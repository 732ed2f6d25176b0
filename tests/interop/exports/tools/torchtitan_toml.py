# SPDX-License-Identifier: Apache-2.0
"""torchtitan 0.2: its ConfigManager reads the TOML file."""
import importlib.metadata

from without_package_init import leave_out_init

leave_out_init("torchtitan")
from torchtitan.config.manager import ConfigManager  # noqa: E402

TARGETS = ["torchtitan"]


def what():
    return f"torchtitan {importlib.metadata.version('torchtitan')}"


def read(path, plan):
    config = ConfigManager().parse_args(["--job.config_file", path])
    training, parallelism = config.training, config.parallelism
    return {
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
