# SPDX-License-Identifier: Apache-2.0
"""Slurm: sbatch and srun themselves read the options, with a configuration whose controller is not there.

A wrong option ends them before they look for the controller; a right one ends in the search for it.
"""
import os
import shutil
import subprocess

import shell_words

TARGETS = ["sbatch", "srun"]
CONFIGURATION = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=1
AuthType=auth/none
CredType=cred/none
GresTypes=gpu
MessageTimeout=1
SlurmctldTimeout=1
TCPTimeout=1
NodeName=localhost CPUs=1 State=CLOUD
PartitionName=all Nodes=ALL Default=YES
"""
UNREACHABLE = ("Unable to contact slurm controller", "Unable to allocate resources", "Batch job submission failed",
               "Zero Bytes were transmitted", "allocation failure")


def what():
    if not shutil.which("sbatch"):
        raise SystemExit("sbatch is missing: apt-get install slurm-client")
    return subprocess.run(["sbatch", "--version"], capture_output=True, text=True, env=environment()).stdout.strip()


def environment():
    with open("slurm.conf", "w") as file:
        file.write(CONFIGURATION)
    return dict(os.environ, SLURM_CONF=os.path.abspath("slurm.conf"))


def read(path, plan):
    command = ["sbatch", "--test-only", path]
    if plan["target"] == "srun":
        command = ["srun", "--immediate=1", *shell_words.after(path, "srun")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    said = done.stderr.strip()
    reached = any(words in said for words in UNREACHABLE)
    text = open(path).read()
    return {"verdict": ("read" if reached else said, "read"), "nodes": (f"--nodes={plan['nodes']}" in text, True)}
