# SPDX-License-Identifier: Apache-2.0
"""Prints the share of lines that ran, by folder, from gcovr's --json-summary."""
import collections
import json
import posixpath
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: coverage_by_folder.py SUMMARY.json")
    with open(sys.argv[1]) as file:
        files = json.load(file)["files"]
    ran, lines = collections.Counter(), collections.Counter()
    for each in files:
        for folder in {posixpath.dirname(each["filename"]), "all"}:
            ran[folder] += each["line_covered"]
            lines[folder] += each["line_total"]
    if not lines["all"]:
        sys.exit("no line was counted: did the tests run?")
    for folder in sorted(lines, key=lambda name: (name == "all", name)):
        if lines[folder]:
            print(f"  {folder:<32} {lines[folder]:>7} lines {100 * ran[folder] / lines[folder]:6.1f} %")


if __name__ == "__main__":
    main()
