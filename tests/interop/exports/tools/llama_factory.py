# SPDX-License-Identifier: Apache-2.0
"""LLaMA-Factory: get_train_args reads the YAML, as `llamafactory-cli train` does in each rank."""
import importlib.metadata
import os

import yaml

os.environ["DISABLE_VERSION_CHECK"] = "1"
from transformers import TrainingArguments  # noqa: E402
from transformers.training_args import ParallelMode  # noqa: E402

from deepspeed_pair import finalize, write_pair  # noqa: E402
from llamafactory.hparams import get_train_args  # noqa: E402

TARGETS = ["llama-factory"]
TrainingArguments.parallel_mode = property(lambda self: ParallelMode.DISTRIBUTED)


def what():
    return f"LLaMA-Factory {importlib.metadata.version('llamafactory')}, transformers {importlib.metadata.version('transformers')}"


def read(path, plan):
    with open(path) as file:
        document = yaml.safe_load(file)
    TrainingArguments.world_size = property(lambda self: plan["dp"])
    if "deepspeed" in document:
        write_pair(plan, ["train_batch_size", "optimizer", "scheduler"])
    model, data, training, finetuning, _ = get_train_args({**document, "use_cpu": True, "report_to": "none"})
    if training.deepspeed:
        finalize(training, plan)
    return {
        "per_device_train_batch_size": (training.per_device_train_batch_size, plan["micro_batch"]),
        "gradient_accumulation_steps": (training.gradient_accumulation_steps, plan["accumulation"]),
        "max_steps": (training.max_steps, plan["steps"]),
        "learning_rate": (training.learning_rate, plan["learning_rate"]),
        "weight_decay": (training.weight_decay, plan["weight_decay"]),
        "max_grad_norm": (training.max_grad_norm, plan["clip"]),
        "seed": (training.seed, plan["seed"]),
        "bf16": (training.bf16, plan["dtype"] == "bf16"),
        "fp16": (training.fp16, plan["dtype"] == "fp16"),
        "cutoff_len": (data.cutoff_len, plan["sequence_length"]),
        "recomputation": (not model.disable_gradient_checkpointing, plan["recompute"] != "none"),
        "deepspeed": (training.deepspeed is not None, plan["plan_zero_stage"] > 0),
        "stage": (finetuning.stage, "pt"),
        "finetuning_type": (finetuning.finetuning_type, "lora" if plan["adapter_rank"] else "full"),
    } | ({
        "lora_rank": (finetuning.lora_rank, plan["adapter_rank"]),
        "lora_alpha": (finetuning.lora_alpha, plan["adapter_alpha"]),
        "lora_target": (finetuning.lora_target, plan["adapter_targets"]),
        "use_rslora": (finetuning.use_rslora, plan["adapter_rank_stabilized"]),
    } if plan["adapter_rank"] else {})
