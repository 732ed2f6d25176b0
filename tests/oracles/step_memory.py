# SPDX-License-Identifier: Apache-2.0
"""What the optimizers' steps of the real torch, transformers and DeepSpeed allocate at their peak.

Writes step_memory.json, which test_estimate compares with; --check says whether the programs of --python still give the
values that stand there. Allocations are those that torch's profiler records on the CPU.

  torch      bytes a step of four tensors takes besides gradients and states, by optimizer, loop and weight decay
  deepspeed  bytes a number of a rank's shard that engine.step() takes beyond what is live after backward, two ranks
"""
import argparse
import json
import os
import pathlib
import socket
import sys

ORACLE = pathlib.Path(__file__).with_name("step_memory.json")
SIZES = [1 << 18, 1 << 17, 1 << 19, 1 << 19]
RANKS, LAYERS = 2, 8


MARK = 12347  # bytes of the tensor that stands before and after the step in the list of allocations


def mark():
    import torch

    torch.empty(MARK, dtype=torch.uint8)


def peak_of_last_step(train):
    """Of `train`, which puts marks around its last step: the step's peak over what was live before it. All is recorded
    from the start, since torch's profiler leaves out the end of blocks whose start it has not seen."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        kept = train()
    del kept
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    live, history, marks = 0, [], []
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.nbytes() == MARK:
            marks.append(len(history))
        live += event.nbytes()
        history.append(live)
    first, last = marks[-2:]
    return max(history[first + 1:last]) - history[first + 1]


def optimizer_of(kind, loop, decay, parameters):
    import torch
    from transformers.optimization import Adafactor

    loops = {"foreach": loop == "foreach", "fused": loop == "fused"}
    if kind == "adamw":
        return torch.optim.AdamW(parameters, weight_decay=decay, **loops)
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=decay, **loops)
    return Adafactor(parameters, lr=1e-3, scale_parameter=False, relative_step=False, weight_decay=decay)


def torch_steps():
    import torch

    rows = []
    for kind, loops in {"adamw": ["fused", "foreach", "single"], "sgd": ["fused", "foreach", "single"],
                        "adafactor": ["single"]}.items():
        for loop in loops:
            for decay in (0.1, 0.0):
                for sizes in (SIZES, SIZES[-1:]):
                    def train():
                        parameters = [torch.nn.Parameter(torch.ones(size)) for size in sizes]
                        optimizer = optimizer_of(kind, loop, decay, parameters)
                        for _ in range(2):  # the first step makes the states
                            for parameter in parameters:
                                parameter.grad = torch.full_like(parameter, 0.1)
                            mark()
                            optimizer.step()
                            mark()
                        return optimizer

                    peak = peak_of_last_step(train)
                    rows.append({"kind": kind, "loop": loop, "weight_decay": decay, "sizes": sizes, "bytes": peak})
    return rows


def deepspeed_rank(rank, port, case, answers):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_SIZE=str(RANKS),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), DS_ACCELERATOR="cpu")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    import deepspeed

    def train():
        model = torch.nn.Sequential(*[torch.nn.Linear(256, 256, bias=False) for _ in range(LAYERS)])
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
            "train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0, "bf16": {"enabled": True},
            "data_types": {"grad_accum_dtype": case["gradients"]}, "communication_data_type": case["gradients"],
            "optimizer": {"type": "AdamW", "params": {"torch_adam": True, "foreach": case["loop"] == "foreach"}},
            "zero_optimization": {"stage": case["stage"], "contiguous_gradients": True, "overlap_comm": False,
                                  "reduce_bucket_size": 200000, "allgather_bucket_size": 200000}})
        for _ in range(3):  # the first steps make the states
            engine.backward(engine(torch.ones(4, 256, dtype=torch.bfloat16)).float().pow(2).mean())
            mark()
            engine.step()
            mark()
        return engine

    peak = peak_of_last_step(train)
    if rank == 0:
        answers.put(peak / (LAYERS * 256 * 256 // RANKS))
    torch.distributed.barrier()


def deepspeed_steps():
    import torch

    spawn = torch.multiprocessing.get_context("spawn")
    rows = []
    for stage in (1, 2, 3):
        for gradients in ("bf16", "fp32"):
            for loop in ("foreach", "single"):
                case = {"stage": stage, "gradients": gradients, "loop": loop}
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                answers = spawn.Queue()
                ranks = [spawn.Process(target=deepspeed_rank, args=(rank, port, case, answers)) for rank in range(RANKS)]
                for each in ranks:
                    each.start()
                rows.append({**case, "bytes_a_number": round(answers.get(timeout=180), 2)})
                for each in ranks:
                    each.join()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter with torch, transformers and deepspeed")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if pathlib.Path(sys.executable) != pathlib.Path(arguments.python):
        if not os.access(arguments.python, os.X_OK):
            sys.exit(f"{arguments.python} is missing: run packaging/setup --peers")
        os.environ["PATH"] = os.path.dirname(arguments.python) + os.pathsep + os.environ.get("PATH", "")
        os.execv(arguments.python, [arguments.python, *sys.argv])
    values = {"torch": torch_steps(), "deepspeed": deepspeed_steps()}
    if not arguments.check:
        lines = [f'"{part}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for part, rows in values.items()]
        ORACLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    before = json.loads(ORACLE.read_text())
    for part, key, least in (("torch", "bytes", 4096), ("deepspeed", "bytes_a_number", 0.1)):
        for now, then in zip(values[part], before[part], strict=True):
            if abs(now[key] - then[key]) > least:
                sys.exit(f"{part}: {now} where {ORACLE.name} has {then[key]}")


if __name__ == "__main__":
    main()
