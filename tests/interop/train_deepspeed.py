# SPDX-License-Identifier: Apache-2.0
"""The real DeepSpeed trains from what Plimsoll exports, and its losses are the engine's.

--writer (train-tiny) exports plans and trains them with Plimsoll's engine; run_tiny.py then trains the same model from
the same weights on the same data under the real DeepSpeed on two CPU ranks. DeepSpeed compiles operators the first time
(minutes each, kept in ~/.cache/torch_extensions); --torch-adam takes PyTorch's AdamW in place of the compiled one.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

TOLERANCE = {"fp32": 1e-5, "fp16": 2e-4, "bf16": 1e-2}


def compiled():
    """Whether PyTorch's cache of extensions has the operator that every CPU run of DeepSpeed loads."""
    folder = os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    return bool(glob.glob(os.path.join(folder, "**", "deepspeed_shm_comm.so"), recursive=True))


def train(arguments, config, out):
    environment = dict(os.environ, DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1")
    command = [arguments.python, arguments.run_tiny, "--config", config, "--ranks", "2", "--steps", "20", "--out", out,
               "--timeout", "900"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{config}: run_tiny.py ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--writer", "--run-tiny", "--python"):
        parser.add_argument(name, required=True)
    parser.add_argument("--torch-adam", action="store_true")
    parser.add_argument("--if-compiled", action="store_true",
                        help="exit code 77 where DeepSpeed would have to compile its shared-memory operator first")
    parser.add_argument("names", nargs="*", help="cases; none: all")
    arguments = parser.parse_args()
    if arguments.if_compiled and not compiled():
        print("DeepSpeed's shared-memory operator is not compiled here: configure with -DPLIMSOLL_DEEPSPEED_TRAINING=ON")
        sys.exit(77)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.writer, folder, *arguments.names], check=True, stdout=subprocess.DEVNULL)
        names = sorted(name[: -len(".engine.json")] for name in os.listdir(folder) if name.endswith(".engine.json"))
        if not names or (arguments.names and len(names) != len(arguments.names)):
            sys.exit(f"asked for {arguments.names}, found {names}")
        for name in names:
            config, out = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".deepspeed.json")
            if arguments.torch_adam:
                with open(config) as file:
                    changed = json.load(file)
                changed["optimizer"]["params"]["torch_adam"] = True
                with open(config, "w") as file:
                    json.dump(changed, file)
            train(arguments, config, out)
            with open(out) as file:
                theirs = [step["loss"] for step in json.load(file)["steps"]]
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
    sys.exit(f"failed: {', '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
