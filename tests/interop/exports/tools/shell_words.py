# SPDX-License-Identifier: Apache-2.0
"""A command line as the shell would hand it over."""
import os
import shlex

ENVIRONMENT = {"MASTER_ADDR": "node0", "MASTER_PORT": "29500", "SLURM_JOB_ID": "4711"}


def words(path):
    """Words of the one command in the file, with the launcher's variables put in."""
    with open(path) as file:
        text = file.read().replace("\\\n", " ")
    for name, value in ENVIRONMENT.items():
        text = text.replace(f"${name}", value)
    return shlex.split(text, comments=True)


def after(path, program):
    """What follows the first word that ends with `program`."""
    found = words(path)
    at = next(i for i, word in enumerate(found) if os.path.basename(word) == program)
    return found[at + 1:]
