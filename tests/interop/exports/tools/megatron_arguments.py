# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM: parse_args and validate_args of pretrain_gpt.py, and the TransformerConfig that it builds of them.

--overlay is a checkout of Megatron-LM, which is on no package index. The GPU that it asks for its architecture is a
Hopper. Its kernels' Triton is stood in for by names: no kernel runs.
"""
import importlib.machinery
import os
import sys
import typing
from unittest import mock

import torch

import shell_words


def stand_in(name):
    module = mock.MagicMock(name=name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__path__, module.__version__ = [], "3.6.0"
    sys.modules[name] = module


if "triton" not in sys.modules:
    for each in ("triton", "triton.language"):
        stand_in(each)
if not hasattr(typing, "override"):  # Python 3.12's
    typing.override = lambda method: method
torch.compile = lambda function=None, **options: function or (lambda other: other)

import megatron.training.arguments as arguments  # noqa: E402
from megatron.training.argument_utils import core_transformer_config_from_args  # noqa: E402

TARGETS = ["megatron"]
arguments.get_device_arch_version = lambda: 9


def what():
    from megatron.core import package_info
    return f"Megatron-LM {package_info.__version__}"


def read(path, plan):
    words = shell_words.words(path)
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    if "=" in words[0]:
        name, value = words[0].split("=")
        os.environ[name] = value
    os.environ.update(WORLD_SIZE=str(plan["world_size"]), RANK="1", LOCAL_RANK="1")
    sys.argv = ["pretrain_gpt.py", *shell_words.after(path, "pretrain_gpt.py"), "--no-rope-fusion"]  # Transformer Engine's
    args = arguments.validate_args(arguments.parse_args())
    config = core_transformer_config_from_args(args)
    layout = config.pipeline_model_parallel_layout
    chunks = args.virtual_pipeline_model_parallel_size or 1
    stages = [config.num_layers // (plan["pp"] * chunks)] * plan["pp"] * chunks
    if layout is not None:
        stages = [sum(layer.name == "decoder" for layer in layout.layout[rank][chunk])
                  for chunk in range(chunks) for rank in range(plan["pp"])]
    return {
        "layers": (sum(stages), plan["layers"]),
        "stages": (stages, plan["stage_layers"] if len(stages) == len(plan["stage_layers"]) else stages),
        "data_parallel_size": (args.data_parallel_size, plan["dp"]),
        "global_batch_size": (args.global_batch_size, plan["global_batch"]),
        "seq_length": (args.seq_length, plan["sequence_length"]),
        "lr": (args.lr, plan["learning_rate"]),
        "weight_decay": (args.weight_decay, plan["weight_decay"]),
        "bf16": (args.bf16, plan["dtype"] == "bf16"),
        "seed": (args.seed, plan["seed"]),
    }
