#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes plimsoll-VERSION-cpXY-cpXY-PLATFORM.whl (PEP 427) of the compiled module, python/plimsoll, presets and resources.

Shared libraries that a plain Linux has not are put in beside the module, with their licences, so that the wheel needs
nothing but Python, the C library and GCC's run-time libraries.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of every Linux with a Python built by GCC.
EVERYWHERE = re.compile(r"^(linux-vdso|ld-linux.*|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so")


def libraries_of(module):
    """Paths of the shared libraries to put in, by the name they are looked up under."""
    found = {}
    for line in subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, place = line.strip().partition(" => ")
        if EVERYWHERE.match(pathlib.Path(name.split(" ")[0]).name):
            continue
        if not place or "not found" in place:
            sys.exit(f"make_wheel.py: {module} needs {name}, which is not found: install its package")
        found[name] = pathlib.Path(place.rsplit(" (", 1)[0])
    return found


def licence_of(library):
    """The licence file of a library's Debian package; None where dpkg does not know the file."""
    for place in (library, library.resolve(), pathlib.Path("/usr") / str(library.resolve()).lstrip("/")):
        owner = subprocess.run(["dpkg-query", "-S", str(place)], capture_output=True, text=True)
        if owner.returncode == 0:
            text = pathlib.Path("/usr/share/doc") / owner.stdout.split(":")[0] / "copyright"
            return text if text.is_file() else None
    return None


def contents(module, info):
    """Every file of the wheel but dist-info's own: name in the wheel -> path."""
    files = {f"plimsoll/{module.name}": module}
    for path in sorted((ROOT / "python/plimsoll").iterdir()):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            files[f"plimsoll/{path.name}"] = path
    for folder in ("presets", "resources"):
        for path in sorted((ROOT / folder).rglob("*")):
            # The tables of others' measurements are for `plimsoll validate`, which a notebook has not.
            if path.is_file() and path.parent.name != "validation":
                files[f"plimsoll/data/{path.relative_to(ROOT)}"] = path
    for name, path in sorted(libraries_of(module).items()):
        files[f"plimsoll/lib/{name}"] = path.resolve()
        if licence := licence_of(path):
            files[f"{info}/licenses/{name}.txt"] = licence
    files[f"{info}/licenses/Apache-2.0.txt"] = ROOT / "LICENSES/Apache-2.0.txt"
    return files


def metadata(version):
    low = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (f"Metadata-Version: 2.1\nName: plimsoll\nVersion: {version}\n"
            "Summary: Training memory, step time, layouts, exports and config lint for large models\n"
            f"License: Apache-2.0\nRequires-Python: =={low}.*\n")


def make(module, version, out):
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"plimsoll-{version}.dist-info"
    whole = {name: path.read_bytes() for name, path in contents(module, info).items()}
    whole[f"{info}/METADATA"] = metadata(version).encode()
    whole[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: plimsoll {version}\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}-{tag}-{platform}\n").encode()
    record = ""
    for name, data in whole.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    whole[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

    out.mkdir(parents=True, exist_ok=True)
    target = out / f"plimsoll-{version}-{tag}-{tag}-{platform}.whl"
    with tempfile.NamedTemporaryFile(dir=out, delete=False) as beside:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as wheel:
            for name, data in whole.items():
                entry = zipfile.ZipInfo(name)  # dated 1980: the same contents make the same file
                entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
                wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    os.chmod(beside.name, 0o644)
    os.replace(beside.name, target)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", type=pathlib.Path, required=True, help="the compiled _plimsoll")
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the wheel")
    arguments = parser.parse_args()
    print(make(arguments.module.resolve(), arguments.version, arguments.out))


if __name__ == "__main__":
    main()
