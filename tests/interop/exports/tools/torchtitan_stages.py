# SPDX-License-Identifier: Apache-2.0
"""torchtitan's own split into pipeline stages, and PyTorch's schedule over them, without processes.

Modules that need Triton or torchdata stand behind empty names, for types alone: no stage is run.
"""
import sys
import types

import torch


class Stage:
    """What a schedule asks of a stage before it runs."""

    def __init__(self, index, stages, ranks):
        self.stage_index, self.num_stages, self.group_size, self.group_rank = index, stages, ranks, index % ranks
        self.is_first, self.is_last, self.has_backward, self.device = index == 0, index == stages - 1, False, "cpu"
        self.submod = torch.nn.Identity()
        self.group = None


def load():
    for name, words in {"torchtitan.distributed.dual_pipe_v": ["overlap_callback"],
                        "torchtitan.protocols.train_spec": ["BaseModelArgs", "ParallelizeFunction"]}.items():
        module = types.ModuleType(name)
        for word in words:
            setattr(module, word, None)
        sys.modules.setdefault(name, module)
    from torchtitan.distributed import pipeline_parallel
    return pipeline_parallel


def stages_of(config, plan):
    """Layers on each stage, as torchtitan deals them; an error where it, or the schedule, refuses."""
    pipeline = load()
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class
    parallelism, ranks = config.parallelism, config.parallelism.pipeline_parallel_degree
    dealt = []

    def split(model, mesh, schedule, device, names):
        dealt.extend(names)
        return [], []

    def schedule_over(job_config, stages, loss_fn):
        kind = get_schedule_class(parallelism.pipeline_parallel_schedule)
        batches = config.training.local_batch_size // parallelism.pipeline_parallel_microbatch_size
        count = len(dealt)
        if count % ranks != 0:
            raise ValueError(f"{count} stages over {ranks} ranks")
        folded = "V" in parallelism.pipeline_parallel_schedule
        mine = [0, count - 1] if folded else list(range(0, count, ranks))
        over = [Stage(index, count, ranks) for index in mine]
        if not issubclass(kind, PipelineScheduleMulti):
            if len(over) != 1:
                raise ValueError(f"{len(over)} stages a rank for {kind.__name__}")
            over = over[0]
        kind(over, n_microbatches=batches, loss_fn=None, scale_grads=False)

    pipeline.pipeline_module_split, pipeline.build_pipeline_schedule = split, schedule_over
    dims = types.SimpleNamespace(pp=ranks, get_mesh=lambda name: None)
    pipeline.pipeline_llm(None, dims, config, None, types.SimpleNamespace(n_layers=plan["layers"]), None, None)
    return [sum(name.startswith("layers.") for name in names) for names in dealt]
