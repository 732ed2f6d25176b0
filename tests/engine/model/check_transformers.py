# SPDX-License-Identifier: Apache-2.0
"""The real transformers reads our checkpoints, the real safetensors our files, and ours theirs.

Each checkpoint that --writer makes is loaded with AutoModelForCausalLM.from_pretrained; no weight may be missing or left
over, and the logits must be the ones that our engine computed.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"


def check_checkpoint(folder):
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    probe = load_file(folder / "probe.safetensors")
    model, info = AutoModelForCausalLM.from_pretrained(
        folder / "step-00000000", attn_implementation="eager", output_loading_info=True)
    problems = [f"{kind}: {info[kind]}" for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[kind]]
    # transformers 5 keeps the file's dtype, 4 loads in fp32.
    model = model.to(probe["logits"].dtype).eval()
    with torch.no_grad():
        logits = model(probe["tokens"]).logits
    difference = (logits.double() - probe["logits"].double()).abs().max().item()
    scale = probe["logits"].double().abs().max().item()
    limit = 1e-5 if logits.dtype == torch.float32 else 0.05
    if not difference <= limit * scale:
        problems.append(f"logits differ by {difference:.3g} of {scale:.3g}")
    print(f"{folder.name}: {type(model).__name__}, {sum(p.numel() for p in model.parameters())} parameters, "
          f"logits differ by {difference:.2g} of {scale:.3g}")
    return [f"{folder.name}: {problem}" for problem in problems]


def check_safetensors(writer, folder):
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    def every(dtype):
        return torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype)

    tensors = {"bf16": every(torch.bfloat16), "fp16": every(torch.float16), "fp32": torch.randn(3, 4, 5),
               "fp64": torch.randn(7, dtype=torch.float64), "int64": torch.tensor([-2**63, 2**63 - 1]),
               "uint8": torch.arange(256, dtype=torch.uint8), "bool": torch.tensor([True, False]),
               "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3), "f8": every(torch.float8_e4m3fn),
               "ünicode": torch.ones(1, dtype=torch.int32), "complex": torch.randn(4, dtype=torch.complex64)}
    theirs, ours = folder / "theirs.safetensors", folder / "ours.safetensors"
    save_file(tensors, theirs, metadata={"format": "pt", "note": "é"})
    subprocess.run([writer, "copy", theirs, ours], check=True)
    problems = []
    back = load_file(ours)
    for name, tensor in tensors.items():
        same = (name in back and back[name].dtype == tensor.dtype and back[name].shape == tensor.shape
                and back[name].flatten().view(torch.uint8).equal(tensor.flatten().view(torch.uint8)))
        if not same:
            problems.append(f"safetensors: {name} came back changed")
    with safe_open(ours, "pt") as file:
        if file.metadata() != {"format": "pt", "note": "é"}:
            problems.append(f"safetensors: metadata came back as {file.metadata()}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", required=True, help="the write-checkpoints program")
    parser.add_argument("--python", required=True, help="interpreter with torch, transformers and safetensors")
    arguments = parser.parse_args()
    if pathlib.Path(sys.executable) != pathlib.Path(arguments.python):
        if not os.access(arguments.python, os.X_OK):
            sys.exit(f"{arguments.python} is missing: run packaging/deps-deepspeed")
        os.execv(arguments.python, [arguments.python, *sys.argv])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.writer, folder], check=True)
        checkpoints = sorted(path for path in folder.iterdir() if path.is_dir())
        problems = [problem for path in checkpoints for problem in check_checkpoint(path)]
        problems += check_safetensors(arguments.writer, folder)
    if len(checkpoints) < 5:
        problems.append(f"{arguments.writer} wrote {len(checkpoints)} checkpoints only")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
