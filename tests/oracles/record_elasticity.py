# SPDX-License-Identifier: Apache-2.0
"""Records what DeepSpeed's elasticity 0.2 gives, for elastic_batch_test.cpp.

    record_elasticity.py DEEPSPEED_SOURCE > elasticity_0.2.json

DEEPSPEED_SOURCE is an unpacked source archive of a release before 0.19.8, which dropped elasticity. Only its
elasticity folder is loaded, so nothing of it has to be installed but numpy and packaging.
"""
import json
import logging
import os
import random
import sys
import types


def load(source):
    for name in ("deepspeed", "deepspeed.elasticity"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(source, *name.split("."))]
        sys.modules[name] = package
    for name, values in (("utils", {"logger": logging.getLogger("deepspeed")}), ("git_version_info", {"version": "0.18.0"})):
        module = types.ModuleType(f"deepspeed.{name}")
        module.__dict__.update(values)
        sys.modules[module.__name__] = module
    from deepspeed.elasticity.elasticity import compute_elastic_config
    return compute_elastic_config


def settings(pick):
    micro_batches = pick([[2, 4, 6], [1, 2, 4, 8], [3], [8, 12, 16], [5, 7], [4, 4, 2], [64]])
    low = pick([1, 1, 4, 8, 30])
    return {"enabled": True, "max_train_batch_size": pick([64, 100, 500, 1024, 2000, 9973]),
            "micro_batch_sizes": micro_batches, "min_gpus": low, "max_gpus": pick([low, 2 * low, 64, 256, 10000]),
            "version": 0.2, "prefer_larger_batch": pick([True, False]),
            "num_gpus_per_node": pick([1, 2, 4, 6, 8, 10]), "model_parallel_size": pick([1, 1, 1, 2, 4])}


def verdict(compute, elasticity, ranks):
    try:
        batch, gpus, micro = compute({"elasticity": elasticity}, "0.18.0", world_size=ranks)
    except Exception:
        return {}
    return {"batch": int(batch), "gpus": [int(each) for each in gpus], "micro_batch": int(micro)}


def main():
    compute = load(sys.argv[1])
    logging.disable(logging.CRITICAL)
    random.seed(20261130)
    cases = []
    while len(cases) < 400:
        elasticity = settings(random.choice)
        if elasticity["max_gpus"] < elasticity["min_gpus"]:
            continue
        ranks = random.choice([1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 100])
        found = verdict(compute, elasticity, ranks)
        if len(found.get("gpus", [])) > 24:
            found["gpus"] = found["gpus"][:24]
        cases.append({"elasticity": elasticity, "ranks": ranks, **found})
    print("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]")


if __name__ == "__main__":
    main()
