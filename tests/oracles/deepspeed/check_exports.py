# SPDX-License-Identifier: Apache-2.0
"""Oracles for the sibling exports; each runs the real tool's own parser, with no GPU and no launch.

  check_exports.py accelerate   FILE.yaml                      accelerate launch --config_file, up to the env it would launch with
  check_exports.py trainargs    FILE.json [--deepspeed ds.json --world-size N --steps 100]   HF TrainingArguments (+ DeepSpeed mismatch check)
  check_exports.py torchrun     FILE_WITH_COMMAND              torch.distributed.run's parser
  check_exports.py env          FILE.env                       NCCL_*/TORCH_NCCL_* names against the installed NCCL and torch
  check_exports.py sbatch       FILE.sbatch                    #SBATCH options against export_targets.json (sbatch itself if on PATH with SLURM_CONF)
  check_exports.py megatron     FILE_WITH_ARGS                 option names, choices and arity from export_targets.json (argparse rebuilt)
  check_exports.py torchtitan   FILE.toml                      sections, fields, types of torchtitan 0.2.2 from export_targets.json
Exit 0 accepted, 1 rejected. Prints OK or the real error."""

import argparse, ast, difflib, glob, json, os, re, shlex, subprocess, sys, warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
HERE = os.path.dirname(os.path.abspath(__file__))
T = lambda k: json.load(open(os.path.join(HERE, "export_targets.json")))[k]
bad = []


def fail(m):
    bad.append(m)


def near(k, ks):
    n = difflib.get_close_matches(k, ks, 1, 0.6)
    return f" (did you mean {n[0]}?)" if n else ""


def accelerate(f, a):
    import yaml
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands import launch as L

    try:
        load_config_from_file(f)
    except Exception as e:
        return fail(f"{type(e).__name__}: {e}")
    t, y = T("accelerate"), yaml.safe_load(open(f))
    for sec in ("deepspeed_config", "fsdp_config", "parallelism_config", "megatron_lm_config"):
        ks = [x["key"] for x in t[sec]]
        for k in y.get(sec) or {}:
            kk = k if sec != "fsdp_config" or k.startswith("fsdp") else "fsdp_" + k
            if kk not in ks:
                fail(f"{sec}.{k}: accelerate ignores this key in silence" + near(kk, ks))
    args = L.launch_command_parser().parse_args(["--config_file", f, "train.py"])
    args.nondefault = []  # nothing was given on the command line: the file's values count
    try:
        from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

        args, d, _ = L._validate_launch_command(args)
        args.deepspeed_fields_from_accelerate_config = ",".join(d.deepspeed_config) if args.use_deepspeed and d else ""
        if args.use_deepspeed:
            cmd, env = prepare_deepspeed_cmd_env(args)
        else:
            env = prepare_multi_gpu_env(args)
            cmd = []
    except SystemExit:
        return fail("argparse rejected the launch arguments")
    except Exception as e:
        return fail(f"{type(e).__name__}: {e}")
    show = {k: v for k, v in env.items() if k.startswith(("ACCELERATE_", "FSDP_", "MEGATRON_", "PARALLELISM_"))}
    print("   launch environment:", json.dumps(show, sort_keys=True))
    if y.get("distributed_type") == "DEEPSPEED":
        os.environ.update({k: str(v) for k, v in show.items()})
        try:
            from accelerate.utils import DeepSpeedPlugin

            p = DeepSpeedPlugin()
            print(
                "   DeepSpeed config that accelerate builds:",
                json.dumps({k: v for k, v in p.deepspeed_config.items()}, default=str),
            )
        except Exception as e:
            fail(f"DeepSpeedPlugin: {type(e).__name__}: {e}")


def trainargs(f, a):
    from transformers import HfArgumentParser, TrainingArguments

    try:
        (ta,) = HfArgumentParser(TrainingArguments).parse_dict(
            {**json.load(open(f)), "use_cpu": True, "report_to": "none"}, allow_extra_keys=False
        )
    except Exception as e:
        return fail(f"{type(e).__name__}: {e}")
    if a.deepspeed:
        from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

        try:
            type(ta).world_size = property(lambda self: a.world_size)
            c = HfTrainerDeepSpeedConfig(a.deepspeed)
            c.trainer_config_process(ta)

            class M:
                config = type("C", (), dict(hidden_size=a.hidden_size))()

            c.trainer_config_finalize(ta, M, a.steps)
            print("   resolved DeepSpeed config:", json.dumps(c.config))
            if a.write:
                json.dump(c.config, open(a.write, "w"), indent=1)
        except Exception as e:
            fail(f"{type(e).__name__}: {e}")


def torchrun(f, a):
    from torch.distributed.run import get_args_parser, config_from_args

    w = shlex.split(open(f).read().replace("\\\n", " "), comments=True)
    if w and os.path.basename(w[0]) == "torchrun":
        w = w[1:]
    elif w[:3] == ["python", "-m", "torch.distributed.run"]:
        w = w[3:]
    else:
        return fail("does not start with torchrun")
    try:
        n = get_args_parser().parse_args(w)
        c, cmd, _ = config_from_args(n)
        print(
            "   nodes %s..%s, nproc %s, rdzv %s %s, max_restarts %s"
            % (c.min_nodes, c.max_nodes, c.nproc_per_node, c.rdzv_backend, c.rdzv_endpoint, c.max_restarts)
        )
    except SystemExit:
        fail("torchrun: unknown or bad arguments")
    except Exception as e:
        fail(f"{type(e).__name__}: {e}")


def env(f, a):
    ks = set(T("nccl_env")["nccl"]) | set(T("nccl_env")["torch"])
    for i, l in enumerate(open(f), 1):
        m = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)=", l)
        if not m:
            l.strip() and not l.lstrip().startswith("#") and fail(f"line {i}: not NAME=VALUE")
            continue
        k = m.group(1)
        if k.startswith(("NCCL_", "TORCH_NCCL_")) and k not in ks:
            fail(f"line {i}: {k} is not read by the installed NCCL / torch" + near(k, ks))
        if k in T("nccl_env")["torch_deprecated"]:
            fail(f"line {i}: {k} is deprecated, use TORCH_{k}")


def sbatch(f, a):
    t = T("sbatch")["options"]
    body = False
    for i, l in enumerate(open(f), 1):
        if i == 1 and not l.startswith("#!"):
            fail("line 1: sbatch needs a #! line")
        if l.startswith("#SBATCH"):
            if body:
                fail(f"line {i}: #SBATCH after the first command is ignored by sbatch")
            for w in shlex.split(l[7:], comments=True):
                if w.startswith("--"):
                    o = w.split("=")[0]
                    c = [x for x in t if x.startswith(o)]
                    if o not in t and len(c) != 1:
                        fail(f"line {i}: unrecognized option {o}" + near(o, t))
        elif l.strip() and not l.startswith("#"):
            body = True
    import shutil

    if shutil.which("sbatch") and os.environ.get("SLURM_CONF"):
        r = subprocess.run(["sbatch", "--test-only", f], capture_output=True, text=True)
        if r.returncode == 255:
            fail("sbatch: " + r.stderr.strip())
        else:
            print("   sbatch --test-only:", r.stderr.strip())


def megatron(f, a):
    p = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    ty = {"int": int, "float": float, "str": str}
    for o in T("megatron_lm")["options"]:
        k = dict(dest=o["option"].lstrip("-").replace("-", "_"))
        if o.get("flag"):
            k["action"] = "store_true"
        else:
            if o.get("type") in ty:
                k["type"] = ty[o["type"]]
            if o.get("choices"):
                k["choices"] = o["choices"]
                k.pop("type", None)
            if o.get("nargs"):
                k["nargs"] = o["nargs"]
        p.add_argument(o["option"], *o.get("also", []), **k)
    w = [x for x in shlex.split(open(f).read().replace("\\\n", " "), comments=True)]
    w = w[next((i for i, x in enumerate(w) if x.endswith(".py")), -1) + 1 :]
    try:
        _, rest = p.parse_known_args(w)
    except Exception as e:
        return fail(str(e))
    ks = [o["option"] for o in T("megatron_lm")["options"]]
    for r in rest:
        fail(f"unrecognized argument {r}" + near(r, ks))


def torchtitan(f, a):
    import tomllib

    S = T("torchtitan_toml")["sections"]
    ty = {"int": int, "float": (int, float), "bool": bool, "str": str}

    def walk(d, path):
        fs = {x["field"]: x for x in S.get(path, [])}
        for k, v in d.items():
            q = f"{path}.{k}" if path else k
            if isinstance(v, dict):
                if q not in S and not any(s.startswith(q + ".") for s in S):
                    fail(f"[{q}]: no such section" + near(q, S))
                else:
                    walk(v, q)
            elif k not in fs:
                fail(f"{q}: no such field" + near(k, fs))
            else:
                t = fs[k]["type"]
                lit = re.match(r"Literal\[(.*)\]", t)
                base = t.split(" | ")[0]
                if lit and v not in ast.literal_eval(f"({lit.group(1)},)"):
                    fail(f"{q}: {v!r} not in {lit.group(1)}")
                elif (
                    base in ty
                    and not (isinstance(v, ty[base]) and not (base != "bool" and isinstance(v, bool)))
                    and not ("float" in t and isinstance(v, (int, float)))
                ):
                    fail(f"{q}: {v!r} is not {t}")

    try:
        walk(tomllib.load(open(f, "rb")), "")
    except Exception as e:
        fail(f"{type(e).__name__}: {e}")


ap = argparse.ArgumentParser()
ap.add_argument("kind")
ap.add_argument("file")
ap.add_argument("--deepspeed")
ap.add_argument("--world-size", type=int, default=1)
ap.add_argument("--steps", type=int, default=100)
ap.add_argument("--hidden-size", type=int, default=1024)
ap.add_argument("--write", help='trainargs: write the DeepSpeed config with "auto" filled in')
a = ap.parse_args()
globals()[a.kind](a.file, a)
print("ERROR" if bad else "OK", a.kind, os.path.basename(a.file))
[print("  ", b) for b in bad]
sys.exit(bool(bad))
