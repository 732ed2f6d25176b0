# SPDX-License-Identifier: Apache-2.0
"""Accelerate: its ParallelismConfig takes the sizes of the file, as the Accelerator checks them."""
import types

import accelerate
import yaml
from accelerate.parallelism_config import ParallelismConfig
from accelerate.utils import DistributedType

TARGETS = ["accelerate-fsdp"]


def what():
    return f"Accelerate {accelerate.__version__}"


def read(path, plan):
    with open(path) as file:
        document = yaml.safe_load(file)
    kind = document["distributed_type"]
    sizes = {key.removeprefix("parallelism_config_"): size
             for key, size in document.get("parallelism_config", {}).items() if key.endswith("_size")}
    parallelism = ParallelismConfig(**sizes)
    accelerator = types.SimpleNamespace(num_processes=document["num_processes"], is_fsdp2=kind == "FSDP",
                                        multi_device=kind.startswith("MULTI"), is_main_process=False,
                                        distributed_type=DistributedType(kind))
    if sizes:
        parallelism._validate_accelerator(accelerator)
    return {"num_processes": (document["num_processes"], plan["world_size"]),
            "FSDP over pipeline stages": (kind == "FSDP" and plan["pp"] > 1, False),
            # Accelerator.prepare leaves a tensor-parallel model without DDP, and context parallelism is FSDP2's.
            "gradients of data-parallel ranks": (
                kind == "FSDP" or not sizes or (sizes["dp_shard_size"] == 1 and sizes["cp_size"] == 1), True)}
