# SPDX-License-Identifier: Apache-2.0
"""The targets of the tree, read from the CMake lists: what each folder holds and whom it may use."""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = ("core", "ui", "app")
CALL = re.compile(r"^plimsoll_(library|program)\(\s*([\w-]+)\s*(.*?)\)[ \t]*$", re.M | re.S)
WORDS = {"SOURCES", "STEMS", "EXCEPT", "EXPOSES", "USES", "LINKS", "PRECOMPILED"}


@dataclasses.dataclass
class Target:
    name: str  # as in USES: "engine_ranks"
    folder: str  # "core/engine/ranks"
    kind: str  # "library", "program"
    files: list
    exposes: list  # what its headers may include
    uses: list  # what its .cpp files may include as well
    links: list  # other libraries

    @property
    def key(self):
        """The first column of the table in core/README.md: "engine/ranks", "ui/plan_models"."""
        folder = self.folder.removeprefix("core/")
        return folder + "_models" if self.kind == "library" and self.name == folder.replace("/", "_") + "_models" else folder

    @property
    def allowed(self):
        return set(self.exposes) | set(self.uses)


def arguments(text, variables):
    lists, key = {word: [] for word in WORDS}, None
    for word in text.split():
        if word in WORDS:
            key = word
        elif key:
            match = re.fullmatch(r"\$\{(\w+)\}", word)
            lists[key] += variables.get(match.group(1), [word]) if match else [word]
    return lists


def read_targets(root=ROOT):
    """Every plimsoll_library() and plimsoll_program() of core, ui and app, by name."""
    targets = {}
    for top in TOP:
        for lists in sorted((root / top).rglob("CMakeLists.txt")):
            folder = lists.parent
            text = re.sub(r"#[^\n]*", "", lists.read_text())
            variables = {m.group(1): m.group(2).split() for m in re.finditer(r"^set\((\w+)\s+([^)]*)\)", text, re.M)}
            for kind, name, rest in CALL.findall(text):
                given = arguments(rest, variables)
                own = sorted(p for p in folder.iterdir() if p.suffix in (".cpp", ".h"))
                if given["STEMS"]:
                    files = [p for p in own if p.stem in given["STEMS"]]
                else:
                    files = [p for p in own if p.stem not in given["EXCEPT"]]
                targets[name] = Target(name, str(folder.relative_to(root)), kind, [str(p.relative_to(root)) for p in files],
                                       given["EXPOSES"], given["USES"], given["LINKS"])
    return targets


def umbrellas(root=ROOT):
    """INTERFACE targets that stand for several: {"engine": {"engine_base", …}}."""
    found = {}
    for lists in sorted((root / "core").rglob("CMakeLists.txt")):
        text = lists.read_text()
        for name in re.findall(r"^add_library\(plimsoll_(\w+) INTERFACE\)", text, re.M):
            members = re.search(rf"target_link_libraries\(plimsoll_{name} INTERFACE(.*?)\)", text, re.S)
            found[name] = set(re.findall(r"plimsoll::(\w+)", members.group(1)))
    return found


def floors(targets, whole=None):
    """How many targets lie below each at most; raises ValueError where some use each other in a circle."""
    known, whole = {}, whole or {}

    def floor(name, above):
        if name in above:
            raise ValueError("a circle of targets: " + " → ".join([*above[above.index(name):], name]))
        if name not in known:
            uses = {member for use in targets[name].allowed for member in whole.get(use, {use})}
            below = [floor(use, [*above, name]) for use in sorted(uses) if use in targets]
            known[name] = 1 + max(below) if below else 0
        return known[name]

    for name in targets:
        floor(name, [])
    return known
