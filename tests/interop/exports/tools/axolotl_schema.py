# SPDX-License-Identifier: Apache-2.0
"""Axolotl: its pydantic schema reads the YAML; keys that it ignores in silence are problems too.

Context parallelism asks for ring-flash-attn, kernels for GPUs only: an empty module stands in for them.
"""
import importlib.metadata
import json
import sys
import types

import yaml
from axolotl.utils.schemas.config import AxolotlConfigWCapabilities, AxolotlInputConfig

from deepspeed_pair import write_pair

sys.modules.setdefault("ring_flash_attn", types.ModuleType("ring_flash_attn"))
TARGETS = ["axolotl"]
NAMES = set(AxolotlInputConfig.model_fields) | {
    field.alias for field in AxolotlInputConfig.model_fields.values() if field.alias}
DEPRECATED = {name for name, field in AxolotlInputConfig.model_fields.items() if field.deprecated}


def what():
    return f"Axolotl {importlib.metadata.version('axolotl')}"


def read(path, plan):
    with open(path) as file:
        document = yaml.safe_load(file)
    if "deepspeed" in document:
        write_pair(plan, ["train_batch_size", "optimizer", "scheduler"])
        with open("ds.json") as file:
            json.load(file)
    config = AxolotlConfigWCapabilities(
        **document, capabilities={"bf16": True, "fp8": False, "tf32": True, "n_gpu": plan["world_size"],
                                  "n_node": plan["nodes"], "compute_capability": "sm_90"},
        env_capabilities={"torch_version": "2.11.0"})
    return {
        "ignored in silence": (sorted(set(document) - NAMES), []),
        "deprecated": (sorted(set(document) & DEPRECATED), []),
        "micro_batch_size": (config.micro_batch_size, plan["micro_batch"]),
        "gradient_accumulation_steps": (config.gradient_accumulation_steps, plan["accumulation"]),
        "max_steps": (config.max_steps, plan["steps"]),
        "learning_rate": (config.learning_rate, plan["learning_rate"]),
        "weight_decay": (config.weight_decay, plan["weight_decay"]),
        "max_grad_norm": (config.max_grad_norm, plan["clip"]),
        "sequence_len": (config.sequence_len, plan["sequence_length"]),
        "seed": (config.seed, plan["seed"]),
        "bf16": (bool(config.bf16), plan["dtype"] == "bf16"),
        "fp16": (bool(config.fp16), plan["dtype"] == "fp16"),
        "gradient_checkpointing": (bool(config.gradient_checkpointing), plan["recompute"] != "none"),
        "adapter": (config.adapter, "lora" if plan["adapter_rank"] else None),
    } | ({
        "lora_r": (config.lora_r, plan["adapter_rank"]),
        "lora_alpha": (config.lora_alpha, plan["adapter_alpha"]),
        "lora_target_modules": (config.lora_target_modules, plan["adapter_targets"]),
        "peft_use_rslora": (bool(config.peft_use_rslora), plan["adapter_rank_stabilized"]),
    } if plan["adapter_rank"] else {})
