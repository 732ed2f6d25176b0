// SPDX-License-Identifier: Apache-2.0
// Damages files at random and reads them: whatever comes out has to be a checkpoint or a sentence.
#pragma once

#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/stored_checkpoint.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {

struct Mutations {
    int refused = 0, read = 0;
    std::set<std::string> empty;  ///< sentences that say nothing
};

/// Flips, overwrites, removes, doubles or cuts a few bytes.
inline std::string mutated(std::string bytes, std::mt19937& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
    for (std::size_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = below(bytes.size()), size = 1 + below(std::min<std::size_t>(16, bytes.size() - at));
        switch (random() % 6) {
            case 0:
                bytes[at] = static_cast<char>(bytes[at] ^ (1U << below(8)));
                break;
            case 1:
                bytes[at] = static_cast<char>(random());
                break;
            case 2:
                for (std::size_t i = 0; i < size; ++i) bytes[at + i] = random() % 2 == 0 ? '\xFF' : '\x7F';
                break;
            case 3:
                bytes.erase(at, size);
                break;
            case 4:
                bytes.insert(at, bytes.substr(below(bytes.size()), size));
                break;
            default:
                if (random() % 8 == 0) bytes.resize(at);
        }
    }
    return bytes;
}

/// Reads the checkpoint with one of its files damaged, `count` times.
inline Mutations read_mutated(const std::filesystem::path& folder, int count, unsigned seed) {
    namespace fs = std::filesystem;
    Mutations found;
    std::mt19937 random(seed);
    TempFolder copy;
    fs::copy(folder, copy.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::vector<fs::path> files;
    for (const auto& each : fs::recursive_directory_iterator(copy.path())) {
        if (each.is_regular_file() && each.path().extension() != ".safetensors") files.push_back(each.path());
    }
    std::sort(files.begin(), files.end());
    for (int i = 0; i < count; ++i) {
        const fs::path& file = files[random() % files.size()];
        const std::string good = contents_of(file);
        put_contents(file, mutated(good, random));
        const auto checkpoint = open_checkpoint(copy.path());
        bool whole = checkpoint.has_value();
        if (!checkpoint && checkpoint.error().message.size() < 20) found.empty.insert(checkpoint.error().message);
        for (const StoredTensor& each : whole ? checkpoint->weights : std::vector<StoredTensor>()) {
            std::string values(each.bytes(), '\0');
            whole = read_values(each, values.data()).has_value() && whole;
        }
        ++(whole ? found.read : found.refused);
        put_contents(file, good);
    }
    return found;
}

}  // namespace plimsoll
