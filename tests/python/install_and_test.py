# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel, installs it into a fresh virtual environment without network, and runs test_plimsoll.py there.

The tests run from a folder that has nothing to do with the source tree, with a clean environment, so that presets,
catalogue and libraries can only come from the wheel.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

TEST = pathlib.Path(__file__).resolve().parent / "test_plimsoll.py"
STUBS = TEST.parent.parent.parent / "python/plimsoll/_plimsoll.pyi"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--make-wheel", "--module", "--version", "--program"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([sys.executable, arguments.make_wheel, "--module", arguments.module, "--version", arguments.version,
                        "--out", folder / "wheel"], check=True)
        wheels = list((folder / "wheel").iterdir())
        assert len(wheels) == 1 and wheels[0].suffix == ".whl", wheels
        clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "PIP_NO_INDEX": "1",
                 "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True, env=clean)
        python = folder / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", wheels[0]], check=True, env=clean)
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "test_plimsoll.py").write_bytes(TEST.read_bytes())
        return subprocess.run([python, "-m", "unittest", "-v", "test_plimsoll"], cwd=elsewhere,
                              env=clean | {"PLIMSOLL_PROGRAM": os.path.abspath(arguments.program),
                                           "PLIMSOLL_STUBS": str(STUBS)}).returncode


if __name__ == "__main__":
    sys.exit(main())
