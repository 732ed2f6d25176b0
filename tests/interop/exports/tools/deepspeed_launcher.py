# SPDX-License-Identifier: Apache-2.0
"""The deepspeed launcher: its own parser reads the line, and its rules say which nodes and slots that starts."""
import deepspeed
from deepspeed.launcher import runner

import shell_words

TARGETS = ["deepspeed-launcher"]


def what():
    return f"DeepSpeed {deepspeed.__version__}"


def read(path, plan):
    arguments = runner.parse_args(shell_words.after(path, "deepspeed"))
    if plan["nodes"] > 1:
        with open(arguments.hostfile, "w") as file:
            file.writelines(f"node{i} slots={plan['gpus_per_node']}\n" for i in range(plan["nodes"]))
        pool = runner.fetch_hostfile(arguments.hostfile)
    else:
        pool = {"localhost": plan["gpus_per_node"]}
    active = runner.parse_inclusion_exclusion(pool, arguments.include, arguments.exclude)
    nodes = list(active.items())[:arguments.num_nodes] if arguments.num_nodes > 0 else list(active.items())
    return {
        "ranks": (sum(len(slots[:arguments.num_gpus]) for _, slots in nodes), plan["world_size"]),
        "script": (arguments.user_script, "train.py"),
        "arguments": (arguments.user_args, ["--deepspeed", "--deepspeed_config", "ds.json"]),
    }
