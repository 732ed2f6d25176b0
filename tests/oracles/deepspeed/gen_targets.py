# SPDX-License-Identifier: Apache-2.0
"""Field names, types, defaults and choices of the sibling export targets, from the installed tools.
python gen_targets.py OUT.json [--torchtitan-toml DIR_OF_0.2.x] [--torchtitan DIR_OF_0.3.x] [--megatron DIR_OF_Megatron-LM] [--sbatch-help FILE]
"""

import argparse, ast, dataclasses, json, os, re, sys, typing, warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
ap = argparse.ArgumentParser()
ap.add_argument("out")
ap.add_argument("--torchtitan-toml")
ap.add_argument("--torchtitan")
ap.add_argument("--megatron")
ap.add_argument("--sbatch-help")
a = ap.parse_args()
res = {}


def options(parser):
    out = []
    for x in parser._actions:
        if not x.option_strings or x.dest == "help":
            continue
        d = x.default
        d = d if isinstance(d, (int, float, str, bool, type(None), list)) else str(d)
        e = dict(option=max(x.option_strings, key=lambda s: (s.startswith("--"), len(s))), default=d)
        if len(x.option_strings) > 1:
            e["also"] = [s for s in x.option_strings if s != e["option"]]
        if x.type:
            e["type"] = getattr(x.type, "__name__", str(x.type))
        if x.choices:
            e["choices"] = [str(c) for c in x.choices]
        if x.nargs == 0:
            e["flag"] = True
        elif x.nargs:
            e["nargs"] = x.nargs
        out.append(e)
    return out


def flat(f):
    d = (
        f.default
        if f.default is not dataclasses.MISSING
        else (f.default_factory() if f.default_factory is not dataclasses.MISSING else None)
    )
    if hasattr(d, "value"):
        d = d.value
    if not isinstance(d, (int, float, str, bool, type(None), list, dict)):
        d = str(d)
    return dict(field=f.name, type=str(f.type).replace("typing.", ""), default=d)


# --- accelerate
import accelerate
from accelerate.commands.config.config_args import ClusterConfig
from accelerate.commands.launch import launch_command_parser

P = {o["option"].lstrip("-"): o for o in options(launch_command_parser()) if o["option"].startswith("--")}
res["accelerate"] = dict(
    version=accelerate.__version__,
    top_level=[flat(f) for f in dataclasses.fields(ClusterConfig)],
    top_level_rule="an unknown top-level key is rejected (ValueError) by load_config_from_file",
    distributed_type=["NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM", "XLA", "TP"],
    deepspeed_config=[
        dict(key=k, default=P[k]["default"], choices=P[k].get("choices"))
        for k in (
            "deepspeed_config_file",
            "zero_stage",
            "offload_optimizer_device",
            "offload_param_device",
            "offload_optimizer_nvme_path",
            "offload_param_nvme_path",
            "gradient_accumulation_steps",
            "gradient_clipping",
            "zero3_init_flag",
            "zero3_save_16bit_model",
            "deepspeed_hostfile",
            "deepspeed_exclusion_filter",
            "deepspeed_inclusion_filter",
            "deepspeed_multinode_launcher",
            "deepspeed_moe_layer_cls_names",
        )
        if k in P
    ],
    fsdp_config=[
        dict(key=k, default=v["default"], choices=v.get("choices")) for k, v in P.items() if k.startswith("fsdp_")
    ],
    parallelism_config=[
        dict(key=k, default=v["default"], choices=v.get("choices"))
        for k, v in P.items()
        if k.startswith("parallelism_config_")
    ],
    megatron_lm_config=[
        dict(key=k, default=v["default"], choices=v.get("choices"))
        for k, v in P.items()
        if k.startswith("megatron_lm_")
    ],
    launch_options=[
        o for k, o in P.items() if not k.startswith(("fsdp_", "megatron_lm_", "parallelism_config_", "tpu"))
    ],
)
from accelerate.utils import dataclasses as AD

for n in (
    "DistributedType",
    "FSDP_SHARDING_STRATEGY",
    "FSDP_AUTO_WRAP_POLICY",
    "FSDP_BACKWARD_PREFETCH",
    "FSDP_STATE_DICT_TYPE",
    "FSDP2_STATE_DICT_TYPE",
    "DEEPSPEED_MULTINODE_LAUNCHERS",
):
    from accelerate.utils import constants as AC

    v = getattr(AC, n, None)
    if v is not None:
        res["accelerate"].setdefault("constants", {})[n] = list(v)
res["accelerate"]["distributed_type"] = [x.value if isinstance(x.value, str) else x.name for x in AD.DistributedType]
# --- transformers TrainingArguments
import transformers
from transformers import TrainingArguments

res["transformers_training_arguments"] = dict(
    version=transformers.__version__, fields=[flat(f) for f in dataclasses.fields(TrainingArguments)]
)
# --- torchrun
import torch
from torch.distributed.run import get_args_parser

res["torchrun"] = dict(version=torch.__version__, options=options(get_args_parser()))
# --- NCCL and torch environment names: the strings inside the installed libnccl and torch's ProcessGroupNCCL header
import glob

so = [p for d in sys.path for p in glob.glob(os.path.join(d, "nvidia/nccl/lib/libnccl.so.2"))]
if so:
    noise = {
        "NCCL_ALL",
        "NCCL_ALLOC",
        "NCCL_BOOTSTRAP",
        "NCCL_CALL",
        "NCCL_COLL",
        "NCCL_ENV",
        "NCCL_GRAPH",
        "NCCL_INIT",
        "NCCL_LOG_ABORT",
        "NCCL_LOG_INFO",
        "NCCL_LOG_NONE",
        "NCCL_LOG_TRACE",
        "NCCL_LOG_VERSION",
        "NCCL_LOG_WARN",
        "NCCL_P2P",
        "NCCL_PROFILE",
        "NCCL_PROXY",
        "NCCL_REG",
        "NCCL_SHM",
        "NCCL_TUNING",
        "NCCL_IPC_COLLECTIVE",
        "NCCL_IPC_SENDRECV",
        "NCCL_IB_SL_DEFAULT",
        "NCCL_IB_TC_DEFAULT",
    }
    names = {m.decode() for m in re.findall(rb"\0(NCCL_[A-Z0-9_]+)\0", open(so[0], "rb").read())} | {
        m.decode() for m in re.findall(rb"(?<=\0)(NCCL_[A-Z0-9_]+)(?=\0)", open(so[0], "rb").read())
    }
    h = open(
        os.path.join(os.path.dirname(torch.__file__), "include/torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp")
    ).read()
    tn = set(re.findall(r'"((?:TORCH_)?NCCL_[A-Z_]+)"', h))
    res["nccl_env"] = dict(
        version="libnccl 2.28.9 / torch " + torch.__version__,
        nccl=sorted(names - noise - tn),
        torch=sorted(tn | {"TORCH_NCCL_USE_COMM_NONBLOCKING", "TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING"}),
        torch_deprecated=[
            "NCCL_ASYNC_ERROR_HANDLING",
            "NCCL_BLOCKING_WAIT",
            "NCCL_DESYNC_DEBUG",
            "NCCL_ENABLE_TIMING",
            "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
        ],
        note="names found as strings in the library; a name is not proof that it acts in every build",
    )


# --- torchtitan
def classes(path):
    out = {}

    def walk(n, pre=""):
        for c in n.body:
            if isinstance(c, ast.ClassDef):
                fs = [
                    dict(
                        field=f.target.id,
                        type=ast.unparse(f.annotation),
                        default=ast.unparse(f.value) if f.value else None,
                    )
                    for f in c.body
                    if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)
                ]
                if fs:
                    out[pre + c.name] = fs
                walk(c, pre + c.name + ".")

    walk(ast.parse(open(path).read()))
    return out


if a.torchtitan_toml:
    C = classes(os.path.join(a.torchtitan_toml, "torchtitan/config/job_config.py"))
    secs = {}

    def sec(prefix, cls):
        for f in C.get(cls, []):
            sub = re.match(r"field\(default_factory=(\w+)\)$", f["default"] or "")
            if sub and sub.group(1) in C:
                sec(f"{prefix}.{f['field']}" if prefix else f["field"], sub.group(1))
            else:
                secs.setdefault(prefix, []).append(f)

    sec("", "JobConfig")
    res["torchtitan_toml"] = dict(
        version="0.2.2", format="TOML: one table per section, --job.config_file FILE", sections=secs
    )
if a.torchtitan:
    root = os.path.join(a.torchtitan, "torchtitan")
    allc = {}
    for d, _, fs in os.walk(root):
        if any(x in d for x in ("/models/", "/experiments", "/tests")):
            continue
        for f in fs:
            if f.endswith(".py"):
                for k, v in classes(os.path.join(d, f)).items():
                    if k.endswith("Config"):
                        allc[f"{os.path.relpath(os.path.join(d, f), root)}:{k}"] = v
    res["torchtitan_cli"] = dict(
        version="0.3.0",
        format="no TOML any more: a Python config function named by --module M --config F, overridden by --section.field VALUE (tyro)",
        classes=allc,
    )
# --- Megatron-LM
if a.megatron:
    if not hasattr(typing, "override"):
        import typing_extensions

        typing.override = typing_extensions.override
    sys.path.insert(0, a.megatron)
    from megatron.training.arguments import add_megatron_arguments

    res["megatron_lm"] = dict(
        version="main 2026-08",
        options=options(add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))),
        note="allow_abbrev=False: unknown or shortened options are errors",
    )
if a.sbatch_help:
    t = open(a.sbatch_help).read()
    res["sbatch"] = dict(
        version="slurm 22.05",
        options=sorted(set(re.findall(r"--[a-z][a-z0-9-]+", t)) - {"--help", "--usage", "--version"}),
        note="getopt: unambiguous prefixes are accepted; an unknown option or bad value exits 255",
    )
json.dump(res, open(a.out, "w"), indent=0)
print({k: (v.get("version"), sum(len(x) if isinstance(x, list) else 0 for x in v.values())) for k, v in res.items()})
