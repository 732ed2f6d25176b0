# SPDX-License-Identifier: Apache-2.0
"""The real DeepSpeed reads what Plimsoll exports.

Writes many exports with --writer, 500 of them of plans at random, has the checker (DeepSpeed's own DeepSpeedConfig and the checks of its engine) accept
each one strictly, and compares what DeepSpeed read with what the plan says: batch sizes, ZeRO stage, precision, offload,
clipping, optimizer, and the learning rate that DeepSpeed's scheduler gives at each update. Exports to other tools go
through check_exports.py.
"""
import argparse
import contextlib
import functools
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile

os.environ["DS_ACCELERATOR"] = "cpu"
FLOAT_NOISE = 1e-9


def load_checker(path):
    """check_config.py as a module. What it learns about DeepSpeed's keys is learnt once, not for each file."""
    spec = importlib.util.spec_from_file_location("check_config", path)
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    checker.known_keys = functools.cache(checker.known_keys)
    checker.find_models = functools.cache(checker.find_models)
    return checker


def is_refused(report):
    """As check_config.py --strict decides it."""
    danger = any(finding["level"] == "danger" for finding in report["findings"])
    return report["status"] != "ok" or bool(report["unknown_keys"] or report["auto"]) or danger


def verdict_problems(report):
    if report["status"] != "ok":
        yield f"refused: {report['error']}"
    for unknown in report["unknown_keys"]:
        yield f"unknown key {unknown['key']}"
    for path in report["auto"]:
        yield f'"auto" at {path}'
    for finding in report["findings"]:
        if finding["level"] in ("error", "danger", "warning"):
            yield f"{finding['level']}: {finding['rule']}: {finding['message']}"


def read_by_deepspeed(path, dp):
    """DeepSpeed's own view of a file, in the words of cases.json."""
    import deepspeed.runtime.config as config
    config.dist.get_rank = lambda group=None: 0
    config.dist.get_world_size = lambda group=None: dp
    read = config.DeepSpeedConfig(path)
    zero = read.zero_config
    device = lambda block: "none" if block is None else str(getattr(block.device, "value", block.device))
    dtype = "fp16" if read.float16_config.enabled else "bf16" if read.bfloat16_config.enabled else "fp32"
    return dict(dtype=dtype, gradient_dtype=read.grad_accum_dtype, zero_stage=int(zero.stage),
                train_batch_size=read.train_batch_size,
                train_micro_batch_size_per_gpu=read.train_micro_batch_size_per_gpu,
                gradient_accumulation_steps=read.gradient_accumulation_steps,
                gradient_clipping=read.gradient_clipping, loss_scale=read.float16_config.loss_scale,
                offload_optimizer=device(zero.offload_optimizer), offload_param=device(zero.offload_param),
                optimizer=optimizer_of(read))


def optimizer_of(read):
    if read.optimizer_name is None:
        return None
    shown = {"name": read.optimizer_name, "lr": read.optimizer_params["lr"]}
    return {**shown, **{key: read.optimizer_params[key] for key in ("betas", "momentum") if key in read.optimizer_params}}


def rates_of_deepspeed(path, peak, updates):
    """The learning rate of each update, from DeepSpeed's own scheduler, on an optimizer made with the plan's peak rate."""
    import torch
    from deepspeed.runtime import lr_schedules
    file = json.load(open(path))
    peak = file["optimizer"]["params"]["lr"] if "optimizer" in file else peak
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    scheduler = getattr(lr_schedules, file["scheduler"]["type"])(optimizer, **file["scheduler"]["params"])
    rates = []
    for _ in range(updates):
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    return rates


def rate_problem(case, rates):
    """DeepSpeed trails the plan by up to three updates: its rate lies within those of the plan's last four updates.

    Its first three updates may be lower; WarmupDecayLR starts at the plan's floor, where that is higher.
    """
    planned = case["learning_rates"]
    if case["rates"] == "any":
        return None
    if case["rates"] == "equal":
        for update, (rate, plan) in enumerate(zip(rates, planned)):
            if abs(rate - plan) > FLOAT_NOISE * plan:
                return f"update {update} runs at {rate}, the plan says {plan}"
        return None
    for update, rate in enumerate(rates):
        window = planned[max(0, update - 3):update + 1]
        lowest = 0 if update < 3 else min(window)
        highest = max(*window, case["linear_floor"])
        if not lowest * (1 - FLOAT_NOISE) <= rate <= highest * (1 + FLOAT_NOISE):
            return f"update {update} runs at {rate}, the plan's last four rates are {window}"
    if max(rates) < case["peak"] * 0.9:
        return f"the rate only rises to {max(rates)}, the peak is {case['peak']}"
    return None


def problems_of(case, report, folder):
    problems = list(verdict_problems(report))
    resolved = report["resolved"] or {}
    path = os.path.join(folder, case["file"])
    read = read_by_deepspeed(path, case["world_size"] // (case["tp"] * case["pp"] * case["sp"]))
    for key, value in read.items():
        if value != case[key]:
            problems.append(f"{key}: DeepSpeed reads {value!r}, the plan says {case[key]!r}")
        if key in resolved and resolved[key] != case[key]:
            problems.append(f"{key}: the checker resolves {resolved[key]!r}, the plan says {case[key]!r}")
    updates = 0 if case["rates"] == "any" else len(case["learning_rates"])
    wrong_rate = rate_problem(case, rates_of_deepspeed(path, case["peak"], updates))
    return problems + ([wrong_rate] if wrong_rate else [])


def load_exports_checker(path):
    """The functions of check_exports.py, which is a script: what stands before it reads its command line."""
    source = open(path).read().split("\nap = argparse")[0]
    names = {"__file__": path, "__name__": "check_exports"}
    exec(compile(source, path, "exec"), names)
    return names


def quietly(check, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        check(*arguments)
    return shown.getvalue()


def other_problems(exports, other, path):
    """What the real tool's parser, or its recorded names, say of a file; and whether the numbers are the plan's."""
    exports["bad"].clear()
    before = dict(os.environ)
    try:
        quietly(exports[other["check"]], path, argparse.Namespace(deepspeed=None))
    finally:
        os.environ.clear()
        os.environ.update(before)
    yield from exports["bad"]
    yield from wrong_facts(other, open(path).read())


def wrong_facts(other, text):
    if other["check"] == "accelerate":
        import yaml
        read = yaml.safe_load(text)
        facts = dict(num_processes=other["world_size"], num_machines=other["nodes"],
                     mixed_precision="no" if other["dtype"] == "fp32" else other["dtype"])
        if other["target"] == "accelerate":
            read.update(read["deepspeed_config"])
            facts.update(zero_stage=other["zero_stage"], gradient_accumulation_steps=other["accumulation"],
                         gradient_clipping=other["clip"])
    elif other["check"] == "trainargs":
        read = json.loads(text)
        facts = dict(per_device_train_batch_size=other["micro_batch"], max_steps=other["steps"],
                     gradient_accumulation_steps=other["accumulation"], max_grad_norm=other["clip"],
                     learning_rate=other["learning_rate"], bf16=other["dtype"] == "bf16", fp16=other["dtype"] == "fp16")
    else:
        return
    for key, value in facts.items():
        if read.get(key) != value:
            yield f"{key} is {read.get(key)!r}, the plan says {value!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("writer", "checker", "python"):
        parser.add_argument(f"--{option}", required=True)
    options = parser.parse_args()
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/setup --peers")
    if os.path.abspath(sys.executable) != os.path.abspath(options.python):
        os.execv(options.python, [options.python, *sys.argv])
    try:
        import deepspeed
    except ImportError as error:
        sys.exit(f"DeepSpeed cannot be imported ({error}): run packaging/setup --peers")
    import logging
    logging.disable(logging.CRITICAL)
    from deepspeed.utils import logger
    logger.disabled = True

    checker = load_checker(options.checker)
    exports = load_exports_checker(os.path.join(os.path.dirname(options.checker), "check_exports.py"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True)
        cases = json.load(open(os.path.join(folder, "cases.json")))
        others = json.load(open(os.path.join(folder, "others.json")))
        failures, refused = 0, False
        for case in cases:
            path = os.path.join(folder, case["file"])
            report = checker.check(path, case["world_size"], case["tp"], case["pp"], case["sp"])
            refused |= is_refused(report)
            for problem in problems_of(case, report, folder):
                print(f"{case['file']}: {problem}")
                failures += 1
        checked = [other for other in others if other["check"]]
        for other in checked:
            for problem in other_problems(exports, other, os.path.join(folder, other["file"])):
                print(f"{other['file']}: {problem}")
                failures += 1
    print(f"DeepSpeed {deepspeed.__version__}: {len(cases)} exports, {len(checked)} to other tools, {failures} problems")
    sys.exit(1 if failures or refused or len(cases) < 540 or len(checked) < 300 else 0)


if __name__ == "__main__":
    main()
