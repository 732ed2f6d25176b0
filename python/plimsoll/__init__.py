# SPDX-License-Identifier: Apache-2.0
"""Plimsoll in Python: what fits on which GPUs, the best layout, exports, and what is wrong with a DeepSpeed config.

>>> import plimsoll
>>> plan = plimsoll.Plan("llama-7b", gpu="H100 SXM", gpus_per_node=8, settings={"layout.zero_stage": 3})
>>> plimsoll.estimate(plan).fits
True
>>> plimsoll.search(plan, keep=5)[0].words         # the best layout
>>> print(plimsoll.export(plan, "deepspeed"))
>>> plimsoll.lint("ds.json", world=64, release="0.19.8")

Bytes are bytes and times are seconds. What cannot work raises BadInput, a ValueError of one sentence.
"""
import os as _os
from pathlib import Path as _Path

# Presets and the GPU catalogue lie in the package; the core looks where this says.
if not _os.environ.get("PLIMSOLL_DATA"):
    _os.environ["PLIMSOLL_DATA"] = str(_Path(__file__).parent / "data")

from ._plimsoll import (  # noqa: E402
    BadInput,
    Estimate,
    Export,
    ExportTarget,
    Failed,
    Finding,
    Gpu,
    Lint,
    Plan,
    Problem,
    RankMemory,
    Row,
    Search,
    StepTime,
    Term,
    __version__,
    estimate,
    export,
    export_targets,
    gpus,
    lint,
    presets,
    search,
    step_time,
)
from . import _repr  # noqa: E402

_repr.install()

__all__ = [
    "BadInput", "Estimate", "Export", "ExportTarget", "Failed", "Finding", "Gpu", "Lint", "Plan", "Problem",
    "RankMemory", "Row", "Search", "StepTime", "Term", "__version__", "estimate", "export", "export_targets", "gpus",
    "lint", "presets", "search", "step_time",
]
