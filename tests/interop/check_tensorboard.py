# SPDX-License-Identifier: Apache-2.0
"""The real TensorBoard reads the event files that Plimsoll writes: every scalar and the text."""
import argparse
import math
import os
import subprocess
import sys
import tempfile


def problems(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    read = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    read.Reload()
    loss = read.Scalars("loss")
    if [each.step for each in loss] != list(range(1000)):
        yield f"loss has {len(loss)} points"
    for each in loss:
        if not math.isclose(each.value, 5 / (1 + each.step), rel_tol=1e-6) or each.wall_time != 1.7e9 + each.step:
            yield f"step {each.step} is {each}"
    norms = read.Scalars("grad_norm/layers.0")
    if [each.step for each in norms] != list(range(0, 1000, 10)):
        yield f"grad_norm/layers.0 has {len(norms)} points"
    if read.Tags()["scalars"] != ["grad_norm/layers.0", "loss"]:
        yield f"the scalars are {read.Tags()['scalars']}"
    (text,) = read.Tensors("events/sample")
    if text.step != 500 or text.tensor_proto.string_val[0].decode() != "In the beginning é":
        yield f"the text is {text}"
    if read.SummaryMetadata("events/sample").plugin_data.plugin_name != "text":
        yield "events/sample is no text"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--python", required=True)
    options = parser.parse_args()
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/deps-deepspeed, or configure with -DPLIMSOLL_DEEPSPEED_TESTS=OFF")
    if os.path.abspath(sys.executable) != os.path.abspath(options.python):
        os.execv(options.python, [options.python, *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True)
        found = list(problems(folder))
    print("\n".join(found) or "TensorBoard reads 1,100 scalars and a text as written")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
