# SPDX-License-Identifier: Apache-2.0
"""Reads checkpoints that the real PyTorch and DeepSpeed wrote (write_checkpoints.py): every tensor is that of the same
model's safetensors file, bit for bit, by core/checkpoint and by the engine.

With --fixtures FOLDER the checkpoints are those that lie there already (tests/oracles/checkpoints), and nothing but Python
is needed; without it --python writes them first.
"""
import argparse
import json
import os
import pathlib
import struct
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


def read_safetensors(path):
    """Metadata, and by name the dtype, shape and bytes of each tensor."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    first = 8 + length
    return metadata, {name: (each["dtype"], each["shape"], content[first + each["data_offsets"][0]:first + each["data_offsets"][1]])
                      for name, each in header.items()}


def compare(name, read, expected):
    problems = [f"{name}: {kind} {sorted(names)[:3]}" for kind, names in
                (("missing", expected.keys() - read.keys()), ("left over", read.keys() - expected.keys())) if names]
    return problems + [f"{name}: {key} differs" for key in expected.keys() & read.keys() if read[key] != expected[key]]


def check_reader(reader, name, path, folder, scratch):
    _, expected = read_safetensors(folder / name / "expected.safetensors")
    out = scratch / "read.safetensors"
    # What is no llama keeps its own names.
    embedding = {"views": [], "dcp-titan": []}.get(name, ["embed_tokens.weight"])
    done = subprocess.run([reader, path, out, *embedding], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{name}: {done.stderr.strip()}"]
    found, read = read_safetensors(out)
    facts = (found["kind"], found["step"], found["states"])
    problems = [] if facts == FACTS[name] else [f"{name}: {facts} was found, {FACTS[name]} is there"]
    if name == "dcp-titan":  # its names are Meta's: what they mean is the engine's to know
        return problems + ([] if len(read) == len(expected) else [f"{name}: {len(read)} tensors"])
    return problems + compare(name, read, expected)


def check_engine(writer, name, folder, scratch):
    from safetensors.torch import load_file, save_file
    done = subprocess.run([writer, "weights", folder / name, scratch / "weights.safetensors"], capture_output=True, text=True)
    if done.returncode != 0:
        return [f"{name}, engine: {done.stderr.strip()}"]
    expected = load_file(folder / name / "expected.safetensors")
    if name == "bin":  # tied: the head's copy is left out
        del expected["lm_head.weight"]
    # The plan's dtype is fp32, which widens the others exactly.
    save_file({key: tensor.float() for key, tensor in expected.items()}, scratch / "wide.safetensors")
    return compare(f"{name}, engine", read_safetensors(scratch / "weights.safetensors")[1],
                   read_safetensors(scratch / "wide.safetensors")[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--writer", help="write-checkpoints, where there is an engine")
    parser.add_argument("--python", help="interpreter with torch and deepspeed")
    parser.add_argument("--fixtures", type=pathlib.Path, help="checkpoints that are there already")
    options = parser.parse_args()
    if options.python:
        if not os.path.exists(options.python):
            sys.exit(f"{options.python} is missing: run packaging/setup --peers")
        if os.path.abspath(sys.executable) != os.path.abspath(options.python):
            os.execv(options.python, [options.python, *sys.argv])
    elif not options.fixtures:
        parser.error("--python is needed where there are no --fixtures")
    problems = []
    with tempfile.TemporaryDirectory() as made:
        scratch = pathlib.Path(made)
        folder = options.fixtures or scratch
        if not options.fixtures:
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
            import write_checkpoints
            write_checkpoints.write_all(folder)
        names = [name for name in FACTS if not options.fixtures or (folder / name).is_dir()]
        for name in names:
            path = folder / name / "checkpoint.pt" if name == "views" else folder / name
            found = check_reader(options.reader, name, path, folder, scratch)
            if options.writer and name != "views":
                found += check_engine(options.writer, name, folder, scratch)
            print(f"{name}: {'as written' if not found else 'WRONG'}")
            problems += found
    print("\n".join(problems) or f"{len(names)} checkpoints of PyTorch and DeepSpeed read as written")
    sys.exit(1 if problems or len(names) < 6 else 0)


if __name__ == "__main__":
    main()
