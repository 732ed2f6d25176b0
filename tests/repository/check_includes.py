#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include of the tree against the links of its target (CMake) and the table in core/README.md.

    check_includes.py [--self-test]
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import targets as tree  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROW = re.compile(r"^\| `([^`|]+)` *\|[^|]*\| *([^|]*?) *\|", re.M)
# Folders whose files are the entries of a table: declared together in the header named here.
TABLES = {
    "app/cli": "terminal/command.h", "app/cli/bench": "bench_studies.h", "core/checkpoint": "checkpoint_kinds.h",
    "core/doctor/plan_checks": "plan_checks.h", "core/doctor/run_checks": "run_checks.h", "core/engine/model": "families.h",
    "core/engine/optimizer": "optimizer_kinds.h", "core/estimate": "terms.h", "core/frameworks": "framework.h",
    "core/interop/deepspeed": "deepspeed_parts.h", "core/interop/deepspeed/lint": "deepspeed_case.h",
    "core/interop/export_notes": "export_notes.h", "core/interop/exports": "export_parts.h",
    "core/interop/records": "records_export.h", "core/lessons": "lesson.h", "core/plan/checks": "problems.h",
    "core/schedule/generators": "generators.h", "core/tokenizer": "tokenizer_model.h", "core/validation": "peak_row.h",
}
# The second .cpp of a class: its painting, its actions.
PARTS = re.compile(r"(_paint|_actions|/main_window_(plans|runs)|/plot_(axes|marks|table))[.]cpp$")
# Headers of these libraries are heavy or bind a licence: only targets that link them may include them.
LIBRARIES = {"Qt": re.compile(r"^\s*#\s*include <(Q[A-Z]|Qt)", re.M), "torch": re.compile(r"^\s*#\s*include <(torch|ATen|c10)/", re.M)}


def faults_of_includes(targets, read, whole):
    """Sentences on includes that no link allows. `whole`: umbrella targets and their members."""
    owner = {file: target for target in targets.values() for file in target.files}
    found = []
    for file, target in sorted(owner.items()):
        text = read(file)
        exposed, allowed = set(target.exposes), target.allowed
        for name, members in whole.items():
            exposed |= members if name in exposed else set()
            allowed |= members if name in allowed else set()
        for line, match in ((text[: m.start()].count("\n") + 1, m) for m in INCLUDE.finditer(text)):
            other = owner.get(match.group(1))
            if other is None:
                if not match.group(1).startswith("core/engine/cuda"):
                    found.append(f'{file}:{line}: "{match.group(1)}" belongs to no target')
            elif other.name != target.name:
                if other.name not in allowed:
                    found.append(f"{file}:{line}: {target.name} may not use {other.name}; it names no such link")
                elif file.endswith(".h") and target.kind == "library" and other.name not in exposed:
                    found.append(f"{file}:{line}: the header of {target.name} needs {other.name} under EXPOSES, not USES")
        for library, pattern in LIBRARIES.items():
            if pattern.search(text) and not links(target, library, targets, whole):
                found.append(f"{file}: {target.name} includes {library} without linking it")
    return found


def links(target, library, targets, whole, seen=None):
    seen = seen if seen is not None else set()
    if target.name in seen:
        return False
    seen.add(target.name)
    if any(library in link for link in target.links):
        return True
    names = set(target.allowed)
    for name in list(names):
        names |= whole.get(name, set())
    return any(links(targets[name], library, targets, whole, seen) for name in names if name in targets)


def unused_links(targets, read, whole):
    """Libraries that state a link which no include needs."""
    owner = {file: target.name for target in targets.values() for file in target.files}
    found = []
    for target in targets.values():
        needed = {owner.get(i) for file in target.files for i in INCLUDE.findall(read(file))}
        for use in sorted(target.allowed):
            members = whole.get(use, {use})
            if target.kind == "library" and not members & needed:
                found.append(f"{target.folder}: {target.name} links {use} and includes nothing of it")
    return found


def table(text):
    """{key of a target: keys it may use} of core/README.md."""
    return {key: {name.strip() for name in uses.split(",")} - {"-", ""} for key, uses in ROW.findall(text)}


def faults_of_table(targets, rows):
    keys = {name: target.key for name, target in targets.items()}
    found = []
    for target in sorted(targets.values(), key=lambda each: each.key):
        if target.key not in rows:
            found.append(f"core/README.md: the table has no row for {target.key}")
            continue
        uses = {keys.get(name, name) for name in target.allowed}
        for name in sorted(uses - rows[target.key]):
            found.append(f"core/README.md: the row of {target.key} does not say that it uses {name}")
        for name in sorted(rows[target.key] - uses):
            found.append(f"core/README.md: the row of {target.key} names {name}, which it does not link")
    known = set(keys.values()) | {"python", "engine/cuda"}
    return found + [f"core/README.md: the table has a row for {key}, which is no target" for key in sorted(set(rows) - known)]


def faults_of_names(files, exists):
    """.cpp files whose declarations no header of their name or of their folder's table holds."""
    found = []
    for file in files:
        path = pathlib.PurePath(file)
        if path.suffix != ".cpp" or path.stem == "main" or PARTS.search(file) or exists(str(path.with_suffix(".h"))):
            continue
        table = TABLES.get(str(path.parent))
        if not table or not exists(str(path.parent / table)):
            found.append(f"{file}: declare what it defines in {path.stem}.h, so that it is found by its name")
    return found


def self_test():
    make = lambda name, files, exposes=(), uses=(): tree.Target(name, name, "library", list(files), list(exposes), list(uses), [])
    texts = {"a/a.h": "", "b/b.h": '#include "a/a.h"\n', "b/b.cpp": '#include "c/c.h"\n', "c/c.h": "#include <QWidget>\n"}
    targets = {t.name: t for t in (make("a", ["a/a.h"]), make("b", ["b/b.h", "b/b.cpp"], uses=["a"]), make("c", ["c/c.h"]))}
    found = faults_of_includes(targets, texts.__getitem__, {})
    assert len(found) == 3, found
    assert "b may not use c" in found[0] and "under EXPOSES" in found[1] and "includes Qt" in found[2], found
    assert unused_links({"a": make("a", ["a/a.h"]), "b": make("b", ["a/a.h"], uses=["a"])}, texts.__getitem__, {})
    found = faults_of_names(["a/b.cpp", "a/c.cpp", "core/lessons/x.cpp"], {"a/b.h", "core/lessons/lesson.h"}.__contains__)
    assert len(found) == 1 and found[0].startswith("a/c.cpp"), found
    rows = table("| folder | holds | may use | libraries |\n|---|---|---|---|\n| `b` | x | a, c | - |\n")
    assert rows == {"b": {"a", "c"}}, rows
    found = faults_of_table(targets, rows)
    assert any("names c" in each for each in found) and any("no row for a" in each for each in found), found
    try:
        tree.floors({"a": make("a", [], uses=["b"]), "b": make("b", [], uses=["a"])})
        raise AssertionError("a circle passed")
    except ValueError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="check that the checks can fail")
    if parser.parse_args().self_test:
        self_test()
        print("the checks find what they are for")
        return 0
    targets, whole = tree.read_targets(), tree.umbrellas()
    read = lambda file: (ROOT / file).read_text()
    found = faults_of_includes(targets, read, whole) + unused_links(targets, read, whole)
    found += faults_of_names([file for each in targets.values() for file in each.files], lambda file: (ROOT / file).exists())
    found += faults_of_table(targets, table((ROOT / "core/README.md").read_text()))
    try:
        tree.floors(targets, tree.umbrellas())
    except ValueError as circle:
        found.append(str(circle))
    for name, target in targets.items():
        sources = {pathlib.PurePath(file).stem for file in target.files}
        if target.kind == "library" and len(sources) > 26:
            found.append(f"{target.folder}: {len(sources)} concepts in one folder; a room holds some 25 at most")
    print("\n".join(found) or f"{len(targets)} targets: every include is allowed by a link and by the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
