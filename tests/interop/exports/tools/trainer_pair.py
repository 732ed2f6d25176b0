# SPDX-License-Identifier: Apache-2.0
"""The Hugging Face Trainer: TrainingArguments with ds.json beside them, which it compares value by value."""
import json

import transformers
from transformers import HfArgumentParser, TrainingArguments

from deepspeed_pair import finalize, write_pair

TARGETS = ["transformers"]


def what():
    return f"transformers {transformers.__version__}"


def read(path, plan):
    with open(path) as file:
        arguments = json.load(file)
    TrainingArguments.world_size = property(lambda self: plan["dp"])
    if plan["plan_zero_stage"] > 0:
        arguments["deepspeed"] = write_pair(plan, ["train_batch_size", "scheduler"])
    training, = HfArgumentParser(TrainingArguments).parse_dict({**arguments, "use_cpu": True, "report_to": "none"})
    if training.deepspeed:
        finalize(training, plan)
    return {"global batch": (training.per_device_train_batch_size * training.gradient_accumulation_steps * plan["dp"],
                             plan["global_batch"]),
            "learning_rate": (training.learning_rate, plan["learning_rate"])}
