# SPDX-License-Identifier: Apache-2.0
"""In which release of DeepSpeed each key of its configuration file came, went, or had its default moved.

    read_releases.py --schema SCHEMA.json --output releases.json deepspeed-0.9.0.tar.gz deepspeed-0.9.1.tar.gz ...

Reads the source archives without running them: fields of pydantic classes and constants are taken from the syntax
tree. SCHEMA.json (tests/oracles/deepspeed/schema.json) says which class checks which key. A key is left out where that
does not find it in the newest release, since then nothing can be said of the others.
"""
import argparse
import ast
import json
import re
import sys
import tarfile

ABSENT = "absent"
# Files with the constants that name the keys of a block which is read key by key.
CONSTANTS = {
    "": "runtime/constants.py", "fp16": "runtime/constants.py", "bf16": "runtime/constants.py",
    "activation_checkpointing": "runtime/activation_checkpointing/config.py", "flops_profiler": "profiling/constants.py",
    "autotuning": "autotuning/constants.py", "aio": "runtime/swap_tensor/constants.py",
    "checkpoint": "runtime/model_checkpointing/constants.py", "data_types": "runtime/constants.py",
    "torch_autocast": "runtime/constants.py", "data_efficiency": "runtime/data_pipeline/constants.py",
}

# Blocks that came as a whole, whose keys have names that other blocks have too: the block's own name decides.
WHOLE = {"torch_autocast": "runtime/constants.py"}
# Blocks that are read into a dataclass.
DATACLASSES = {"expert_parallel": "AutoEPConfig"}


class Release:
    """Classes and constants of one source archive."""

    def __init__(self, path):
        self.version = re.search(r"deepspeed-([\d.]+)\.tar", path)[1]
        self.fields, self.values, self.constants = {}, {}, {}
        with tarfile.open(path) as archive:
            for member in archive:
                inside = member.name.split("/", 2)
                if len(inside) == 3 and inside[1] == "deepspeed" and inside[2].endswith(".py"):
                    self.read(inside[2], archive.extractfile(member).read().decode("utf-8", "replace"))

    def read(self, name, text):
        if not ("Config" in text or "Enum" in text or "constants" in name or "config" in name):
            return
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return
        constants = self.constants.setdefault(name, {})
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self.value(node.value)
                constants[node.targets[0].id] = value
                self.values.setdefault(node.targets[0].id, value)
            elif isinstance(node, ast.ClassDef):
                self.read_class(node)

    def read_class(self, node):
        fields = {}
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                fields[part.target.id] = part.value
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                self.values.setdefault(f"{node.name}.{part.targets[0].id}", self.value(part.value))
        if fields:
            self.fields[node.name] = fields

    def value(self, node):
        """What an expression is, as far as that is plain: a literal, a named constant, pp_int(literal), Field(literal)."""
        if node is None:
            return None
        try:
            return ast.literal_eval(node)
        except ValueError:
            pass
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("pp_int", "int") and node.args:
                number = self.value(node.args[0])
                return int(number) if isinstance(number, (int, float)) else number
            if name == "Field":
                default = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "default"), None)
                return self.value(default)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.values.get(ast.unparse(node), ast.unparse(node))
        return ast.unparse(node)

    def of_class(self, name, field):
        fields = self.fields.get(name)
        if fields is None:
            return None
        return self.value(fields[field]) if field in fields else ABSENT

    def of_constants(self, block, key):
        """The default that stands beside the constant with the key's name; None: there is no such file."""
        constants = self.constants.get(CONSTANTS.get(block, ""), {})
        names = [name for name, value in constants.items() if value == key and isinstance(value, str)]
        if not names:
            return ABSENT
        for name in names:
            if f"{name}_DEFAULT" in constants:
                return constants[f"{name}_DEFAULT"]
        return ABSENT if block else None

    def state(self, entry):
        """The key's default in this release, or ABSENT."""
        key, checker = entry["key"], entry["checked_by"]
        block, _, name = key.rpartition(".")
        if checker.startswith("pydantic "):
            found = self.of_class(checker.split()[1], entry.get("alias_of", name))
            if found is not None or checker.split()[1] in self.fields:
                return found
        if block in WHOLE:
            return None if block in self.constants.get(WHOLE[block], {}).values() else ABSENT
        if block in DATACLASSES:
            return ABSENT if DATACLASSES[block] not in self.fields else self.of_class(DATACLASSES[block], name)
        return self.of_constants(block.split(".")[0], name)


def order(version):
    return [int(part) for part in version.split(".")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("archives", nargs="+")
    options = parser.parse_args()
    with open(options.schema) as file:
        entries = json.load(file)["entries"]
    releases = sorted((Release(path) for path in options.archives), key=lambda release: order(release.version))
    keys = {}
    for entry in entries:
        states = [release.state(entry) for release in releases]
        if states[-1] == ABSENT:
            continue
        history, before = [], object()
        for release, state in zip(releases, states):
            if state != before or type(state) is not type(before):
                history.append([release.version, state])
            before = state
        keys[entry["key"]] = history
    with open(options.output, "w") as file:
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(history)}" for key, history in keys.items())
        versions = json.dumps([release.version for release in releases])
        file.write(f'{{\n "releases": {versions},\n "keys": {{\n{lines}\n }}\n}}\n')
    print(f"{len(releases)} releases, {len(keys)} of {len(entries)} keys", file=sys.stderr)


if __name__ == "__main__":
    main()
