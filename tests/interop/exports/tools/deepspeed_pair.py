# SPDX-License-Identifier: Apache-2.0
"""ds.json as the notes of the Trainer's relatives ask for it: the export without what the arguments already say."""
import json
import os


def write_pair(plan, left_out):
    """Writes ds.json to the folder of the exports, which is the current one."""
    with open(plan["deepspeed"]) as file:
        config = json.load(file)
    for key in left_out:
        config.pop(key, None)
    with open("ds.json", "w") as file:
        json.dump(config, file)
    return os.path.abspath("ds.json")


def finalize(training, plan):
    """The Trainer's own comparison of its arguments with ds.json: it raises where they disagree."""
    model = type("Model", (), {"config": type("Config", (), {"hidden_size": plan["hidden_size"]})})
    training.hf_deepspeed_config.trainer_config_finalize(training, model, plan["steps"])
