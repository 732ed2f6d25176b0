# SPDX-License-Identifier: Apache-2.0
"""Writes resources/deepspeed-schema.json, the facts that `plimsoll lint` judges by.

    make_schema.py [--output FILE] [--check]

From schema.json and schema_versions.json of tests/oracles/deepspeed (made by running DeepSpeed's own classes of four
releases), releases.json (read_releases.py: every release between them), meanings.txt (a line a key) and the arguments of
torch's optimizers and schedulers. --check: exit code 1 where the file that is there is not what comes out.
"""
import argparse
import inspect
import json
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESOURCE = os.path.join(ROOT, "resources", "deepspeed-schema.json")
RECORDED = os.path.join(ROOT, "tests", "oracles", "deepspeed")

# schema_versions.json has them as new in 0.18.9, since they were read under other names before: they are as old as fp16.
ALWAYS = {"fp16.consecutive_hysteresis", "fp16.hysteresis", "fp16.loss_scale_window", "fp16.min_loss_scale"}
# Boundaries that were read from the release sources (schema_versions.json, "boundaries").
SINCE = {"sequence_parallel_size": "0.15.0", "data_parallel_size": "0.15.0", "weight_quantization.num_bits": "0.10.3",
         "weight_quantization.q_type": "0.10.3", "weight_quantization.q_groups": "0.10.3",
         "tensor_parallel.autotp_size": "0.16.4", "bf16.check_grad_overflow": "0.17.1",
         "expert_parallel.autoep_size": "0.19.3", "expert_parallel.enabled": "0.19.3",
         "expert_parallel.preset_model": "0.19.3"}
MOVED = {"gradient_clipping": ("0.19.3", 0.0), "bf16.check_grad_overflow": ("0.19.3", False),
         "zero_optimization.offload_param.pin_memory": ("0.19.5", False),
         "zero_optimization.offload_optimizer.pin_memory": ("0.19.5", False)}
TYPES = {"integer (read only when zero_optimization is a boolean)": "integer",
         "object (old name of bf16, read only when bf16 is absent)": "object",
         "object (required when enabled)": "object", "integer (required when enabled)": "integer",
         "runtime-object": "any", "dtype": "string", "array<string>": "array", "array<string>|null": "array|null",
         "string|array<string>": "string|array"}
BOUNDS = (("ge", "min"), ("le", "max"), ("gt", "above"), ("lt", "below"))
# lr_schedules.py of the releases; the others are older than 0.9.0.
SCHEDULERS_SINCE = {"WarmupCosineLR": "0.12.3"}
STRICT = {"zero_optimization": None, "fp16": "0.17.1", "bf16": "0.17.1", "tensorboard": None, "wandb": None,
          "csv_monitor": None, "comet": None, "comms_logger": None, "compile": None, "hybrid_engine": None,
          "tensor_parallel": None, "timers.throughput": None, "weight_quantization": None}
REMOVED_AT = {"nebula": "0.19.7", "compression_training": "0.19.7", "quantize_training": "0.19.7",
              "sparse_attention": "0.19.7", "zero_optimization.mics_shard_size": "0.19.7",
              "zero_optimization.mics_hierarchical_params_gather": "0.19.7"}
TAKE_OUT = "take the block out"
CURES = {
    "amp": "use fp16, bf16 or torch_autocast", "sparse_attention": TAKE_OUT, "eigenvalue": TAKE_OUT, "nebula": TAKE_OUT,
    "curriculum_learning": "use data_efficiency.data_sampling.curriculum_learning", "progressive_layer_drop": TAKE_OUT,
    "quantize_training": TAKE_OUT, "compression_training": "take the block out; the model trains without quantization",
    "elasticity": "write train_batch_size, train_micro_batch_size_per_gpu and gradient_accumulation_steps for each "
                  "number of GPUs and let torchrun --nnodes=MIN:MAX restart the job",
    "sparse_gradients": "take it out; an embedding made with sparse=True needs no key",
    "graph_harvesting": "take it out",
    "zero_optimization.mics_shard_size": "take it out; zero_hpz_partition_size comes nearest",
    "zero_optimization.mics_hierarchical_params_gather": "take it out",
    "zero_optimization.zeropp_loco_param": "take it out",
}
RENAMED = [
    {"key": "aio.thread_count", "until": "0.16.4", "now": "aio.intra_op_parallelism"},
    {"key": "seq_parallel_comm_data_type", "since": "0.11.2", "until": "0.16.5",
     "now": "seq_parallel_communication_data_type"},
]
WHAT = ("Keys of DeepSpeed's configuration file, facts of deepspeed 0.9.0 to 0.19.8: type, default, bounds and the "
        "release that brought, moved or dropped each. \"since\" with \"absent\": there in the one release, not yet in the "
        "other; the releases between say nothing of it.")


def load(*path):
    with open(os.path.join(*path)) as file:
        return json.load(file)


def order(version):
    return [int(part) for part in version.split(".")]


class Releases:
    """What releases.json says within an interval that the two ends are known of."""

    def __init__(self, facts):
        self.keys = facts["keys"]

    def states(self, key, after, until):
        """(release, default) of each change after the one release up to the other."""
        return [(release, state) for release, state in self.keys.get(key, [])
                if order(after) < order(release) <= order(until)]

    def came(self, key, absent, since):
        """The release that brought the key; None where releases.json does not agree that it came in between."""
        changes = self.states(key, absent, since)
        return changes[0][0] if changes and changes[0][1] != "absent" and self.before(key, absent) == "absent" else None

    def came_early(self, key):
        """The release up to 0.14.4 that brought the key; None where 0.9.0 had it."""
        states = self.states(key, "0.0.0", "0.14.4")
        return states[1][0] if len(states) > 1 and states[0][1] == "absent" else None

    def before(self, key, release):
        states = [state for version, state in self.keys.get(key, []) if order(version) <= order(release)]
        return states[-1] if states else None

    def moved(self, key, after, at, old, new):
        """The release that moved the default from old to new."""
        changes = self.states(key, after, at)
        agree = len(changes) == 1 and changes[0][1] == new and self.before(key, after) == old
        return changes[0][0] if agree else None


def steps_of(versions):
    """By key: where it came, and each move of its default, as intervals between releases that were looked at."""
    came, gone, moved = {}, set(), {}
    for step in versions["steps"]:
        for key in step["added"]:
            if key not in ALWAYS:
                came[key] = (step["from"], step["to"])
        gone.update(step["removed"])
        for change in step["default_changed"]:
            moved.setdefault(change["key"], []).append((step["from"], step["to"], change["from"], change["to"]))
    return came, gone, moved


def key_facts(entry, meaning, came, moved, releases):
    key = entry["key"]
    facts = {"key": key, "type": TYPES.get(entry["type"], entry["type"]), "default": entry["default"], "meaning": meaning}
    for theirs, ours in BOUNDS:
        if theirs in entry:
            facts[ours] = entry[theirs]
    if "allowed" in entry:
        facts["allowed"] = entry["allowed"]
    if "alias_of" in entry:
        facts["also"] = entry["alias_of"]
    if entry.get("deprecated"):
        facts["replaced_by"] = entry["replaced_by"]
    if key in SINCE:
        facts["since"] = SINCE[key]
    elif key in came:
        exact = releases.came(key, *came[key])
        facts.update({"since": exact} if exact else {"absent": came[key][0], "since": came[key][1]})
    elif early := releases.came_early(key):
        facts["since"] = early
    if key in MOVED:
        facts["moved"] = [{"at": MOVED[key][0], "before": MOVED[key][1]}]
    elif key in moved:
        after, at, old, _ = moved[key][0]
        came_then = releases.came(key, after, at) if old is None else None
        if came_then:  # it was not there before, rather than null
            facts["since"] = came_then
        else:
            facts["moved"] = [move_facts(key, move, releases) for move in moved[key]]
    if key == "zero_optimization.reduce_bucket_size":
        facts.update({"bounds_absent": "0.18.9", "bounds_since": "0.19.8"})
    return facts


def move_facts(key, move, releases):
    after, at, old, new = move
    exact = releases.moved(key, after, at, old, new)
    return {"at": exact, "before": old} if exact else {"after": after, "at": at, "before": old}


def removed_facts(versions, gone, releases):
    in_blocks = ["zero_optimization.mics_shard_size", "zero_optimization.mics_hierarchical_params_gather",
                 "zero_optimization.zeropp_loco_param"]
    for key in [*versions["removed_in_0.19.8"], *in_blocks]:
        facts = {"key": key, "until": REMOVED_AT.get(key, "0.19.8"), "cure": CURES[key]}
        names = sorted({name.split(".")[1] for name in gone if name.startswith(f"{key}.")})
        if names:
            facts["keys"] = names
        if key.startswith("zero_optimization.mics_"):
            facts["since"] = "0.9.2"
        if key == "zero_optimization.zeropp_loco_param":
            facts.update({"absent": "0.14.4", "since": "0.16.9"})
        yield facts


def optimizer_arguments(schema):
    import torch
    arguments = {name.split(" (")[0]: [each["name"] for each in listed]
                 for name, listed in schema["optimizers"]["arguments"].items()}
    for name in sorted(dir(torch.optim)):
        found = getattr(torch.optim, name)
        if inspect.isclass(found) and issubclass(found, torch.optim.Optimizer) and name != "Optimizer":
            arguments.setdefault(f"torch.optim.{name}", list(inspect.signature(found.__init__).parameters)[2:])
    return arguments


def scheduler_arguments(schema):
    from torch.optim import lr_scheduler
    schedulers = {name: {"required": [each["name"] for each in listed if each["required"]],
                         "optional": [each["name"] for each in listed if not each["required"]]}
                  for name, listed in schema["schedulers"]["arguments"].items()}
    for name in sorted(dir(lr_scheduler)):
        found = getattr(lr_scheduler, name)
        if not inspect.isclass(found) or not issubclass(found, lr_scheduler.LRScheduler):
            continue
        if name in ("LRScheduler", "_LRScheduler") or name in schedulers:
            continue
        parameters = list(inspect.signature(found.__init__).parameters.values())[2:]
        schedulers[name] = {
            "required": [p.name for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD],
            "optional": [p.name for p in parameters if p.default is not p.empty]}
    for name, since in SCHEDULERS_SINCE.items():
        schedulers[name]["since"] = since
    return schedulers


def schema_text():
    schema, versions = load(RECORDED, "schema.json"), load(RECORDED, "schema_versions.json")
    releases = Releases(load(HERE, "releases.json"))
    with open(os.path.join(HERE, "meanings.txt")) as file:
        meanings = dict(line.rstrip("\n").split("|", 1) for line in file)
    unlike = set(meanings) ^ {entry["key"] for entry in schema["entries"]}
    if unlike:
        sys.exit(f"meanings.txt and schema.json differ in {', '.join(sorted(unlike))}: write a line for each key")
    came, gone, moved = steps_of(versions)
    document = {
        "what": WHAT, "release": schema["deepspeed"], "strict": STRICT,
        "keys": [key_facts(entry, meanings[entry["key"]], came, moved, releases) for entry in schema["entries"]],
        "removed": list(removed_facts(versions, gone, releases)), "renamed": RENAMED,
        "optimizers": optimizer_arguments(schema), "schedulers": scheduler_arguments(schema)}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {block_text(value)}" for key, value in document.items()) + "\n}\n"


def block_text(value):
    """JSON with an entry a line."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in value.items()) + "\n }"
    return json.dumps(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=RESOURCE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    text = schema_text()
    if not options.check:
        with open(f"{options.output}.new", "w") as file:
            file.write(text)
        os.replace(f"{options.output}.new", options.output)
        return
    with open(options.output) as file:
        there = file.read()
    if there != text:
        lines = [one for one in zip(there.splitlines(), text.splitlines()) if one[0] != one[1]]
        sys.exit(f"{options.output} is not what make_schema.py writes; first difference: {lines[0] if lines else 'length'}")
    print(f"{options.output} is what make_schema.py writes: {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
