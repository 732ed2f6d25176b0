# SPDX-License-Identifier: Apache-2.0
"""torchtitan 0.3: its ConfigManager reads the command line over the function that --config names.

A model that torchtitan has not gets a function of the user's own, which the notes ask for; here the debug model stands
in for it. Names of a newer PyTorch that the model's code imports are put in empty: the parser uses none of them.
"""
import importlib.metadata
import re
import sys

import shell_words


def load():
    for _ in range(20):
        try:
            from torchtitan.config import ConfigManager
            from torchtitan.models.llama3 import config_registry
            return ConfigManager, config_registry
        except ImportError as error:
            missing = re.match(r"cannot import name '(\w+)' from '(torch\.[\w.]+)'", str(error))
            if not missing:
                raise
            setattr(sys.modules[missing[2]], missing[1], type(missing[1], (), {}))
            for name in [name for name in sys.modules if name.split(".")[0] == "torchtitan"]:
                del sys.modules[name]
    raise ImportError("torchtitan")


ConfigManager, registry = load()
TARGETS = ["torchtitan-0.3"]


def what():
    return f"torchtitan {importlib.metadata.version('torchtitan')}"


def read(path, plan):
    words = shell_words.after(path, "torchtitan.train")
    config_at = words.index("--config") + 1
    if not hasattr(registry, words[config_at]):
        words[config_at] = "llama3_debugmodel"
    config = ConfigManager().parse_args(words)
    training, parallelism = config.training, config.parallelism
    recomputed = {"none": ["NoneType"], "full": ["FullAC.Config"]}.get(plan["recompute"], ["SelectiveAC.Config"])
    return {
        "training.local_batch_size": (training.local_batch_size,
                                      plan["micro_batch"] * (plan["accumulation"] if plan["pp"] > 1 else 1)),
        "training.global_batch_size": (training.global_batch_size, plan["global_batch"]),
        "training.seq_len": (training.seq_len, plan["sequence_length"]),
        "training.steps": (training.steps, plan["steps"]),
        "debug.seed": (config.debug.seed, plan["seed"]),
        "activation_checkpoint": ([type(config.activation_checkpoint).__qualname__], recomputed),
        "ranks": (parallelism.data_parallel_replicate_degree * parallelism.data_parallel_shard_degree *
                  parallelism.tensor_parallel_degree * parallelism.pipeline_parallel_degree *
                  parallelism.context_parallel_degree, plan["world_size"]),
    }
