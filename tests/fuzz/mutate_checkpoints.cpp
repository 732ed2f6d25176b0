// SPDX-License-Identifier: Apache-2.0
// mutate-checkpoints COUNT SEED FOLDER...: reads each checkpoint COUNT times with one of its files damaged; for builds
// with sanitizers, on what write_checkpoints.py wrote.
#include <fmt/core.h>

#include <cstdlib>

#include "tests/fuzz/mutate.h"

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print(stderr, "usage: mutate-checkpoints COUNT SEED FOLDER...\n");
        return 2;
    }
    for (int i = 3; i < argc; ++i) {
        const auto found =
            plimsoll::read_mutated(argv[i], std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])));
        fmt::print("{}: {} refused, {} read, {} without a sentence\n", argv[i], found.refused, found.read,
                   found.empty.size());
        if (!found.empty.empty()) return 1;
    }
    return 0;
}
