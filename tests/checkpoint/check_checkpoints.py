# SPDX-License-Identifier: Apache-2.0
"""Reads checkpoints that the real PyTorch and DeepSpeed wrote (write_checkpoints.py): every tensor is that of the same
model's safetensors file, bit for bit, by core/checkpoint and by the engine."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

# Name -> kind, step, optimizer's states; empty where the kind says nothing of them.
FACTS = {
    "bin": ("torch.save", "", ""),
    "bin-sharded": ("torch.save in shards", "", ""),
    "views": ("torch.save", "7", ""),
    "no-checksums": ("torch.save", "", ""),
    "dcp": ("torch.distributed.checkpoint", "", "exp_avg exp_avg_sq"),
    "dcp-module": ("torch.distributed.checkpoint", "", ""),
    "dcp-hf": ("torch.distributed.checkpoint", "", ""),
    "dcp-titan": ("torch.distributed.checkpoint", "12", "exp_avg"),
    "dcp-columns": ("torch.distributed.checkpoint", "", ""),
    "zero-1": ("DeepSpeed ZeRO", "2", "exp_avg exp_avg_sq"),
    "zero-2-bf16": ("DeepSpeed ZeRO", "2", "exp_avg exp_avg_sq"),
    "zero-3": ("DeepSpeed ZeRO", "2", "exp_avg exp_avg_sq"),
    "universal-1": ("DeepSpeed universal", "2", "exp_avg exp_avg_sq"),
    "universal-3": ("DeepSpeed universal", "2", "exp_avg exp_avg_sq"),
}


def same_bits(a, b):
    import torch
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.contiguous().flatten().view(torch.uint8), b.contiguous().flatten().view(torch.uint8))


def compare(name, read, expected):
    problems = [f"{name}: {kind} {sorted(names)[:3]}" for kind, names in
                (("missing", expected.keys() - read.keys()), ("left over", read.keys() - expected.keys())) if names]
    return problems + [f"{name}: {key} differs" for key in expected.keys() & read.keys()
                       if not same_bits(read[key], expected[key])]


def check_reader(reader, name, path, folder):
    from safetensors import safe_open
    from safetensors.torch import load_file
    expected = load_file(folder / name / "expected.safetensors")
    out = folder / "read.safetensors"
    # What is no llama keeps its own names.
    embedding = {"views": [], "dcp-titan": []}.get(name, ["embed_tokens.weight"])
    done = subprocess.run([reader, path, out, *embedding], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{name}: {done.stderr.strip()}"]
    with safe_open(out, "pt") as file:
        found = file.metadata()
        read = {key: file.get_tensor(key) for key in file.keys()}
    facts = (found["kind"], found["step"], found["states"])
    problems = [] if facts == FACTS[name] else [f"{name}: {facts} was found, {FACTS[name]} is there"]
    if name == "dcp-titan":  # its names are Meta's: what they mean is the engine's to know
        return problems + ([] if len(read) == len(expected) else [f"{name}: {len(read)} tensors"])
    return problems + compare(name, read, expected)


def check_engine(writer, name, folder):
    from safetensors.torch import load_file
    done = subprocess.run([writer, "weights", folder / name, folder / "weights.safetensors"], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{name}, engine: {done.stderr.strip()}"]
    expected = load_file(folder / name / "expected.safetensors")
    if name == "bin":  # tied: the head's copy is left out
        del expected["lm_head.weight"]
    # The plan's dtype is fp32, which widens the others exactly.
    return compare(f"{name}, engine", load_file(folder / "weights.safetensors"), {k: v.float() for k, v in expected.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--writer", help="write-checkpoints, where there is an engine")
    parser.add_argument("--python", required=True)
    parser.add_argument("--fixtures", help="checkpoints that are there already")
    options = parser.parse_args()
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/setup --peers")
    if os.path.abspath(sys.executable) != os.path.abspath(options.python):
        os.execv(options.python, [options.python, *sys.argv])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import write_checkpoints
    problems = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(options.fixtures or made)
        if not options.fixtures:
            write_checkpoints.write_all(folder)
        for name in FACTS:
            path = folder / name / "checkpoint.pt" if name == "views" else folder / name
            found = check_reader(options.reader, name, path, folder)
            if options.writer and name != "views":
                found += check_engine(options.writer, name, folder)
            print(f"{name}: {'as written' if not found else 'WRONG'}")
            problems += found
    print("\n".join(problems) or f"{len(FACTS)} checkpoints of PyTorch and DeepSpeed read as written")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
