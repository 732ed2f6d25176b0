# SPDX-License-Identifier: Apache-2.0
"""Oracle: does the REAL DeepSpeed accept this JSON config?  No GPU, no launcher, no process group.

  DS_ACCELERATOR=cpu python check_config.py CONFIG.json --world-size 8 [--tp 1 --pp 1 --sp 1]
                                           [--init] [--strict] [--json] [--quiet]

Layers, in this order:
 1 parse    hjson with DeepSpeed's own duplicate-key hook (strict JSON is checked too; hjson takes comments etc.)
 2 config   deepspeed.runtime.config.DeepSpeedConfig with world size = world/(tp*pp*sp)            -> the real error
 3 unknown  keys that DeepSpeed never reads (it ignores them in silence); found by tracing DeepSpeed's own reads
 4 auto     "auto" left in the file: only the HF Trainer/Accelerate fill it in; plain DeepSpeed drops or keeps it
 5 engine   what deepspeed.initialize checks later: optimizer/scheduler names and arguments (real signatures), ZeRO rules
 6 --init   really calls deepspeed.initialize on one CPU rank with a tiny model and makes one step (slow, compiles ops)

Exit code: 0 accepted; 1 rejected by the real DeepSpeed (layers 1, 2, 6) or an `error` finding of layer 5 (deepspeed.initialize would raise);
           with --strict also for unknown keys, unresolved "auto" and `danger` findings (accepted by DeepSpeed but broken); 2 usage.
"""

import argparse, copy, difflib, inspect, json, logging, os, sys, warnings

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")


# ---------------------------------------------------------------- tracing dict
class _View:
    def __init__(self, t):
        self.t = t

    def __contains__(self, k):
        self.t.seen.add(k)
        return dict.__contains__(self.t, k)

    def __iter__(self):
        self.t.whole[0] = True
        return dict.__iter__(self.t)

    def __len__(self):
        return len(self.t)


class Trace(dict):
    """A dict that records which of its keys were asked for (present or not)."""

    def __init__(self, src, path=""):
        super().__init__()
        self.seen, self.whole, self.path = set(), [False], path
        for k, v in src.items():
            dict.__setitem__(self, k, Trace(v, f"{path}.{k}" if path else k) if isinstance(v, dict) else v)

    def __getitem__(self, k):
        self.seen.add(k)
        return dict.__getitem__(self, k)

    def __contains__(self, k):
        self.seen.add(k)
        return dict.__contains__(self, k)

    def get(self, k, d=None):
        self.seen.add(k)
        return dict.get(self, k, d)

    def keys(self):
        return _View(self)

    def items(self):
        self.whole[0] = True
        return dict.items(self)

    def values(self):
        self.whole[0] = True
        return dict.values(self)

    def __iter__(self):
        self.whole[0] = True
        return dict.__iter__(self)

    def __copy__(self):
        t = Trace({})
        t.seen, t.whole, t.path = self.seen, self.whole, self.path
        for k, v in dict.items(self):
            dict.__setitem__(t, k, v)
        return t

    copy = __copy__

    def __deepcopy__(self, memo):
        return copy.deepcopy(dict(dict.items(self)), memo)


def quiet():
    logging.disable(logging.CRITICAL)
    try:
        from deepspeed.utils import logger

        logger.disabled = True
    except Exception:
        pass


def stub_world(n):
    import deepspeed.runtime.config as C

    C.dist.get_rank = lambda group=None: 0
    C.dist.get_world_size = lambda group=None: n


# Blocks that DeepSpeed reads key by key (no schema of its own): probed once with these inputs.
PROBE = dict(
    optimizer=dict(type="Adam", params={}),
    scheduler=dict(type="WarmupLR", params={}),
    activation_checkpointing={},
    flops_profiler={},
    autotuning={"model_info": {"x": 1}},
    aio={},
    checkpoint={"writer": {}, "parallel_write": {}},
    fp16={},
    bf16={},
    data_types={},
    torch_autocast={"enabled": False, "dtype": "bfloat16", "lower_precision_safe_modules": []},
    expert_parallel={"_": 0},
    timers={"throughput": {}},
    data_efficiency={
        "enabled": True,
        "data_sampling": {"enabled": True, "dynamic_batching": {}, "curriculum_learning": {"enabled": False}},
        "data_routing": {"enabled": True, "random_ltd": {"enabled": False}},
    },
)
# old releases only; releases that removed the block raise for it, and then it is left out
OLD = dict(
    amp={"enabled": False},
    sparse_attention={"mode": "fixed"},
    eigenvalue={"enabled": False},
    nebula={"enabled": False},
    curriculum_learning={"enabled": False},
    progressive_layer_drop={"enabled": False},
    quantize_training={"enabled": False},
    compression_training={},
    elasticity=dict(enabled=True, max_train_batch_size=8, micro_batch_sizes=[2], version=0.1),
)
STATIC = {  # fp16/bf16: only for releases where they are no pydantic model; the others are read outside DeepSpeedConfig, read only under a condition, or read whole
    "": [
        "bfloat16",
        "allgather_size",
        "sequence_parallel_size",
        "data_parallel_size",
        "vocabulary_size",
        "datastates_ckpt",
    ],
    "fp16": [
        "enabled",
        "auto_cast",
        "loss_scale",
        "initial_scale_power",
        "loss_scale_window",
        "hysteresis",
        "consecutive_hysteresis",
        "min_loss_scale",
        "fp16_master_weights_and_grads",
    ],
    "bf16": ["enabled", "immediate_grad_update"],
    "pipeline": [
        "stages",
        "partition",
        "seed_layers",
        "activation_checkpoint_interval",
        "pipe_partitioned",
        "grad_partitioned",
        "use_reentrant",
    ],
    "autotuning.model_info": ["profile", "num_params", "hidden_size", "num_layers"],
    "data_efficiency.data_sampling": [
        "enabled",
        "num_epochs",
        "num_workers",
        "pin_memory",
        "curriculum_learning",
        "dynamic_batching",
    ],
    "data_efficiency.data_sampling.curriculum_learning": ["enabled", "data_cluster_path", "curriculum_metrics"],
    "data_efficiency.data_sampling.dynamic_batching": [
        "enabled",
        "metrics_path",
        "lr_scaling_method",
        "min_batch_size",
        "max_batch_size",
        "sequence_picking_order",
        "max_tokens",
        "verbose",
    ],
    "data_efficiency.data_routing.random_ltd": [
        "enabled",
        "total_layer_num",
        "random_ltd_layer_num",
        "random_ltd_layer_id",
        "model_mask_name",
        "model_type",
        "hidden_state_order",
        "random_ltd_schedule",
        "layer_token_lr_schedule",
        "micro_batch_size",
        "global_batch_size",
        "sample_idx",
        "attention_mask",
    ],
    "compression_training": [
        "weight_quantization",
        "activation_quantization",
        "sparse_pruning",
        "row_pruning",
        "head_pruning",
        "channel_pruning",
        "layer_reduction",
    ],
    "elasticity": [
        "enabled",
        "max_train_batch_size",
        "micro_batch_sizes",
        "min_gpus",
        "max_gpus",
        "min_time",
        "version",
        "prefer_larger_batch",
        "ignore_non_elastic_batch_info",
        "model_parallel_size",
        "num_gpus_per_node",
    ],
}
OPAQUE = [
    "optimizer.params",
    "scheduler.params",
    "datastates_ckpt",
    "autotuning.arg_mappings",
    "tensor_parallel.partition_config",
    "data_efficiency.data_sampling.curriculum_learning.curriculum_metrics",
    "data_efficiency.data_routing.random_ltd",
    "compression_training",
    "data_efficiency.data_routing.random_ltd.random_ltd_schedule",
    "sparse_attention",
    "weight_quantization",
    "amp",
    "curriculum_learning",
]


def known_keys():
    """path -> set of keys that this DeepSpeed reads there."""
    from deepspeed.runtime.config import DeepSpeedConfig

    stub_world(1)
    known, removed = {k: set(v) for k, v in STATIC.items()}, {}

    def collect(t):
        if t.path in OPAQUE:
            return
        known.setdefault(t.path, set()).update(x for x in t.seen if isinstance(x, str))
        for v in dict.values(t):
            if isinstance(v, Trace):
                collect(v)

    base = dict(train_micro_batch_size_per_gpu=1)
    runs = [dict(base, **PROBE), dict(base, fp16={"enabled": True}), dict(base, bf16={"enabled": True})] + [
        {**(base if k != "elasticity" else {}), k: v} for k, v in OLD.items()
    ]
    for i, r in enumerate(runs):
        t = Trace(r)
        try:
            DeepSpeedConfig(t)
        except Exception as e:
            if i < 3:
                raise
            k = list(r)[-1]
            if "removed" in str(e).lower():
                removed[k] = str(e).split(". See")[0]
            continue
        collect(t)
    try:
        from deepspeed.runtime.config import _REMOVED_TOP_LEVEL_CONFIG_KEYS as gone

        removed.update({k: v.split(". See")[0] for k, v in gone.items()})
    except ImportError:
        pass
    for k in removed:
        known[""].discard(k)
        known.pop(k, None)
    return known, removed


def find_models():
    """block path -> pydantic model class (extra keys are forbidden there by DeepSpeed itself)."""
    import importlib

    out = {}
    for path, mod, cls in (
        ("zero_optimization", "deepspeed.runtime.zero.config", "DeepSpeedZeroConfig"),
        ("fp16", "deepspeed.runtime.precision_config", "DeepSpeedFP16Config"),
        ("bf16", "deepspeed.runtime.precision_config", "DeepSpeedBF16Config"),
        ("tensorboard", "deepspeed.monitor.config", "TensorBoardConfig"),
        ("wandb", "deepspeed.monitor.config", "WandbConfig"),
        ("csv_monitor", "deepspeed.monitor.config", "CSVConfig"),
        ("comet", "deepspeed.monitor.config", "CometConfig"),
        ("comms_logger", "deepspeed.comm.config", "CommsLoggerConfig"),
        ("compile", "deepspeed.compile.config", "CompileConfig"),
        ("compile", "deepspeed.runtime.compiler", "CompileConfig"),
        ("hybrid_engine", "deepspeed.runtime.config", "HybridEngineConfig"),
        ("timers.throughput", "deepspeed.utils.config", "DeepSpeedThroughputTimerConfig"),
        ("tensor_parallel", "deepspeed.runtime.tensor_parallel.config", "TPTrainingConfig"),
        ("nebula", "deepspeed.nebula.config", "DeepSpeedNebulaConfig"),
        ("weight_quantization", "deepspeed.inference.config", "WeightQuantConfig"),
    ):
        try:
            m = getattr(importlib.import_module(mod), cls)
        except Exception:
            continue
        if hasattr(m, "model_fields") or hasattr(m, "__fields__"):
            out[path] = m  # pydantic v2 / v1 (DeepSpeed <= 0.14)
    return out


def model_key_sets(path, model, out):
    import typing

    names = set()
    for n, f in (getattr(model, "model_fields", None) or model.__fields__).items():
        names.add(n)
        if f.alias:
            names.add(f.alias)
        ann = f.annotation if hasattr(f, "annotation") else f.outer_type_
        for a in (ann,) + typing.get_args(ann):
            if inspect.isclass(a) and (hasattr(a, "model_fields") or hasattr(a, "__fields__")):
                model_key_sets(f"{path}.{n}", a, out)
                if f.alias:
                    model_key_sets(f"{path}.{f.alias}", a, out)
    out[path] = names
    return out


def unknown_keys(cfg):
    known, removed = known_keys()
    models = {}
    for p, m in find_models().items():
        model_key_sets(p, m, models)
    tops = known[""] | {p.split(".")[0] for p in models}
    bad = []

    def walk(d, path):
        if path in OPAQUE:
            return
        keys = models.get(path, known.get(path) if path else tops)
        for k, v in d.items():
            p = f"{path}.{k}" if path else k
            if keys is not None and k not in keys:
                near = difflib.get_close_matches(k, sorted(x for x in keys if x != "_"), 2, 0.6)
                why = (
                    "rejected (extra forbidden)"
                    if path in models
                    else (
                        "removed from this DeepSpeed: rejected" if not path and k in removed else "IGNORED in silence"
                    )
                )
                bad.append(dict(key=p, effect=why, did_you_mean=near))
                continue
            if isinstance(v, dict):
                walk(v, p)

    walk(cfg, "")
    return bad


def find_auto(d, path=""):
    out = []
    for k, v in d.items():
        p = f"{path}.{k}" if path else k
        if isinstance(v, dict):
            out += find_auto(v, p)
        elif v == "auto" or (isinstance(v, list) and "auto" in v):
            out.append(p)
    legit = ("pipeline.stages", "data_types.keep_in_fp32_modules", "zenflow.", "expert_parallel.")
    return [p for p in out if not any(x in p for x in legit)]


# ---------------------------------------------------------------- engine level
def engine_findings(cfg, ds, world, pp=1):
    import torch

    out = []
    E = lambda rule, msg, level="error": out.append(dict(level=level, rule=rule, message=msg))
    z = ds.zero_config
    stage = int(z.stage)
    oo, op = z.offload_optimizer, z.offload_param
    dev = lambda c: "none" if c is None else str(getattr(c.device, "value", c.device))
    opt, prm = cfg.get("optimizer") or {}, dict((cfg.get("optimizer") or {}).get("params") or {})
    name = ds.optimizer_name
    if opt and "type" not in opt:
        E("optimizer.type", 'optimizer block without "type" is ignored in silence')
    if name is not None:
        import deepspeed.runtime.config as C

        if name not in C.DEEPSPEED_OPTIMIZERS and not hasattr(torch.optim, name):
            E("optimizer.type", f"{name} is not a supported DeepSpeed Optimizer")
        else:
            if "max_grad_norm" in prm:
                E(
                    "optimizer.max_grad_norm",
                    "'max_grad_norm' is not supported as an optimizer parameter; use gradient_clipping",
                )
            cls, skip = None, {"torch_adam", "adam_w_mode", "fp32_optimizer_states"}
            try:
                cpu = dev(oo) in ("cpu", "nvme")
                if name in ("adam", "adamw"):
                    if prm.get("torch_adam"):
                        cls = torch.optim.AdamW if name == "adamw" or prm.get("adam_w_mode", True) else torch.optim.Adam
                    elif cpu:
                        from deepspeed.ops.adam import DeepSpeedCPUAdam as cls
                    else:
                        from deepspeed.ops.adam import FusedAdam as cls
                elif name == "adagrad":
                    cls = torch.optim.Adagrad
                elif name == "lamb":
                    from deepspeed.ops.lamb import FusedLamb as cls
                elif name == "lion":
                    if cpu:
                        from deepspeed.ops.lion import DeepSpeedCPULion as cls
                    else:
                        from deepspeed.ops.lion import FusedLion as cls
                elif name not in C.DEEPSPEED_OPTIMIZERS:
                    cls = getattr(torch.optim, name)
            except ImportError:
                pass
            if cls is not None:
                sig = inspect.signature(cls.__init__).parameters
                for k in prm:
                    if k not in sig and k not in skip and k != "max_grad_norm":
                        E("optimizer.params", f"{cls.__name__} got an unexpected keyword argument '{k}'")
            if name == "onebitadam" and stage:
                E("optimizer.type", "1-bit Adam is not compatible with ZeRO")
            for k in ("lr", "weight_decay", "eps"):
                if isinstance(prm.get(k), str) and prm[k] != "auto":
                    E("optimizer.params", f"optimizer.params.{k} is a string: {prm[k]!r}")
            if (
                stage
                and cls is not None
                and name not in ("adam", "adamw", "adagrad", "lion", "muon")
                and not ds.zero_allow_untested_optimizer
            ):
                E(
                    "zero.untested_optimizer",
                    f'{cls.__name__} is untested with ZeRO: needs "zero_allow_untested_optimizer": true',
                )
            if name == "lamb" and not (
                ds.float16_config.enabled and ds.float16_config.loss_scale == 0
                if hasattr(ds, "float16_config")
                else True
            ):
                E("optimizer.lamb", "DeepSpeed lamb optimizer requires dynamic loss scaling (fp16)")
    elif dev(oo) != "none" and ds.zero_force_ds_cpu_optimizer:
        E(
            "zero.client_optimizer",
            "no optimizer block with optimizer offload: the client optimizer must be DeepSpeedCPUAdam/CPULion, else ZeRORuntimeException (or set zero_force_ds_cpu_optimizer=false)",
            "warning",
        )
    sch = cfg.get("scheduler") or {}
    if sch and "type" in sch:
        from deepspeed.runtime import lr_schedules

        cls = getattr(lr_schedules, sch["type"], None) or getattr(torch.optim.lr_scheduler, sch["type"], None)
        if cls is None:
            E("scheduler.type", f"DeepSpeed does not recognize LR scheduler {sch['type']}")
        elif inspect.isclass(cls):
            sp = {k: v for k, v in (sch.get("params") or {}).items()}
            try:
                inspect.signature(cls.__init__).bind(None, None, **sp)
            except TypeError as e:
                E("scheduler.params", f"{cls.__name__}: {e}")
            if sch["type"].startswith("Warmup") and sp.get("warmup_type", "log") not in ("log", "linear"):
                E(
                    "scheduler.warmup_type",
                    f"unknown warmup_type {sp['warmup_type']!r}: DeepSpeed falls back to log with a warning",
                    "warning",
                )
            if sch["type"].startswith("Warmup") and "warmup_type" not in sp:
                E("scheduler.warmup_type", 'default warmup_type is "log", not linear', "info")
            w, t = sp.get("warmup_num_steps", 1000), sp.get("total_num_steps")
            if isinstance(t, int) and isinstance(w, int) and w > t:
                E(
                    "scheduler.steps",
                    f"warmup_num_steps {w} > total_num_steps {t}: only a warning in DeepSpeed",
                    "warning",
                )
    elif sch:
        E("scheduler.type", 'scheduler block without "type" is ignored in silence')
    if sch and not opt:
        E("scheduler.optimizer", "a scheduler block without an optimizer block needs a client optimizer", "info")
    # ZeRO
    if dev(op) != "none" and stage != 3:
        E("zero.offload_param", f"offload_param is used by stage 3 only; at stage {stage} it does nothing", "warning")
    if dev(oo) != "none" and stage == 0:
        E(
            "zero.offload_optimizer",
            "offload_optimizer at stage 0: a CPU optimizer is built but nothing is partitioned",
            "warning",
        )
    if dev(oo) == "nvme" and stage != 3:
        E("zero.offload_nvme", "NVMe optimizer offload needs stage 3; stages 1/2 treat it as cpu", "warning")
    for c, n in ((oo, "offload_optimizer"), (op, "offload_param")):
        if dev(c) == "nvme" and not c.nvme_path:
            E("zero.nvme_path", f"{n}.device=nvme needs nvme_path")
    if getattr(z, "legacy_stage1", False) and stage == 1:
        E("zero.legacy_stage1", "the deprecated version of ZeRO Stage 1 is not supported in deepspeed >= 0.5.9")
    if (stage == 2 and z.reduce_scatter) or (stage == 3 and z.reduce_scatter):
        if ds.gradient_predivide_factor != 1.0:
            E(
                "zero.predivide",
                f"gradient_predivide_factor != 1.0 is not supported with ZeRO-{stage} and reduce_scatter",
            )
        if ds.prescale_gradients:
            E("zero.prescale", f"prescale_gradients is not supported with ZeRO-{stage} and reduce_scatter")
    if pp > 1 and stage > 1:
        E("pipeline.zero", "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism")
    if stage in (1, 2) and z.allgather_bucket_size % 2:
        E("zero.allgather_bucket_size", "allgather_bucket_size must be a multiple of 2")
    hp = getattr(z, "zero_hpz_partition_size", 1)
    if stage == 3 and hp > 1 and world % hp:
        E("zero.hpz", f"zero_hpz_partition_size {hp} does not divide the world size {world}")
    if getattr(z, "compute_grad_norm", True) is False:
        if ds.gradient_clipping and ds.gradient_clipping > 0:
            E("zero.compute_grad_norm", "compute_grad_norm=false requires gradient_clipping=0 (the default is 1.0)")
        if dev(oo) != "none":
            E("zero.compute_grad_norm", "compute_grad_norm=false does not support optimizer offload")
    f16, b16 = ds.float16_config if hasattr(ds, "float16_config") else None, getattr(ds, "bfloat16_config", None)
    if f16 is not None and f16.enabled:
        if f16.fp16_master_weights_and_grads and dev(oo) == "none":
            E("fp16.master", "fp16_master_weights_and_grads needs optimizer offload with DeepSpeedCPUAdam")
        if f16.loss_scale == 0:
            if f16.hysteresis < 1:
                E(
                    "fp16.hysteresis",
                    f"hysteresis {f16.hysteresis} < 1: the scale can never fall (ZeRO >= 1), every step is skipped; DeepSpeed does not check",
                    "danger",
                )
            if 2.0**f16.initial_scale_power < f16.min_loss_scale:
                E(
                    "fp16.min_loss_scale",
                    "initial scale is below min_loss_scale: the first overflow would RAISE the scale; DeepSpeed does not check",
                    "danger",
                )
            if f16.initial_scale_power > 24:
                E(
                    "fp16.initial_scale_power",
                    f"initial scale 2^{f16.initial_scale_power}: many first steps will be skipped",
                    "warning",
                )
            if stage == 0:
                E(
                    "fp16.stage0",
                    "fp16 at ZeRO stage 0 uses another scaler without hysteresis; in 0.19.8 the loss is not scaled there at all (measured)",
                    "danger",
                )
    if (
        b16 is not None
        and b16.enabled
        and getattr(b16, "bf16_master_weights_and_grads", False)
        and dev(oo) == "none"
        and not b16.bf16_optimizer_states
    ):
        E(
            "bf16.master",
            "bf16_master_weights_and_grads without bf16_optimizer_states needs optimizer offload with DeepSpeedCPUAdam",
        )
    ga = (cfg.get("data_types") or {}).get("grad_accum_dtype")
    if ga is not None:
        want = {
            "fp32": "fp32",
            "float32": "fp32",
            "float": "fp32",
            "fp16": "fp16",
            "float16": "fp16",
            "half": "fp16",
            "bf16": "bf16",
            "bfloat16": "bf16",
        }.get(ga)
        have = "fp16" if f16 is not None and f16.enabled else "bf16" if b16 is not None and b16.enabled else "fp32"
        if want is None:
            E("data_types.grad_accum_dtype", f"{ga!r} is not a valid DtypeEnum")
        elif stage == 0 and want != have:
            E(
                "data_types.grad_accum_dtype",
                f"stage 0: unsupported mix of model dtype {have} and grad_accum_dtype {want}",
            )
    ta = cfg.get("torch_autocast") or {}
    if ta.get("enabled") and ((f16 is not None and f16.enabled) or (b16 is not None and b16.enabled)):
        E("torch_autocast", "torch_autocast together with fp16/bf16", "warning")
    ac = cfg.get("activation_checkpointing") or {}
    if ac.get("contiguous_memory_optimization"):
        if not ac.get("partition_activations"):
            E(
                "activation_checkpointing",
                "contiguous_memory_optimization is only available with partition_activations (asserted when deepspeed.checkpointing.configure is called)",
                "warning",
            )
        if ac.get("number_checkpoints") is None:
            E(
                "activation_checkpointing",
                "contiguous_memory_optimization needs number_checkpoints (asserted when deepspeed.checkpointing.configure is called)",
                "warning",
            )
    if ac and ac.get("partition_activations"):
        E(
            "activation_checkpointing",
            "partition_activations acts only when the model calls deepspeed.checkpointing (and saves memory only with tensor parallelism); it does not turn checkpointing on",
            "info",
        )
    if ds.gradient_clipping and "gradient_clipping" not in cfg:
        E(
            "gradient_clipping",
            f"not set: this DeepSpeed clips at {ds.gradient_clipping} by default (0.0 before 0.19.3)",
            "info",
        )
    return out


def real_init(cfg, timeout=540):
    """deepspeed.initialize on 1 CPU rank, tiny model, one full accumulation window; batch size rescaled to one rank."""
    import subprocess, tempfile

    c = json.loads(json.dumps(cfg))
    if not (c.get("elasticity") or {}).get("enabled"):
        c.pop("train_batch_size", None)
        c["train_micro_batch_size_per_gpu"] = 1
        c["gradient_accumulation_steps"] = min(int(cfg.get("gradient_accumulation_steps") or 1), 2)
    for k in ("offload_optimizer", "offload_param"):
        o = c.get("zero_optimization", {}).get(k) if isinstance(c.get("zero_optimization"), dict) else None
        if isinstance(o, dict):
            o["pin_memory"] = False
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(c, f)
    code = """
import os,sys,json,socket,logging
s=socket.socket(); s.bind(("127.0.0.1",0)); p=s.getsockname()[1]; s.close()
os.environ.update(RANK="0",LOCAL_RANK="0",WORLD_SIZE="1",LOCAL_SIZE="1",MASTER_ADDR="127.0.0.1",MASTER_PORT=str(p),DS_ACCELERATOR="cpu")
import torch, deepspeed
logging.disable(logging.CRITICAL)
torch.manual_seed(0)
m=torch.nn.Sequential(torch.nn.Linear(8,16),torch.nn.GELU(),torch.nn.Linear(16,8))
cfg=json.load(open(sys.argv[1]))
kw={}
if not cfg.get("optimizer",{}).get("type"):
    oo=(cfg.get("zero_optimization") or {}).get("offload_optimizer") if isinstance(cfg.get("zero_optimization"),dict) else None
    if oo and oo.get("device") in ("cpu","nvme"):
        from deepspeed.ops.adam import DeepSpeedCPUAdam as O
    else: O=torch.optim.AdamW
    kw={"optimizer":O(m.parameters(),lr=1e-3)}
e,o,_,s=deepspeed.initialize(model=m,model_parameters=m.parameters() if not kw else None,config=cfg,**kw)
d=next(m.parameters()).dtype
for i in range(cfg["gradient_accumulation_steps"] if "gradient_accumulation_steps" in cfg else 1):
    l=e(torch.randn(1,8,dtype=d)).float().pow(2).mean(); e.backward(l); e.step()
ac=cfg.get("activation_checkpointing")
if ac:
    try: deepspeed.checkpointing.configure(None, deepspeed_config=sys.argv[1])
    except Exception as x: print("CONFIGURE_ERR", type(x).__name__+":", x, flush=True)
print("INIT_OK", type(e.optimizer).__name__, type(getattr(e,"basic_optimizer",None)).__name__, type(s).__name__, flush=True)
os._exit(0)
"""
    env = dict(
        os.environ, PATH=os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    )  # one ninja: another version rebuilds the ops
    try:
        r = subprocess.run(
            [sys.executable, "-c", code, f.name], capture_output=True, text=True, timeout=timeout, env=env
        )
    except subprocess.TimeoutExpired:
        return dict(ok=False, error="timed out")
    finally:
        os.unlink(f.name)
    ok = [l for l in r.stdout.splitlines() if l.startswith("INIT_OK")]
    if ok:
        res = dict(ok=True, made=ok[0][8:])
        bad = [l[14:] for l in r.stdout.splitlines() if l.startswith("CONFIGURE_ERR")]
        if bad:
            res["checkpointing_configure"] = bad[
                0
            ]  # raised only in scripts that call deepspeed.checkpointing.configure
        return res
    lines = [l.replace("[rank0]: ", "") for l in r.stderr.strip().splitlines() if l.strip()]
    return dict(
        ok=False,
        error=next(
            (l for l in reversed(lines) if ": " in l and not l.startswith((" ", "W", "["))),
            lines[-1] if lines else "no output",
        ),
    )


def check(path, world=1, tp=1, pp=1, sp=1, init=False):
    import hjson, deepspeed

    quiet()
    from deepspeed.runtime.config import DeepSpeedConfig
    from deepspeed.runtime.config_utils import dict_raise_error_on_duplicate_keys as dup

    res = dict(
        file=os.path.basename(path),
        deepspeed=deepspeed.__version__,
        world_size=world,
        dp_world_size=None,
        status="ok",
        error=None,
        unknown_keys=[],
        auto=[],
        findings=[],
        resolved=None,
    )
    text = open(path).read()
    try:
        json.loads(text)
    except Exception as e:
        res["findings"].append(
            dict(level="warning", rule="json", message=f"not strict JSON ({e}); DeepSpeed reads it with hjson")
        )
    try:
        cfg = hjson.loads(text, object_pairs_hook=dup)
    except Exception as e:
        res.update(status="error", layer="parse", error=f"{type(e).__name__}: {e}")
        return res
    cfg = json.loads(json.dumps(cfg))
    n = tp * pp * sp
    if world % n:
        res.update(status="error", layer="topology", error=f"world size {world} is not divisible by tp*pp*sp = {n}")
        return res
    res["dp_world_size"] = world // n
    res["unknown_keys"], res["auto"] = unknown_keys(cfg), find_auto(cfg)
    stub_world(world // n)
    try:
        ds = DeepSpeedConfig(copy.deepcopy(cfg))
    except Exception as e:
        res.update(status="error", layer="config", error=f"{type(e).__name__}: {e}")
        return res
    res["resolved"] = dict(
        train_batch_size=ds.train_batch_size,
        train_micro_batch_size_per_gpu=ds.train_micro_batch_size_per_gpu,
        gradient_accumulation_steps=ds.gradient_accumulation_steps,
        zero_stage=int(ds.zero_config.stage),
        gradient_clipping=ds.gradient_clipping,
    )
    try:
        res["findings"] += engine_findings(cfg, ds, world // n, pp)
    except Exception as e:
        res["findings"].append(dict(level="warning", rule="checker", message=f"{type(e).__name__}: {e}"))
    if any(f["level"] == "error" for f in res["findings"]):
        res.update(
            status="error", layer="engine", error=next(f["message"] for f in res["findings"] if f["level"] == "error")
        )
    if init:
        r = real_init(cfg)
        res["init"] = r
        if not r["ok"]:
            res.update(status="error", layer="init", error=r["error"])
    return res


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("config", nargs="+")
    ap.add_argument("--world-size", type=int, default=1)
    ap.add_argument("--tp", type=int, default=1)
    ap.add_argument("--pp", type=int, default=1)
    ap.add_argument("--sp", type=int, default=1)
    ap.add_argument("--init", action="store_true")
    ap.add_argument("--strict", action="store_true")
    ap.add_argument("--json", action="store_true")
    ap.add_argument("--quiet", action="store_true")
    a = ap.parse_args()
    rc, all_ = 0, []
    for c in a.config:
        r = check(c, a.world_size, a.tp, a.pp, a.sp, a.init)
        bad = r["status"] != "ok" or (
            a.strict and (r["unknown_keys"] or r["auto"] or any(f["level"] == "danger" for f in r["findings"]))
        )
        rc |= int(bool(bad))
        all_.append(r)
        if a.json:
            continue
        print(
            ("OK    " if r["status"] == "ok" else "ERROR ") + r["file"],
            f"(world {r['world_size']}, dp {r['dp_world_size']}, DeepSpeed {r['deepspeed']})",
        )
        if r["error"]:
            print("  ", f"[{r['layer']}]", r["error"].replace("\n", "\n      "))
        if a.quiet:
            continue
        for u in r["unknown_keys"]:
            print(
                "   unknown key",
                u["key"],
                "-",
                u["effect"],
                ("- did you mean " + " or ".join(u["did_you_mean"]) + "?") if u["did_you_mean"] else "",
            )
        for u in r["auto"]:
            print('   "auto" at', u, "- only the HF Trainer / Accelerate resolve it")
        for f in r["findings"]:
            print("  ", f["level"] + ":", f["rule"], "-", f["message"])
        if r["resolved"]:
            print("   resolved:", r["resolved"])
        if "init" in r:
            print("   deepspeed.initialize:", r["init"])
    if a.json:
        print(json.dumps(all_ if len(all_) > 1 else all_[0], indent=1))
    sys.exit(rc)


if __name__ == "__main__":
    main()
