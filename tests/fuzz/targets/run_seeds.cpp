// SPDX-License-Identifier: Apache-2.0
// Runs a target over its seeds, where libFuzzer is not at hand: every build tests that the targets work.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/targets/input.h"

int main(int argc, char** argv) {
    int inputs = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& each : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream in(each.path(), std::ios::binary);
            const std::string bytes(std::istreambuf_iterator<char>(in), {});
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
            ++inputs;
        }
    }
    std::printf("%d inputs\n", inputs);
    return inputs > 0 ? 0 : 1;
}
