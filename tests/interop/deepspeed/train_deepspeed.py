# SPDX-License-Identifier: Apache-2.0
"""The real DeepSpeed trains from what Plimsoll exports, and its losses are the engine's.

--writer (train-tiny) exports plans and trains them with Plimsoll's engine; run_tiny.py then trains the same model from
the same weights on the same data under the real DeepSpeed on two CPU ranks. DeepSpeed compiles operators the first time,
which are kept in --extensions: about a minute for the shared-memory collectives that every run loads, minutes for each of
its own Adams; --torch-adam takes PyTorch's AdamW in their place.

DeepSpeed refuses fp16 on processors that cannot compute in it. Which precisions it takes here is asked first; those that
it refuses are left out, with a sentence for each.

--recorded FILE compares with losses of DeepSpeed that lie there (tests/oracles/deepspeed/tiny_losses.json), and needs no
DeepSpeed; --record FILE writes them there.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

TOLERANCE = {"fp32": 1e-5, "fp16": 2e-4, "bf16": 1e-2}
EVERYWHERE = {"fp32", "bf16"}
NAMES = {"torch.float32": "fp32", "torch.bfloat16": "bf16", "torch.float16": "fp16"}


def precisions(python):
    """Those that DeepSpeed says it can train in on this machine."""
    ask = "from deepspeed.accelerator import get_accelerator as chosen; print(*chosen().supported_dtypes())"
    done = subprocess.run([python, "-c", ask], env=dict(os.environ, DS_ACCELERATOR="cpu"), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"DeepSpeed does not say which precisions it supports:\n{done.stderr[-2000:]}")
    found = {NAMES[word] for word in done.stdout.split() if word in NAMES}
    if not EVERYWHERE <= found:
        sys.exit(f"DeepSpeed says that it supports {found}; fp32 and bf16 are expected of every machine")
    return found


def train(arguments, config, out):
    # Another ninja than last time's compiles everything again: the one beside Python comes first.
    path = os.pathsep.join([os.path.dirname(os.path.abspath(arguments.python)), os.environ["PATH"]])
    environment = dict(os.environ, DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", PATH=path,
                       TORCH_EXTENSIONS_DIR=os.path.abspath(arguments.extensions))
    command = [arguments.python, arguments.run_tiny, "--config", config, "--ranks", "2", "--steps", "20", "--out", out,
               "--timeout", "900"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{config}: run_tiny.py ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def trained(arguments, folder, name):
    """Losses of the case under the real DeepSpeed."""
    config, out = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".deepspeed.json")
    if arguments.torch_adam:
        with open(config) as file:
            changed = json.load(file)
        changed["optimizer"]["params"]["torch_adam"] = True
        with open(config, "w") as file:
            json.dump(changed, file)
    train(arguments, config, out)
    with open(out) as file:
        return [step["loss"] for step in json.load(file)["steps"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    for name in ("--run-tiny", "--python", "--extensions", "--recorded", "--record"):
        parser.add_argument(name)
    parser.add_argument("--torch-adam", action="store_true")
    parser.add_argument("names", nargs="*", help="cases; none: all")
    arguments = parser.parse_args()
    recorded, losses = None, {}
    if arguments.recorded:
        with open(arguments.recorded) as file:
            recorded = json.load(file)["losses"]
    elif not (arguments.run_tiny and arguments.python and arguments.extensions):
        parser.error("--run-tiny, --python and --extensions are needed where there are no --recorded losses")
    supported = set(TOLERANCE) if recorded else precisions(arguments.python)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.writer, folder, *arguments.names], check=True, stdout=subprocess.DEVNULL)
        names = sorted(name[: -len(".engine.json")] for name in os.listdir(folder) if name.endswith(".engine.json"))
        if not names or (arguments.names and len(names) != len(arguments.names)):
            sys.exit(f"asked for {arguments.names}, found {names}")
        for name in names:
            if name.split("-")[0] not in supported:
                print(f"{name}: left out, since DeepSpeed cannot train in {name.split('-')[0]} on this processor", flush=True)
                continue
            theirs = losses[name] = recorded[name] if recorded else trained(arguments, folder, name)
            with open(os.path.join(folder, name + ".engine.json")) as file:
                ours = [step["loss"] for step in json.load(file)["steps"]]
            worst = max(abs(a - b) for a, b in zip(theirs, ours))
            tolerance = TOLERANCE[name.split("-")[0]]
            falls = ours[-1] < ours[0] - 0.1
            ok = len(ours) == len(theirs) == 20 and worst <= tolerance and falls
            print(f"{name}: largest difference {worst:.2g} (allowed {tolerance:g}), loss {ours[0]:.4f} -> {ours[-1]:.4f}"
                  + ("" if ok else "  FAILED"), flush=True)
            if not ok:
                failures.append(name)
    if arguments.record and not failures:
        with open(arguments.record, "w") as file:
            note = "losses of each of 20 steps under the real DeepSpeed 0.19.8, torch's AdamW (train_deepspeed.py --record)"
            rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in losses.items())
            file.write(f'{{\n "note": {json.dumps(note)},\n "losses": {{\n{rows}\n }}\n}}\n')
    sys.exit(f"failed: {', '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
