#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of the documents' sh blocks as written, page by page, and compares the exit codes.

    check_commands.py BIN_DIR [PAGE ...]

A comment "exit code N" behind a command says what it ends with, "exit code N or M" where that depends on how busy the
machine is; without one it is 0. `train` gets `--steps 8` where the
page names no number of steps, and a run that goes on gets a few more. What cannot be run here is listed below with its
reason; a page without a table entry is run like the others, so that a new page is tested from its first day.
"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHORT_STEPS = 8
MORE_STEPS = 4
LIMIT_S = 240

# Beginnings of commands that are not run, with the reason.
NOT_RUN = {
    "packaging/": "sets up or builds the whole repository: the test is run by it",
    "cmake ": "builds the whole repository",
    "cd build/": "runs all tests",
    "plimsoll import gguf": "needs a file of some gigabytes; tests/interop imports small ones",
    "plimsoll import process": "needs a process with that number; tests/interop imports one",
}
# Runs of minutes: ended by Ctrl-C after some seconds of work. Their arguments are checked before the work starts.
LONG = ("plimsoll bench",)
# Serve until Ctrl-C: asked once, then ended.
SERVERS = ("plimsoll records latest --listen",)

# These leave the run behind that others call `latest`.
FIRST = ["README.md", "docs/watch.md", "docs/doctor.md", "docs/train.md", "docs/export.md"]


def commands_of(text):
    """The commands of the sh blocks: (line number, command, expected exit codes)."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = line.strip() in ("```sh", "```bash") if not inside else False
            continue
        if not inside or not line.strip() or line.lstrip().startswith("#"):
            continue
        command, _, comment = line.partition(" #")
        codes = re.search(r"exit code (\d+)(?: or (\d+))?", comment)
        found.append((number, command.strip(), [int(code) for code in codes.groups() if code] if codes else [0]))
    return found


class Pages:
    def __init__(self, bin_dir, folder):
        self.folder = folder
        self.environment = dict(
            os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", HOME=str(folder / "home"),
            PLIMSOLL_RUNS=str(folder / "runs"), TERM="dumb", QT_QPA_PLATFORM="offscreen")
        for name in ("home", "fixtures"):
            (folder / name).mkdir()
        self.failures = []

    def shell(self, command, cwd, limit=LIMIT_S):
        return subprocess.run(["bash", "-c", command], cwd=cwd, env=self.environment, capture_output=True, text=True,
                              timeout=limit, stdin=subprocess.DEVNULL)

    def must(self, command, cwd):
        done = self.shell(command, cwd)
        if done.returncode != 0:
            raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def make_fixtures(self):
        """The files that the pages speak of: a model, a plan, texts, measured peaks."""
        place = self.folder / "fixtures"
        self.must(f"plimsoll train cpu-demo --steps {SHORT_STEPS}", place)
        self.must("plimsoll export hf latest --out model", place)
        self.must("plimsoll export deepspeed llama-7b -o ds.json", place)
        self.must("plimsoll import hf model/config.json -o my-plan.json", place)
        texts = place / "my" / "texts"
        texts.mkdir(parents=True)
        (texts / "a.txt").write_text("In the beginning was the word. " * 4000)
        (place / "book.txt").write_text("Sailors load the ship to her line, and no deeper. " * 400)
        shutil.copy(ROOT / "tests/oracles/tokenizers/llama2.json", place / "tokenizer.json")
        published = (ROOT / "resources/validation/measured-peaks.csv").read_text().splitlines(keepends=True)
        (place / "peaks.csv").write_text("".join(published[:6]))

    def place_of(self, page):
        """A page's own folder: what one page writes does not stand in another one's way."""
        place = self.folder / page.replace("/", "-")
        place.mkdir()
        fixtures = self.folder / "fixtures"
        shutil.copytree(fixtures / "my", place / "my")
        shutil.copy(fixtures / "peaks.csv", place)
        written = {word for _, command, _ in commands_of((ROOT / page).read_text())
                   for flag, word in re.findall(r"(-o|--out) (\S+)", command)}
        for name in ("my-plan.json", "ds.json", "book.txt", "tokenizer.json"):
            if name not in written:
                shutil.copy(fixtures / name, place)
        for name in ("my-model", "path/to/model", "path/to/checkpoint"):
            if name not in written:
                shutil.copytree(fixtures / "model", place / name)
        shutil.copy(fixtures / "model" / "config.json", place / "path" / "to" / "config.json")
        return place

    def run_page(self, page):
        place = self.place_of(page)
        for number, command, codes in commands_of((ROOT / page).read_text()):
            reason = next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)
            if reason:
                print(f"{page}:{number}: not run ({reason}): {command}", flush=True)
                continue
            started = time.monotonic()
            problem = self.problem_of(command, codes, place)
            print(f"{page}:{number}: {time.monotonic() - started:.1f} s: {command}", flush=True)
            if problem:
                self.failures.append(f"{page}:{number}: {command}\n    {problem}")

    def problem_of(self, command, codes, place):
        if command.startswith(SERVERS):
            return self.problem_of_server(command, place)
        if command.startswith(LONG):
            return self.problem_of_long(command, place)
        steps = SHORT_STEPS
        if re.search(r"--run RUN\b", command):
            run = json.loads(self.must("plimsoll runs --json", place))[0]["path"]
            command = command.replace("--run RUN", "--run " + shlex.quote(run))
            # A run goes on with the steps that it has, or a few more where the page names more.
            had = json.loads(Path(run, "plan.json").read_text())["training"]["steps"]
            command = re.sub(r"--steps \d+", f"--steps {had + MORE_STEPS}", command)
            steps = had + (MORE_STEPS if had == SHORT_STEPS else 0)
        if command.startswith("plimsoll train") and "--steps" not in command:
            command += f" --steps {steps}"
        try:
            done = self.shell(command, place)
        except subprocess.TimeoutExpired:
            return f"did not end within {LIMIT_S} s"
        if done.returncode not in codes:
            return f"exit code {done.returncode}, not {' or '.join(map(str, codes))}: {(done.stderr or done.stdout).strip()[-600:]}"
        return None

    def start(self, command, place):
        return subprocess.Popen(shlex.split(command), cwd=place, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def problem_of_long(self, command, place):
        process = self.start(command, place)
        try:
            process.wait(timeout=12)
            out, err = process.communicate()
            return None if process.returncode == 0 else f"exit code {process.returncode}: {(err or out).strip()[-600:]}"
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            return "did not end within 60 s of Ctrl-C"
        return None

    def problem_of_server(self, command, place):
        process = self.start(command, place)
        port = re.search(r"--listen (\d+)", command)[1]
        problem = "nothing answered within 10 s"
        for _ in range(100):
            time.sleep(0.1)
            if process.poll() is not None:
                return f"ended by itself: {process.communicate()[1].strip()[-600:]}"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    problem = None if b"plimsoll" in answer.read() else "the answer holds no metric"
                break
            except OSError:
                continue
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        return problem


def main(arguments):
    bin_dir = Path(arguments[0]).resolve()
    pages = arguments[1:] or FIRST + sorted(
        str(page.relative_to(ROOT)) for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
        if str(page.relative_to(ROOT)) not in FIRST)
    with tempfile.TemporaryDirectory(prefix="plimsoll-documents-") as folder:
        all_pages = Pages(bin_dir, Path(folder))
        all_pages.make_fixtures()
        for page in pages:
            all_pages.run_page(page)
        for failure in all_pages.failures:
            print(failure, file=sys.stderr)
        return 1 if all_pages.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
