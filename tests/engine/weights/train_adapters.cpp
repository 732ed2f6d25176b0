// SPDX-License-Identifier: Apache-2.0
// For check_peft.py: train_adapter() of files that the real PEFT wrote.
//     train-adapters BASE ADAPTER TOKENS OUT
#include <cstdio>

#include "tests/support/adapter_run.h"

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: train-adapters BASE ADAPTER TOKENS OUT\n");
        return 2;
    }
    const auto done = plimsoll::engine::train_adapter(argv[1], argv[2], argv[3], argv[4]);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}
