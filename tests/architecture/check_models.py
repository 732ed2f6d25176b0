#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has `plimsoll architecture` count the models of tests/oracles/families/models.json and compares parameters, active
parameters, and the names and shapes of all tensors (SHA-256 of the sorted lines "name [size, size]").

    check_models.py BIN_DIR
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def problem_of(program, folder, row):
    config = folder / (row["name"].replace("/", "-") + ".json")
    config.write_text(json.dumps(row["config"]))
    done = subprocess.run([program, "architecture", str(config), "--json", "--tensors"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"{row['name']}: exit code {done.returncode}: {done.stderr.strip()}"
    found = json.loads(done.stdout)
    lines = "\n".join(sorted(f"{name} {shape}" for name, shape in found["tensors"].items()))
    wrong = [f"{key} is {found[key]}, not {row[key]}" for key in ("parameters", "active_parameters") if found[key] != row[key]]
    if found["tensor_count"] != row["tensors"]:
        wrong.append(f"{found['tensor_count']} tensors, not {row['tensors']}")
    if hashlib.sha256(lines.encode()).hexdigest() != row["sha256"]:
        wrong.append("names or shapes of tensors differ")
    return f"{row['name']}: {'; '.join(wrong)}" if wrong else None


def main(bin_dir):
    rows = json.loads((ROOT / "tests/oracles/families/models.json").read_text())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda row: problem_of(f"{bin_dir}/plimsoll", pathlib.Path(folder), row), rows))
    for problem in filter(None, problems):
        print(problem)
    families = {row["config"].get("model_type") for row in rows}
    print(f"{len(rows)} models of {len(families)} families, {sum(map(bool, problems))} differ")
    return any(problems) or len(rows) < 100


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
