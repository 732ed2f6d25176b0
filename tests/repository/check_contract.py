#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that kinds of events, names of series and files of a run are spelled in core/telemetry/contract alone.

    check_contract.py [--self-test]

The compiler refuses a literal where a kind is asked for (EventKind); here is what it cannot see. Names are taken from the
contract itself, so that a new one is looked for as well.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACT = "core/telemetry/contract"
# What users type and read (the terminal's words), the bytes of the format, and the contract's own tests.
SPELL_THEM = ("tests/cli/", "tests/telemetry/", "tests/run/run_folder_test.cpp", "tests/repository/")
# Folders where such a word is nothing but a kind or a series.
RECORDING = ("core/engine/train/", "core/run/", "core/doctor/run_checks/", "core/calibration/", "core/telemetry/", "core/interop/records/",
             "ui/run/", "ui/memory/")
# Words of other things: commands, checks of the doctor, states of a run, parts of a sentence, the kernel's control groups.
OTHER_WORDS = {
    ("core/run/processes/supervisor.cpp", "stop"), ("core/run/run_folder.h", "failed"), ("core/run/run_folder.h", "finished"),
    ("core/run/run_folder.h", "stopped"), ("ui/run/run_model.cpp", "stop"),
    ("core/doctor/run_checks/run_numbers.cpp", "nonfinite"), ("core/doctor/run_checks/run_numbers.cpp", "overflow"),
    ("core/doctor/run_checks/run_end.cpp", "failed"), ("core/doctor/run_checks/run_rate.cpp", "spike"),
    ("core/run/processes/detached.cpp", "supervise"), ("core/plan/machine.cpp", "memory"),
}
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
# Words that the window shows a person.
SHOWN = re.compile(r'\b(?:tr|QT_TRANSLATE_NOOP)\((?:"[^"]*", *)?"(?:[^"\\\n]|\\.)*"\)')
# Code that asks records for a series by its name: find("loss"), points.at("loss"), points(1, 1, {{"loss", 3}}).
ASKS = re.compile(r'\b(?:find|curve|branches|unit|values|wait_for_points|name_on_rank|points(?:\.at|\.contains)?|units\(\)\.at)'
                  r'[(\[](?:[^()"]|\([^()"]*\))*"([^"]+)"')
HOLDS = re.compile(r'\{"([^"]+)", [^{}"]*\}')
FILES = re.compile(r'^(?:rank-(?:(?:\{\}|\d+)\.(?:rec|log))?|supervisor\.(?:rec|log)|\.?(?:left-)?step-(?:\{[^}]*\}|\d+)?|left-|\.rec)$')
IN_RUN = {"telemetry", "logs", "checkpoints", "run.json", "memory.json", "plan.json", "lock", "control"}
JOINED = re.compile(r'/ *\(?"([^"]+)"')


def names_of(read):
    """(kinds, series) of the contract's tables."""
    kinds = set(re.findall(r'EventKindFacts\{EventKind::\w+, "(\w+)"', read(f"{CONTRACT}/event_kind.h")))
    series = set(re.findall(r'inline constexpr const char\* \w+ = "([^"/]+)";', read(f"{CONTRACT}/series.h")))
    return kinds, series


def faults(files, read, kinds, series):
    found = []
    for file in sorted(files):
        if file.startswith((CONTRACT, *SPELL_THEM)):
            continue
        text = COMMENT.sub("", read(file))
        known = {word for other, word in OTHER_WORDS if other == file}
        product = not file.startswith("tests/")
        for number, line in enumerate(text.split("\n"), 1):
            if "#include" in line:
                continue
            place = f"{file}:{number}"
            plain = SHOWN.sub("", line)
            words = set(STRING.findall(plain))
            if file.startswith(RECORDING):
                for word in sorted(words & (kinds | series) - known):
                    found.append(f'{place}: "{word}" is a name of {CONTRACT}: take it from there')
            else:
                asked = set(ASKS.findall(plain)) | (set(HOLDS.findall(plain)) if re.search(r"\bpoints\(", plain) else set())
                for word in sorted(asked & series - known):
                    found.append(f'{place}: "{word}" is a series: write series::{word}')
            for word in sorted(words):
                if FILES.match(word) and (product or file.startswith("tests/support/run_") or "/ " in line and "telemetry" in line):
                    found.append(f'{place}: "{word}" names a file of a run: ask RunLayout, rank_of or checkpoint_name')
            for word in JOINED.findall(plain):
                if word in IN_RUN and (product or re.search(r"\brun\b|\brun[.(]|\bpath_ /", plain)):
                    found.append(f'{place}: "{word}" is a file of a run: ask RunLayout')
    return found


def sources():
    listed = subprocess.run(["git", "ls-files", "core", "ui", "app", "python", "tests"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        files = listed.stdout.split()
    else:  # an archive without its history
        files = [str(p.relative_to(ROOT)) for top in ("core", "ui", "app", "python", "tests") for p in (ROOT / top).rglob("*")]
    return [file for file in files if file.endswith((".cpp", ".h")) and (ROOT / file).is_file()]


def self_test():
    kinds, series = {"start", "loss_spike", "memory"}, {"loss", "memory"}
    texts = {
        "core/run/a.cpp": 'if (kind == "start") {}\n// "start" in words\nsay("starting");\n',
        "core/run/processes/supervisor.cpp": 'if (command == "stop") {}\n',
        "ui/run/b.cpp": 'tr("memory");\nfind("memory");\n',
        "app/c.cpp": 'store.find("loss");\njson["loss"] = 3;\nfmt::format("rank-{}.rec", rank);\n',
        "core/d.cpp": 'const auto plan = run / "plan.json";\nread_json("plan.json");\nf("step-{:08}");\nf("step-time");\n',
        "tests/e.cpp": 'writer->points(1, 1, {{"loss", 5.5}});\nput(run.path() / "memory.json");\nput(folder / "plan.json");\n',
        "tests/cli/f.cpp": 'plimsoll({"watch", "loss"}).find("loss");\n',
    }
    found = faults(texts, texts.__getitem__, kinds, series)
    expected = ["app/c.cpp:1", "app/c.cpp:3", "core/d.cpp:1", "core/d.cpp:3", "core/run/a.cpp:1", "tests/e.cpp:1", "tests/e.cpp:2",
                "ui/run/b.cpp:2"]
    assert sorted(each.split(": ")[0] for each in found) == expected, found
    read = {f"{CONTRACT}/event_kind.h": 'EventKindFacts{EventKind::Start, "start", EventTone::Neutral, true},',
            f"{CONTRACT}/series.h": 'inline constexpr const char* lr = "lr";\ninline constexpr const char* p = "grad_norm/";'}
    assert names_of(read.__getitem__) == ({"start"}, {"lr"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="check that the checks can fail")
    if parser.parse_args().self_test:
        self_test()
        print("the checks find what they are for")
        return 0
    read = lambda file: (ROOT / file).read_text()
    kinds, series = names_of(read)
    assert len(kinds) > 20 and len(series) > 10, "the contract's tables are written in another way now"
    found = faults(sources(), read, kinds, series)
    unused = [f"{file}: \"{word}\" is no word of this file any more; take it out of OTHER_WORDS"
              for file, word in sorted(OTHER_WORDS) if not (ROOT / file).is_file() or f'"{word}"' not in read(file)]
    print("\n".join(found + unused) or f"{len(kinds)} kinds, {len(series)} series and the files of a run are spelled in {CONTRACT} alone")
    return 1 if found or unused else 0


if __name__ == "__main__":
    sys.exit(main())
