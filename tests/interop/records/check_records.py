# SPDX-License-Identifier: Apache-2.0
"""The real TensorBoard, pyarrow and W&B read the records that Plimsoll writes: every point. Those of tests/oracles/records,
which the plain tests compare with, too."""
import argparse
import functools
import glob
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import types


def tensorboard_problems(folder):
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
    if read.Tags()["scalars"] != ["grad_norm/layers.0", "loss", "tokens"] or len(read.Scalars("tokens")) != 140_000:
        yield f"the scalars are {read.Tags()['scalars']}"
    (text,) = read.Tensors("events/sample")
    if text.step != 500 or text.tensor_proto.string_val[0].decode() != "In the beginning é":
        yield f"the text is {text}"
    if read.SummaryMetadata("events/sample").plugin_data.plugin_name != "text":
        yield "events/sample is no text"


def expected_points():
    """(series, step, time, value, unit) as write_records.cpp puts them down, in the order of series and steps."""
    for step in range(0, 1000, 10):
        value = [math.nan, math.inf, -math.inf][step // 10] if step < 30 else math.sqrt(step)
        yield "grad_norm/layers.0", step, 1.7e9 + step, value, ""
    for step in range(1000):
        yield "loss", step, 1.7e9 + step, 5 / (1 + step), "nats"
    for step in range(140_000):
        yield "tokens", step, 1.7e9 + step, float(step), ""


def same(a, b):
    return a == b or (a != a and b != b)


def parquet_problems(folder):
    import pyarrow.parquet
    file = pyarrow.parquet.ParquetFile(os.path.join(folder, "records.parquet"))
    types_found = [(field.name, str(field.type)) for field in file.schema_arrow]
    wanted = [("series", "string"), ("step", "int64"), ("time", "double"), ("value", "double"), ("unit", "string")]
    if types_found != wanted:
        yield f"Parquet: the columns are {types_found}"
    if file.metadata.metadata.get(b"run") != b"run" or file.metadata.num_row_groups != 2:
        yield f"Parquet: {file.metadata}, {file.metadata.metadata}"
    if {file.metadata.row_group(g).column(c).compression for g in range(2) for c in range(5)} != {"ZSTD"}:
        yield "Parquet: a column is not compressed by zstd"
    rows = list(zip(*(column.to_pylist() for column in file.read().columns)))
    expected = list(expected_points())
    if len(rows) != len(expected):
        yield f"Parquet: {len(rows)} rows, {len(expected)} were written"
    wrong = [(a, b) for a, b in zip(rows, expected) if not all(map(same, a, b))]
    if wrong:
        yield f"Parquet: {len(wrong)} rows are not as written, the first {wrong[0]}"


@functools.cache
def wandb_modules():
    """W&B's own reader and messages, without the rest of the package, which wants to be logged in and a dozen others."""
    import google.protobuf
    place = importlib.util.find_spec("wandb").submodule_search_locations[0]
    package = types.ModuleType("wandb")
    package.__path__ = [place]
    sys.modules["wandb"] = package
    google.protobuf.__version__ = "6" + google.protobuf.__version__[1:]  # the newest that this release has messages for
    from wandb.proto import wandb_internal_pb2
    spec = importlib.util.spec_from_file_location("datastore", os.path.join(place, "sdk/internal/datastore.py"))
    datastore = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(datastore)
    return datastore, wandb_internal_pb2


def wandb_problems(folder):
    datastore, messages = wandb_modules()
    (path,) = glob.glob(os.path.join(folder, "offline-run-*", "run-*.wandb"))
    run_id = os.path.basename(path)[len("run-"):-len(".wandb")]
    if os.path.basename(os.path.dirname(path)) != f"offline-run-20231114_221320-{run_id}" or len(run_id) != 8:
        yield f"W&B: the path is {path}"
    store = datastore.DataStore()
    store.open_for_scan(path)
    records = []
    while (data := store.scan_data()) is not None:
        record = messages.Record()
        record.ParseFromString(data)
        if record.num != len(records) + 1:
            yield f"W&B: record {len(records) + 1} is numbered {record.num}"
        records.append(record)
    kinds = [record.WhichOneof("record_type") for record in records]
    if kinds != ["header", "run"] + ["history"] * 140_000 + ["summary", "exit", "final"]:
        yield f"W&B: the records are {kinds[:3]} … {kinds[-4:]}, {len(kinds)} in all"
    run = records[1].run
    config = {item.key: json.loads(item.value_json) for item in run.config.update}
    if (run.run_id, run.project, run.display_name, run.start_time.ToMilliseconds()) != (run_id, "plimsoll", "run", 1_700_000_000_000):
        yield f"W&B: the run is {run}"
    if config != {"model": {"name": "x" * 100_000}, "name": "é"}:
        yield f"W&B: the config has {config.keys()}"
    words = {math.inf: "Infinity", -math.inf: "-Infinity"}
    expected = {}
    for series, step, time, value, _ in expected_points():
        row = expected.setdefault(step, {"_step": step, "_timestamp": time, "_runtime": time - 1.7e9})
        row[series] = "NaN" if value != value else words.get(value, value)
    for record in records[2:-3]:
        row = {item.key: json.loads(item.value_json) for item in record.history.item}
        if row != expected[record.history.step.num]:
            yield f"W&B: step {record.history.step.num} is {row}"
            break
    summary = {item.key: json.loads(item.value_json) for item in records[-3].summary.update}
    if summary != {"grad_norm/layers.0": math.sqrt(990), "loss": 0.005, "tokens": 139_999.0, "_step": 139_999}:
        yield f"W&B: the summary is {summary}"
    if records[-2].exit.exit_code != 0 or records[-2].exit.runtime != 139_999:
        yield f"W&B: the end is {records[-2]}"


def recorded_problems(folder):
    """The small files as pyarrow and W&B read them; write-records --small makes them anew."""
    import pyarrow.parquet
    read = pyarrow.parquet.read_table(os.path.join(folder, "run.parquet"))
    unit = 'nats, "a token"'
    expected = [("grad_norm/layers.0", 1, 1001.5, math.nan, ""), *(("loss", step, 1000.5 + step, 5.0 - step, unit) for step in range(3)),
                ("memory@1", 0, 1000.5, 4096.0, "")]
    rows = list(zip(*(column.to_pylist() for column in read.columns)))
    if len(rows) != len(expected) or not all(all(map(same, a, b)) for a, b in zip(rows, expected)):
        yield f"recorded Parquet: the rows are {rows}"
    datastore, messages = wandb_modules()
    store = datastore.DataStore()
    store.open_for_scan(os.path.join(folder, "run.wandb"))
    losses = {}
    while (data := store.scan_data()) is not None:
        record = messages.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            if item.key == "loss":
                losses[record.history.step.num] = json.loads(item.value_json)
    if losses != {0: 5.0, 1: 4.0, 2: 3.0}:
        yield f"recorded W&B: the losses are {losses}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--recorded", required=True)
    options = parser.parse_args()
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/setup --peers")
    if os.path.abspath(sys.executable) != os.path.abspath(options.python):
        os.execv(options.python, [options.python, *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True)
        found = [problem for problems in (tensorboard_problems, parquet_problems, wandb_problems) for problem in problems(folder)]
        found += recorded_problems(options.recorded)
    print("\n".join(found) or "TensorBoard, pyarrow and W&B read 141,100 points as written")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
