#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that programs write to standard output and standard error through core/base/output.h alone.

    check_output.py [--self-test]

fmt::print throws where there is no room, std::cout forgets it, and either ends in an abort or in a loss that nobody is told.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ITSELF = "core/base/output.cpp"
WRITES = re.compile(r"\b(?:fmt::print\(|std::cout\b|std::cerr\b|std::clog\b|std::v?f?printf\(|std::f?puts\(|std::fwrite\(|(?<![\w:.>])v?f?printf\()")
# Text that is not UTF-8 (a path) makes dump() throw.
DUMPS = re.compile(r"\bsay\([^;\n]*\.dump\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def faults(files, read):
    found = []
    for file in sorted(files):
        if file == ITSELF:
            continue
        text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), read(file))
        found += [f"{file}:{number}: {match.group()} - use core/base/output.h"
                  for number, line in enumerate(text.split("\n"), 1) for match in WRITES.finditer(line)]
        found += [f"{file}:{number}: {match.group()} - use say_json()"
                  for number, line in enumerate(text.split("\n"), 1) for match in DUMPS.finditer(line)]
    return found


def self_test():
    files = {"app/a.cpp": 'fmt::print("x");\n// std::cout\nprint("x"); snprintf(b, 1, "x");', "app/b.cpp": "\nstd::cerr << 1;", "app/c.cpp": "say(a.dump(2));\nsay(b); c.dump();",
             ITSELF: "std::fwrite(a, 1, 1, stdout);"}
    found = faults(files, files.__getitem__)
    assert len(found) == 3 and found[2].startswith("app/c.cpp:1:") and found[0].startswith("app/a.cpp:1:") and found[1].startswith("app/b.cpp:2:"), found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "app", "core", "ui"], check=True, capture_output=True, text=True)
    files = [f for f in listed.stdout.split() if f.endswith((".cpp", ".h"))]
    found = faults(files, lambda file: (ROOT / file).read_text())
    print("\n".join(found) or f"{len(files)} files write through {ITSELF}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
