#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing of Gloo is compiled into the engine but pointers to its classes: its headers here only declare names.

    check_gloo_names.py LIBRARY | --self-test
"""
import re
import subprocess
import sys

# A function or table of Gloo itself, or of the class that derives from one of Gloo's.
OWN = re.compile(r"^(?:vtable for |typeinfo for |typeinfo name for |construction vtable for )?(?:gloo::|c10d::ProcessGroupGloo::GlooStore)")


# Called by LibTorch's own inline functions, and found in its library by the whole signature: no layout is passed.
CALLED = {"U gloo::Context::setTimeout(std::chrono::duration<long, std::ratio<1l, 1000l> >)"}


def faults(symbols):
    return [line for line in symbols if line not in CALLED and OWN.match(line.split(" ", 1)[-1].strip())]


def main():
    if sys.argv[1:] == ["--self-test"]:
        bad = ["U gloo::Context::getDevice()", "V vtable for c10d::ProcessGroupGloo::GlooStore", "W gloo::rendezvous::Store::~Store()"]
        good = ["U c10d::ProcessGroupGloo::createDeviceForInterface(std::string const&, bool)",
                "W std::vector<std::shared_ptr<gloo::transport::Device> >::~vector()", *CALLED]
        assert faults(bad) == bad and not faults(good)
        return 0
    lines = subprocess.run(["nm", "-C", "--format=bsd", sys.argv[1]], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    symbols = [re.sub(r"^[0-9a-f ]{16} ", "", line).strip() for line in lines if line.strip()]
    assert any("ProcessGroupGloo" in line for line in symbols), "the library has nothing of ProcessGroupGloo in it"
    found = faults(symbols)
    print("\n".join(found) or "only pointers to Gloo's classes pass")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
