#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build into an empty folder and asks the installed programs: they must find what they read there.

    check_install.py --build DIR --source DIR
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "--install", options.build, "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
        prefix = pathlib.Path(folder)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PLIMSOLL_")}
        environment["HOME"] = folder

        def run(*words):
            return subprocess.run([prefix / "bin" / words[0], *words[1:]], check=True, capture_output=True, text=True,
                                  env=environment, cwd="/").stdout

        installed = {path.stem for path in (prefix / "share/plimsoll/presets/models").glob("*.json")}
        wanted = {path.stem for path in pathlib.Path(options.source, "presets/models").glob("*.json")}
        assert installed == wanted and wanted, installed ^ wanted
        # One preset is changed in the installed copy only: the program must read that one, not the source tree's.
        preset = prefix / "share/plimsoll/presets/models/llama-7b.json"
        document = json.loads(preset.read_text())
        document["num_layers"] = 3
        preset.write_text(json.dumps(document))
        model = json.loads(run("plimsoll", "estimate", "llama-7b", "--json"))["model"]
        assert model["parameters"] < 2e9, f"the source tree's presets were read: {model}"
        for name in ("plimsoll-worker", "plimsoll-studio"):
            if (prefix / "bin" / name).exists():
                assert "sage" in run(name, "--help"), name
        for file in (prefix / "share").rglob("*.desktop"):
            text = file.read_text()
            assert "Exec=plimsoll-studio" in text and "Icon=plimsoll-studio" in text
            assert (prefix / "share/icons/hicolor/scalable/apps/plimsoll-studio.svg").exists()
    print("the installed programs find what they read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
