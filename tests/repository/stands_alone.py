# SPDX-License-Identifier: Apache-2.0
"""No path in a tracked file leaves the repository, so that a clone builds and passes its tests with nothing beside it.

    stands_alone.py [ROOT]      says FILE:LINE of each path that does; exit code 1 where there is one
    stands_alone.py --self-test lines that must be found are found, and lines that may stay are not

Found are: relative paths that climb above the root from the folder of their file, paths that climb from the root itself,
chains of `.parent` that are too long, and absolute paths of a machine's own folders. Text about files of elsewhere is no
path of this repository: damaged or hostile names in tests stay below as many folders as the file itself has.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# ../../name, a/../../name, or the same behind a variable's folder; ".." after ".." as arguments of os.path.join.
CLIMB = re.compile(r"""(?:\$\w+/|(?<![\w./])|(?<=[)}"'`]/))((?:[\w.\-]+/)*\.\.(?![\w.])(?:/[\w.\-/]*)?)""")
JOINED = re.compile(r"""["']\.\.["'](?:\s*[,/]\s*["']\.\.["'])*""")
PARENTS = re.compile(r"__file__\W(?:[\w()]*\.resolve\(\)|\))*((?:\.parent)+)(?!s)|__file__.*?\.parents\[(\d+)\]")
FROM_ROOT = re.compile(r"""(?:CMAKE_SOURCE_DIR|PROJECT_SOURCE_DIR|PLIMSOLL_SOURCE_DIR|sourceDir)\}?["']?\s*["']?/\.\.|\$\{?root\}?["']?/\.\.|ROOT\s*/\s*["']\.\.""")
# A folder beside the checkout, wherever the path is thought to begin.
BESIDE = re.compile(r"\.\./shared(?![\w\-])")
OWN_FOLDERS = re.compile(r"(?<![\w.\-/}])/(?:work|home/\w+|root|Users/\w+)/\w")


def depth_after(folder, path):
    """How far below the root a path is at its highest, from a folder that is so many levels below it."""
    lowest = depth = folder
    for part in path.split("/"):
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        lowest = min(lowest, depth)
    return lowest


def leaves(path, line):
    """What of the line leaves the repository; None where nothing does. `path` is relative to the root."""
    folder = path.count("/")
    for found in (*FROM_ROOT.finditer(line), *BESIDE.finditer(line), *OWN_FOLDERS.finditer(line)):
        return found[0]
    for found in CLIMB.finditer(line):
        if depth_after(folder, found[1]) < 0:
            return found[1]
    for found in JOINED.finditer(line):
        if found[0].count("..") > folder:
            return found[0]
    for found in PARENTS.finditer(line):
        climbed = len(found[1].split(".parent")) - 1 if found[1] else int(found[2]) + 1
        if climbed > folder + 1:
            return found[0]
    return None


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        sys.exit(f"{root} is no git checkout: {listed.stderr.decode(errors='replace').strip()}")
    return [name for name in listed.stdout.decode().split("\0") if name]


def scan(root):
    this = pathlib.Path(__file__).resolve()
    problems, files = [], 0
    for name in tracked(root):
        path = root / name
        if path.is_symlink():
            if not path.resolve().is_relative_to(root):
                problems.append(f"{name}: a link to {path.readlink()}")
            continue
        if not path.is_file() or path.resolve() == this:  # deleted and not committed yet; the examples below
            continue
        content = path.read_bytes()
        if b"\0" in content:
            continue
        files += 1
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if found := leaves(name, line):
                problems.append(f"{name}:{number}: {found}")
    return problems, files


LEAVE = [
    ("CMakeLists.txt", 'set(DIR "${CMAKE_SOURCE_DIR}/../shared")'),
    ("CMakeLists.txt", "add_subdirectory(../elsewhere)"),
    ("packaging/make.py", 'parser.add_argument("--from", default="../../data")'),
    ("packaging/make.py", 'ROOT = os.path.join(HERE, "..", "..")'),
    ("packaging/make.py", "ROOT = pathlib.Path(__file__).resolve().parent.parent.parent"),
    ("packaging/make.py", "ROOT = pathlib.Path(__file__).parents[2]"),
    ("packaging/make.py", 'DATA = ROOT / ".." / "data"'),
    ("packaging/run", 'exec "$(dirname "$0")/../../run"'),
    ("packaging/run", 'cd "$root/../shared"'),
    ("packaging/run", 'cd "$here/../../shared"'),
    ("packaging/run", 'cd "tests/../../../shared"'),
    ("tests/a/CMakeLists.txt", '"${CMAKE_CURRENT_SOURCE_DIR}/../../../shared"'),
    ("tests/a/b.cpp", 'read_file(PLIMSOLL_SOURCE_DIR "/../shared/a.json");'),
    ("packaging/a/make.py", "    make.py --from ../shared/deepspeed"),
    ("tests/a/b.cpp", '#include "../../../elsewhere/c.h"'),
    ("tests/a/b.cpp", 'read_file("/home/someone/data.csv");'),
    ("tests/a/b.cpp", 'read_file("/work/data.csv");'),
    ("docs/a.md", "see [there](../../notes.md) and /root/notes"),
]
STAY = [
    ("packaging/run", 'exec "$(dirname "$0")/../packaging/test"'),
    ("packaging/a/make.py", 'ROOT = os.path.join(HERE, "..", "..")'),
    ("packaging/make.py", "ROOT = pathlib.Path(__file__).resolve().parent.parent"),
    ("tests/engine/model/a.py", "ROOT = pathlib.Path(__file__).resolve().parents[3]"),
    ("tests/conformance/CMakeLists.txt", "../engine/ranks/run_harness.cpp"),
    ("tests/a/b.cpp", 'EXPECT_EQ(text, "one ... two.. three");'),
    ("README.md", "ZeRO 0..3, an ellipsis ... and a version range 1..2"),
    ("core/engine/ranks/a.cpp", '#include "../shared_memory/a.h"'),
    ("docs/a.md", "see [the tour](../README.md), s3://bucket/work/a and https://example.org/home/me/x"),
    ("core/a.h", "/// rows/work/columns, a/../b"),
]


def self_test():
    missed = [f"not found: {path}: {line}" for path, line in LEAVE if not leaves(path, line)]
    wrong = [f"found, but it stays: {path}: {line}: {leaves(path, line)}" for path, line in STAY if leaves(path, line)]
    return missed + wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        problems = self_test()
        print("\n".join(problems) or f"{len(LEAVE)} lines are found, {len(STAY)} stay")
        sys.exit(1 if problems else 0)
    problems, files = scan(options.root.resolve())
    print("\n".join(problems) or f"no path of {files} files leaves the repository")
    sys.exit(1 if problems or files < 100 else 0)


if __name__ == "__main__":
    main()
