# SPDX-License-Identifier: Apache-2.0
"""The real DeepSpeed reads what Plimsoll exports.

Writes many exports with --writer, has the checker (DeepSpeed's own DeepSpeedConfig and the checks of its engine) accept
each one strictly, and compares what DeepSpeed read with what the plan says: batch sizes, ZeRO stage, precision, offload,
clipping, and the learning rate that DeepSpeed's scheduler gives at each update.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict

os.environ["DS_ACCELERATOR"] = "cpu"
FLOAT_NOISE = 1e-9


def strict_reports(checker, folder, cases):
    """File -> report of check_config.py --strict; one call for all files of the same topology."""
    groups = defaultdict(list)
    for case in cases:
        groups[case["world_size"], case["tp"], case["pp"], case["sp"]].append(case["file"])
    reports, refused = {}, False
    for (world, tp, pp, sp), files in groups.items():
        command = [sys.executable, checker, *files, "--world-size", world, "--tp", tp, "--pp", pp, "--sp", sp]
        run = subprocess.run([*map(str, command), "--strict", "--json"], cwd=folder, capture_output=True, text=True)
        if not run.stdout.strip():
            sys.exit(f"{checker} gave no report:\n{run.stderr}")
        answer = json.loads(run.stdout)
        reports.update({report["file"]: report for report in (answer if isinstance(answer, list) else [answer])})
        refused |= run.returncode != 0
    return reports, refused


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
                offload_optimizer=device(zero.offload_optimizer), offload_param=device(zero.offload_param))


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
    wrong_rate = rate_problem(case, rates_of_deepspeed(path, case["peak"], len(case["learning_rates"])))
    return problems + ([wrong_rate] if wrong_rate else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("writer", "checker", "python"):
        parser.add_argument(f"--{option}", required=True)
    options = parser.parse_args()
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/deps-deepspeed, or configure with -DPLIMSOLL_DEEPSPEED_TESTS=OFF")
    if os.path.abspath(sys.executable) != os.path.abspath(options.python):
        os.execv(options.python, [options.python, *sys.argv])
    try:
        import deepspeed
    except ImportError as error:
        sys.exit(f"DeepSpeed cannot be imported ({error}): run packaging/deps-deepspeed")
    import logging
    logging.disable(logging.CRITICAL)
    from deepspeed.utils import logger
    logger.disabled = True

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True)
        cases = json.load(open(os.path.join(folder, "cases.json")))
        reports, refused = strict_reports(options.checker, folder, cases)
        failures = 0
        for case in cases:
            for problem in problems_of(case, reports[case["file"]], folder):
                print(f"{case['file']}: {problem}")
                failures += 1
    print(f"DeepSpeed {deepspeed.__version__}: {len(cases)} exports, {failures} problems")
    sys.exit(1 if failures or refused or len(cases) < 40 else 0)


if __name__ == "__main__":
    main()
