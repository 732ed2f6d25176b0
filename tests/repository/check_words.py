#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The field's own terms: no text of the window, no --help and no page of the docs says one of the phrases below.

Hugging Face, PyTorch, DeepSpeed and Megatron-LM name these things; their users read those names every day.

    check_words.py [--self-test]
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What is never said, and what to say in its place.
BANNED = {
    "in 95 of 100": "95 % range",
    "why, and what would": "How to make it fit, How to reduce memory",
    "a click takes the model": "Click to switch the model",
    "a plan that fits this model": "Suggest a complete plan",
    "0: by heads": "0 = auto",
    "longest sequence": "Max position embeddings",
    "norms stand": "Norm placement",
    "norms on q and k": "QK-norm",
    "biases on q, k, v": "QKV bias",
    "rotary base": "RoPE theta",
    "initial deviation": "Init std",
    "fresh weights by the seed": "random initialization",
    "experts a token": "Experts per token (top-k)",
    "gpus a node": "GPUs per node",
    "rounds otherwise": "changes numerics",
    "0: catalogue": "0 = default",
    "link between nodes": "Inter-node bandwidth",
    "gb/s both ways": "bidirectional",
    "chunks a rank": "Virtual stages per rank",
    "recompute one in": "Checkpoint every n layers",
    "loss in pieces": "Loss chunks",
    "computing again": "Recomputation",
    "tensor-parallel links": "TP communication",
    "data-parallel links": "DP communication",
    "waiting for launches": "Kernel-launch overhead",
    "ranks alike": "identical ranks",
    "follow a list": "Load a schedule file",
    "one forward of an average rank takes": "time unit = one average forward",
    "activations alive": "Live activations",
    "as it ran": "Measured",
    "compare with no run": "Choose a run",
    "bubble a rank": "Bubble per rank",
    "the plan's own times": "Use estimated stage times",
    "memory against time": "Memory vs step time",
    "the front joined": "Pareto front connected",
    "what would give way": "Relax a constraint",
    "what binds": "Limiting constraint",
    "rules people follow": "Common advice",
    "what people are told": "Common advice",
    "price a gpu-hour": "Price per GPU-hour",
    "memory through the step": "Memory over one step",
    "what stands at the peak": "Live tensors at the peak",
    "gradients travel in": "Gradient reduce dtype",
    "clean steps to double": "Scale window",
    "overflows to halve": "Hysteresis",
    "rate is for tokens": "Reference batch (tokens)",
    "adapted matrices": "Target modules",
    "scale by the root of the rank": "rsLoRA",
    "tail to zero": "Anneal to zero at the end",
    "steps an epoch": "Steps per epoch",
    "sequences an epoch": "Sequences per epoch",
    "left at step": "before resume (to step …)",
    "goes on without the window": "keeps running in the background",
    "processes of their own": "separate processes",
    "export to deepspeed": "Export the plan: there are 15 targets",
    "theme of the desktop": "System theme",
    "for this card": "for this GPU",
    "open the logs": "Show the log",
    "1 ranks": "1 rank",
    "1 gpus": "1 GPU",
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Texts of these folders are read by people; names of tests and comments are not.
FOLDERS = ("ui/", "app/", "core/planner/", "core/remedies/", "docs/", "README.md", "python/plimsoll/")
SKIPPED = ("docs/plan.md", "docs/plan.schema.json")  # generated from the core's help lines


def texts_of(path, text):
    """(line number, words) of what a person reads in the file."""
    if path.endswith((".md", ".py")):
        return list(enumerate(text.splitlines(), 1))
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#include")):
            continue
        words = " ".join(LITERAL.findall(line.split(" // ")[0]))
        if words:
            found.append((number, words))
    return found


def problems_of(path, text):
    found = []
    for number, words in texts_of(path, text):
        lower = words.lower()
        for phrase, instead in BANNED.items():
            if re.search(r"(?<![\w,.%])" + re.escape(phrase) + r"(?!\w)", lower):
                found.append(f'{path}:{number}: "{phrase}" is not the field\'s term; say: {instead}')
    return found


def self_test():
    assert problems_of("ui/a.cpp", 'new Card(tr("As it ran"), this);')
    assert problems_of("docs/a.md", "The planner shows the memory against time.")
    assert problems_of("ui/a.cpp", 'label->setText(tr("1 ranks"));')
    assert not problems_of("ui/a.cpp", "// what binds the search")
    assert not problems_of("ui/a.cpp", 'tr("1,001 ranks")')
    assert not problems_of("ui/a.cpp", 'tr("%1 ranks")')
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    files = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    files = [f for f in files if f.endswith((".cpp", ".h", ".md", ".py")) and f not in SKIPPED]
    found = [problem for file in files for problem in problems_of(file, (ROOT / file).read_text(encoding="utf-8"))]
    print("\n".join(found) if found else f"{len(files)} files say none of {len(BANNED)} phrases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
