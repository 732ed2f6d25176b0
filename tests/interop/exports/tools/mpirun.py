# SPDX-License-Identifier: Apache-2.0
"""Open MPI: mpirun maps the processes onto the nodes of the hostfile and says which rank lies where, without a start."""
import re
import subprocess

import shell_words

TARGETS = ["mpirun"]
MOST = 12  # it waits for two seconds each time


def what():
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    return said.splitlines()[0]


def read(path, plan):
    nodes = [f"node{i}" for i in range(plan["nodes"])]
    with open("hostfile", "w") as file:
        file.writelines(f"{node} slots={plan['gpus_per_node']}\n" for node in nodes)
    words = shell_words.after(path, "mpirun")
    if "--hostfile" not in words:
        words = ["--hostfile", "hostfile", *words]
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--do-not-launch", "--do-not-resolve", "--display-map", *words],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError((done.stdout + done.stderr).strip()[:500])
    ranks = [int(rank) for rank in re.findall(r"Process rank: (\d+)", done.stdout)]
    counts = [int(count) for count in re.findall(r"Num procs: (\d+)", done.stdout)]
    return {"ranks": (sorted(ranks), list(range(plan["world_size"]))),
            "ranks a node": (counts, [plan["gpus_per_node"]] * plan["nodes"])}
