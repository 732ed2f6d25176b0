# SPDX-License-Identifier: Apache-2.0
"""torchrun: its own parser reads each line, and one line is started for real, with a script that says which rank it is."""
import os
import subprocess
import sys

import torch
from torch.distributed.run import config_from_args, get_args_parser

import shell_words

TARGETS = ["torchrun"]
SCRIPT = "import os\nopen('rank-' + os.environ['RANK'], 'w').write(os.environ['WORLD_SIZE'])\n"
started = []


def what():
    return f"torch {torch.__version__}, {len(started)} of its lines started"


def start(words, ranks):
    """The ranks that ran, and how many each was told there are."""
    os.makedirs("torchrun", exist_ok=True)
    with open("torchrun/train.py", "w") as file:
        file.write(SCRIPT)
    subprocess.run([sys.executable, "-m", "torch.distributed.run", *words], cwd="torchrun", check=True, timeout=120,
                   capture_output=True, env=dict(os.environ, PYTHONPATH="", OMP_NUM_THREADS="1"))
    return {i: open(f"torchrun/rank-{i}").read() for i in range(ranks) if os.path.exists(f"torchrun/rank-{i}")}


def read(path, plan):
    words = shell_words.after(path, "torchrun")
    config, _, _ = config_from_args(get_args_parser().parse_args(words))
    read = {"nodes": ((config.min_nodes, config.max_nodes), (plan["nodes"], plan["nodes"])),
            "ranks a node": (config.nproc_per_node, plan["gpus_per_node"])}
    if not started and plan["nodes"] == 1 and 2 <= plan["world_size"] <= 4:
        started.append(path)
        ranks = plan["world_size"]
        read["ranks that ran"] = (start(words, ranks), {i: str(ranks) for i in range(ranks)})
    return read
