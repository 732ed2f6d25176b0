# SPDX-License-Identifier: Apache-2.0
"""Write the DeepSpeed JSON schema from the installed DeepSpeed: key, type, default, allowed values, bounds, who checks.
DS_ACCELERATOR=cpu python gen_schema.py OUT.json"""

import enum, inspect, json, os, sys, typing

os.environ.setdefault("DS_ACCELERATOR", "cpu")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_config as cc
import deepspeed, torch

cc.quiet()
from pydantic import BaseModel
from pydantic_core import PydanticUndefined


def plain(v):
    if isinstance(v, enum.Enum):
        v = v.value
    if isinstance(v, BaseModel) or hasattr(v, "__fields__"):
        return {}
    if isinstance(v, torch.dtype):
        return str(v)
    if v is PydanticUndefined:
        return None
    if isinstance(v, bool) or v is None or isinstance(v, (str, float)):
        return v
    if isinstance(v, int):
        return int(v)
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {str(k): plain(x) for k, x in v.items()}
    return str(v)


def tname(a):
    o, g = typing.get_origin(a), typing.get_args(a)
    if a is type(None):
        return "null"
    if o is typing.Union or str(o) == "<class 'types.UnionType'>":
        return "|".join(tname(x) for x in g)
    if o is typing.Literal:
        return "string"
    if o in (list, typing.List):
        return "array<%s>" % (tname(g[0]) if g else "any")
    if o in (dict, typing.Dict):
        return "object"
    if inspect.isclass(a):
        if issubclass(a, BaseModel) or hasattr(a, "__fields__"):
            return "object"
        if issubclass(a, enum.Enum):
            return "integer" if issubclass(a, int) else "string"
        return {
            bool: "boolean",
            int: "integer",
            float: "number",
            str: "string",
            list: "array",
            dict: "object",
            tuple: "array",
            object: "runtime-object",
        }.get(a, {"Path": "string"}.get(a.__name__, a.__name__))
    return str(a)


def allowed(a):
    for x in (a,) + typing.get_args(a):
        if typing.get_origin(x) is typing.Literal:
            return list(typing.get_args(x))
        if inspect.isclass(x) and issubclass(x, enum.Enum):
            return sorted({plain(e) for e in x}, key=str)
    if typing.get_origin(a) is typing.Literal:
        return list(typing.get_args(a))


def model_v1(path, m, out):
    for n, f in m.__fields__.items():
        key = f.alias or n
        e = dict(
            key=f"{path}.{key}",
            type=tname(f.outer_type_),
            default=plain(f.get_default()),
            checked_by="pydantic %s (unknown sibling keys rejected)" % m.__name__,
        )
        if not f.required and f.allow_none and "null" not in e["type"]:
            e["type"] += "|null"
        if f.alias != n:
            e["alias_of"] = n
        al = allowed(f.outer_type_)
        if al:
            e["allowed"] = al
        for b in ("gt", "ge", "lt", "le"):
            if getattr(f.field_info, b, None) is not None:
                e[b] = getattr(f.field_info, b)
        if f.field_info.extra.get("deprecated"):
            e["deprecated"] = True
            e["replaced_by"] = f.field_info.extra.get("new_param") or None
        out.append(e)
        for x in (f.outer_type_,) + typing.get_args(f.outer_type_):
            if inspect.isclass(x) and hasattr(x, "__fields__"):
                model_v1(f"{path}.{key}", x, out)


def model(path, m, out):
    if not isinstance(getattr(m, "model_fields", None), dict):
        return model_v1(path, m, out)
    for n, f in m.model_fields.items():
        ex = f.json_schema_extra if isinstance(f.json_schema_extra, dict) else {}
        key = f.alias or n
        d = f.get_default(call_default_factory=True)
        e = dict(key=f"{path}.{key}", type=tname(f.annotation), default=plain(d))
        if f.alias and f.alias != n:
            e["alias_of"] = n
        al = allowed(f.annotation)
        if al:
            e["allowed"] = al
        for md in f.metadata:
            for b in ("gt", "ge", "lt", "le"):
                if getattr(md, b, None) is not None:
                    e[b] = getattr(md, b)
        if ex.get("deprecated"):
            e["deprecated"] = True
            e["replaced_by"] = ex.get("new_param") or None
        e["checked_by"] = "pydantic %s (unknown sibling keys rejected)" % m.__name__
        out.append(e)
        for x in (f.annotation,) + typing.get_args(f.annotation):
            if inspect.isclass(x) and issubclass(x, BaseModel):
                model(f"{path}.{key}", x, out)


def consts(modname, suffix="_DEFAULT"):
    import importlib

    try:
        m = importlib.import_module(modname)
    except Exception:
        return {}
    d = {}
    for k, v in vars(m).items():
        if k.endswith(suffix) and k[: -len(suffix)] in vars(m) and isinstance(getattr(m, k[: -len(suffix)]), str):
            d.setdefault(getattr(m, k[: -len(suffix)]), v)
    return d


def jt(v):
    return (
        "boolean"
        if isinstance(v, bool)
        else (
            "integer"
            if isinstance(v, int)
            else (
                "number"
                if isinstance(v, float)
                else (
                    "string"
                    if isinstance(v, str)
                    else "array" if isinstance(v, (list, tuple)) else "object" if isinstance(v, dict) else "any"
                )
            )
        )
    )


entries = []
known, removed = cc.known_keys()
models = cc.find_models()
top = consts("deepspeed.runtime.constants")
TYPES = dict(
    train_batch_size="integer",
    train_micro_batch_size_per_gpu="integer",
    gradient_accumulation_steps="integer",
    steps_per_print="integer",
    communication_data_type="string",
    seq_parallel_communication_data_type="string",
    vocabulary_size="integer",
    bfloat16="object (old name of bf16, read only when bf16 is absent)",
    allgather_size="integer (read only when zero_optimization is a boolean)",
    log_level="string",
    sequence_parallel_size="integer",
    data_parallel_size="integer",
    datastates_ckpt="object",
)
ALLOW = dict(
    communication_data_type=["fp16", "bf16", "fp32", None],
    seq_parallel_communication_data_type=["fp16", "bf16", "fp32", None],
    gradient_allreduce_op=["mean", "sum"],
)
blocks = {p.split(".")[0] for p in list(models) + list(known) if p} | {
    "optimizer",
    "scheduler",
    "compression_training",
    "curriculum_learning",
}
for k in sorted(known[""]):
    if k in blocks or k in removed or k in ("_",):
        continue
    e = dict(
        key=k,
        type=TYPES.get(k, jt(top.get(k))),
        default=plain(top.get(k)),
        checked_by="hand-written getter (unknown keys ignored in silence)",
    )
    if k in ALLOW:
        e["allowed"] = ALLOW[k]
    entries.append(e)
for p, m in models.items():
    model(p, m, entries)
DEF = {
    "fp16": "deepspeed.runtime.constants",
    "bf16": "deepspeed.runtime.constants",
    "activation_checkpointing": "deepspeed.runtime.activation_checkpointing.config",
    "flops_profiler": "deepspeed.profiling.constants",
    "autotuning": "deepspeed.autotuning.constants",
    "aio": "deepspeed.runtime.swap_tensor.constants",
    "checkpoint": "deepspeed.runtime.model_checkpointing.constants",
    "data_types": "deepspeed.runtime.constants",
    "checkpoint.writer": "deepspeed.runtime.model_checkpointing.constants",
    "torch_autocast": "deepspeed.runtime.constants",
    "data_efficiency": "deepspeed.runtime.data_pipeline.constants",
    "elasticity": "deepspeed.elasticity.constants",
    "autotuning.model_info": "deepspeed.autotuning.constants",
}
DV = {
    "checkpoint.tag_validation": ["Warn", "Ignore", "Fail"],
    "checkpoint.writer.type": ["mock", "python", "fast"],
    "checkpoint.writer.data_parallel": ["replica", "socket", "machine", None],
    "data_types.grad_accum_dtype": ["fp32", "fp16", "bf16", None],
    "autotuning.tuner_type": ["gridsearch", "random", "model_based"],
    "autotuning.metric": ["throughput", "latency", "flops"],
    "data_efficiency.data_sampling.dynamic_batching.lr_scaling_method": ["linear", "sqrt", "none"],
    "data_efficiency.data_sampling.dynamic_batching.sequence_picking_order": ["dataloader", "random", "seqlen"],
}
FT = {
    "activation_checkpointing.number_checkpoints": "integer|null",
    "flops_profiler.output_file": "string|null",
    "data_types.buffer_dtype": "string|null",
    "data_types.grad_accum_dtype": "string|null",
    "data_types.param_dtype": "string|null",
    "data_types.keep_in_fp32_modules": "string|array<string>",
    "torch_autocast.dtype": "string|null",
    "torch_autocast.lower_precision_safe_modules": "array<string>|null",
    "optimizer.type": "string|null",
    "scheduler.type": "string|null",
    "checkpoint.writer.data_parallel": "string|null",
    "autotuning.arg_mappings": "object|null",
    "autotuning.max_train_batch_size": "integer|null",
    "autotuning.metric_path": "string|null",
    "autotuning.model_info_path": "string|null",
    "autotuning.model_info.hidden_size": "integer|null",
    "autotuning.model_info.num_layers": "integer|null",
    "autotuning.model_info.num_params": "integer|null",
    "data_efficiency.data_sampling.dynamic_batching.max_tokens": "integer (required when enabled)",
    "data_efficiency.data_sampling.dynamic_batching.max_batch_size": "integer|null",
    "data_efficiency.data_sampling.dynamic_batching.metrics_path": "string|null",
    "data_efficiency.data_sampling.curriculum_learning.curriculum_metrics": "object (required when enabled)",
    "data_efficiency.data_sampling.curriculum_learning.data_cluster_path": "string",
    "pipeline.stages": "string|integer",
    "elasticity.max_train_batch_size": "integer (required when enabled)",
    "elasticity.micro_batch_sizes": "array<integer> (required when enabled)",
    "elasticity.version": "number",
}
PD = {
    "fp16.enabled": False,
    "bf16.enabled": False,
    "pipeline.stages": "auto",
    "pipeline.partition": "best",
    "pipeline.seed_layers": False,
    "pipeline.activation_checkpoint_interval": 0,
    "pipeline.pipe_partitioned": True,
    "pipeline.grad_partitioned": True,
    "pipeline.use_reentrant": True,
    "optimizer.type": None,
    "optimizer.params": {},
    "optimizer.legacy_fusion": False,
    "scheduler.type": None,
    "scheduler.params": {},
    "checkpoint.parallel_write.pipeline_stage": False,
    "checkpoint.load_universal": False,
    "checkpoint.use_node_local_storage": False,
    "data_efficiency.data_sampling.enabled": False,
    "data_efficiency.data_routing.enabled": False,
    "data_efficiency.data_routing.random_ltd.enabled": False,
    "data_efficiency.data_sampling.curriculum_learning.enabled": False,
    "autotuning.max_train_batch_size": None,
    "autotuning.min_train_batch_size": 1,
    "data_efficiency.data_sampling.dynamic_batching.enabled": False,
    "data_efficiency.data_sampling.dynamic_batching.min_batch_size": 1,
    "data_efficiency.data_sampling.dynamic_batching.lr_scaling_method": "linear",
    "data_efficiency.data_sampling.dynamic_batching.sequence_picking_order": "dataloader",
    "data_efficiency.data_sampling.dynamic_batching.verbose": False,
}
have = {e["key"] for e in entries}
for path in sorted(known):
    if not path or path in models or path.split(".")[0] in removed:
        continue
    mod = DEF.get(path) or DEF.get(path.split(".")[0])
    c = consts(mod) if mod else {}
    if path == "checkpoint":
        c = {**consts("deepspeed.runtime.constants"), **c}
    for k in sorted(known[path]):
        key = f"{path}.{k}"
        if k in ("_", "x") or key in have or key in known:
            continue
        v = PD.get(key, c.get(k))
        if path == "expert_parallel":
            try:
                from deepspeed.module_inject.auto_ep_config import AutoEPConfig

                v = getattr(AutoEPConfig(), k, None)
                v = None if type(v) is object else v
            except Exception:
                pass
        e = dict(
            key=key,
            type=FT.get(key) or (jt(v) if v is not None else "any"),
            default=plain(v),
            checked_by="hand-written getter (unknown keys ignored in silence)",
        )
        if key in DV:
            e["allowed"] = DV[key]
        entries.append(e)


# optimizers and schedulers: arguments = constructor signatures
def sig(cls, skip=("self", "optimizer", "model_params", "params", "model_parameters")):
    out = []
    for n, p in inspect.signature(cls.__init__).parameters.items():
        if n in skip or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        out.append(
            dict(name=n, required=p.default is p.empty, default=None if p.default is p.empty else plain(p.default))
        )
    return out


opts = {}
from deepspeed.runtime import lr_schedules
import deepspeed.runtime.config as RC


def grab(name, imp):
    try:
        opts[name] = sig(imp())
    except Exception as e:
        opts[name] = "unavailable here: " + type(e).__name__


def imp(m, c):
    return lambda: getattr(__import__(m, fromlist=[c]), c)


grab("FusedAdam (adam/adamw without offload)", imp("deepspeed.ops.adam", "FusedAdam"))
grab("DeepSpeedCPUAdam (adam/adamw with optimizer offload)", imp("deepspeed.ops.adam", "DeepSpeedCPUAdam"))
grab("torch.optim.AdamW (torch_adam=true)", lambda: torch.optim.AdamW)
grab("FusedLamb (lamb)", imp("deepspeed.ops.lamb", "FusedLamb"))
grab("FusedLion (lion)", imp("deepspeed.ops.lion", "FusedLion"))
grab("DeepSpeedCPULion (lion with offload)", imp("deepspeed.ops.lion", "DeepSpeedCPULion"))
grab("torch.optim.Adagrad (adagrad)", lambda: torch.optim.Adagrad)
grab("DeepSpeedCPUAdagrad (adagrad with offload)", imp("deepspeed.ops.adagrad", "DeepSpeedCPUAdagrad"))
res = dict(
    deepspeed=deepspeed.__version__,
    note="generated by gen_schema.py from the pydantic models, the constants and a trace of the keys that DeepSpeed reads",
    entries=entries,
    removed_blocks=removed,
    optimizers=dict(
        types=list(RC.DEEPSPEED_OPTIMIZERS) + ["any torch.optim class name"],
        case="lower-cased only when in this list; other names are case-sensitive torch.optim names",
        extra_keys_of_params=["torch_adam", "adam_w_mode", "fp32_optimizer_states (offload)"],
        arguments=opts,
    ),
    schedulers=dict(
        types=list(lr_schedules.VALID_LR_SCHEDULES) + ["any torch.optim.lr_scheduler class name"],
        arguments={n: sig(getattr(lr_schedules, n)) for n in lr_schedules.VALID_LR_SCHEDULES},
    ),
)
json.dump(res, open(sys.argv[1], "w"), indent=1)
print(deepspeed.__version__, len(entries), "keys")
