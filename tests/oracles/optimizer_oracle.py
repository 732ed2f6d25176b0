# SPDX-License-Identifier: Apache-2.0
"""What the optimizers of the real torch do to two small parameters.

Writes optimizer_oracle.json, which test_optimizer.cpp compares with; --check says whether the torch of --python still gives
the numbers that stand there.
"""
import argparse
import json
import math
import os
import pathlib
import sys

ORACLE = pathlib.Path(__file__).with_name("optimizer_oracle.json")
ROWS, COLUMNS, STEPS = 5, 7, 20


def numbers(count, phase):
    return [math.sin(1 + 0.37 * i + phase) * (1 + i % 3) for i in range(count)]


def trained(make, dtype="float32"):
    import torch

    def tensor(count, phase):
        return torch.tensor(numbers(count, phase)).to(getattr(torch, dtype))

    matrix = tensor(ROWS * COLUMNS, 0).reshape(ROWS, COLUMNS).requires_grad_()
    vector = tensor(COLUMNS, 2).requires_grad_()
    optimizer = make([{"params": [matrix], "weight_decay": 0.1}, {"params": [vector], "weight_decay": 0.0}])
    after = {}
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 / step
        matrix.grad = tensor(ROWS * COLUMNS, 1.3 * step).reshape(ROWS, COLUMNS)
        vector.grad = tensor(COLUMNS, 1.7 * step)
        optimizer.step()
        if step in (1, 5, STEPS):
            after[str(step)] = {"matrix": matrix.flatten().tolist(), "vector": vector.tolist()}
    return after


def values():
    import torch

    return {"adamw": trained(lambda groups: torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)),
            "adamw on bf16": trained(lambda groups: torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8,
                                                                      foreach=False), "bfloat16"),
            "fused adamw on bf16": trained(lambda groups: torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8,
                                                                            fused=True), "bfloat16"),
            "sgd": trained(lambda groups: torch.optim.SGD(groups, momentum=0.9)),
            "sgd without momentum": trained(lambda groups: torch.optim.SGD(groups)),
            "adafactor": trained(lambda groups: torch.optim.Adafactor(groups))}


def largest_difference(a, b):
    if isinstance(a, dict):
        return math.inf if a.keys() != b.keys() else max(largest_difference(a[key], b[key]) for key in a)
    return math.inf if len(a) != len(b) else max(abs(x - y) for x, y in zip(a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter with torch")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if pathlib.Path(sys.executable) != pathlib.Path(arguments.python):
        if not os.access(arguments.python, os.X_OK):
            sys.exit(f"{arguments.python} is missing: run packaging/setup --peers")
        os.execv(arguments.python, [arguments.python, *sys.argv])
    if not arguments.check:
        lines = ",\n".join(f"{json.dumps(kind)}: {json.dumps(steps)}" for kind, steps in values().items())
        ORACLE.write_text(f"{{\n{lines}\n}}\n")
        return
    difference = largest_difference(values(), json.loads(ORACLE.read_text()))
    print(f"largest difference to {ORACLE.name}: {difference:.3g}")
    sys.exit(0 if difference < 1e-6 else f"torch gives other numbers than {ORACLE}")


if __name__ == "__main__":
    main()
