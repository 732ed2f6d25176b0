# SPDX-License-Identifier: Apache-2.0
"""The real tools read what Plimsoll exports to them.

    check_tools.py --writer write-deepspeed-exports --python PYTHON [--overlay FOLDER] TOOL...

--writer exports plans at random; tools/TOOL.py hands each file to the tool's own parser and compares what it read with
what the plan says. --overlay is a folder of packages that come before those of --python (packaging/deps-tools makes
one for each tool). A tool that cannot be imported fails the check: nobody shall take it for passed.
"""
import argparse
import collections
import contextlib
import importlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))


def as_in(options):
    """Starts again under the tool's Python and packages."""
    if os.environ.get("PLIMSOLL_CHECK_TOOLS") == "1":
        return
    if not os.path.exists(options.python):
        sys.exit(f"{options.python} is missing: run packaging/setup --peers")
    if options.overlay and not os.path.isdir(options.overlay):
        sys.exit(f"{options.overlay} is missing: run packaging/setup --peers")
    path = os.pathsep.join(filter(None, [options.overlay, os.path.join(HERE, "tools")]))
    environment = dict(os.environ, PLIMSOLL_CHECK_TOOLS="1", PYTHONPATH=path, DS_ACCELERATOR="cpu",
                       TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", TORCHDYNAMO_DISABLE="1")
    os.execve(options.python, [options.python, *sys.argv], environment)


def problems_of(tool, path, plan):
    """What the tool says against a file, and each value that it read otherwise than the plan says."""
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            read = tool.read(path, plan)
    except (Exception, SystemExit) as error:
        said = shown.getvalue().strip()[-2000:] if isinstance(error, SystemExit) else ""
        return [f"refused: {type(error).__name__}: {error} {said}"]
    return [f"{key}: the tool reads {value!r}, the plan says {expected!r}"
            for key, (value, expected) in read.items() if value != expected]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--overlay", default="")
    parser.add_argument("tools", nargs="+")
    options = parser.parse_args()
    as_in(options)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)

    failed = False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.writer, folder], check=True)
        with open(os.path.join(folder, "others.json")) as file:
            plans = json.load(file)
        os.chdir(folder)
        for name in options.tools:
            tool = importlib.import_module(name)
            most = getattr(tool, "MOST", len(plans))
            read = [plan for plan in plans if plan["target"] in tool.TARGETS][:most]
            problems = collections.Counter()
            example = {}
            for plan in read:
                for problem in problems_of(tool, os.path.join(folder, plan["file"]), plan):
                    problems[problem] += 1
                    example.setdefault(problem, plan["file"])
            for problem, count in problems.most_common(30):
                print(f"{example[problem]} (and {count - 1} more): {problem}")
            print(f"{tool.what()}: {len(read)} exports to {', '.join(tool.TARGETS)}, {sum(problems.values())} problems", flush=True)
            failed |= bool(problems) or len(read) < min(most, 20)
    sys.exit(failed)


if __name__ == "__main__":
    main()
