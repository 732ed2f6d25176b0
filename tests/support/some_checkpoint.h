// SPDX-License-Identifier: Apache-2.0
// A checkpoint with a handful of tensors, made without LibTorch.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_state.h"
#include "core/checkpoint/safetensors_header.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {

/// Bytes by name: five tensors of numbers in F32, 884 bytes in all.
inline std::map<std::string, std::string> some_tensors() {
    std::map<std::string, std::string> tensors;
    for (const auto& [name, size] : {std::pair{"a", 400}, {"b", 400}, {"c", 40}, {"d", 40}, {"e", 4}}) {
        for (int i = 0; i < size; ++i) tensors[name] += static_cast<char>(name[0] * 31 + i * 7);
    }
    return tensors;
}

inline void put_safetensors(const std::filesystem::path& path) {
    std::vector<TensorPlace> places;
    std::uint64_t next = 0;
    for (const auto& [name, bytes] : some_tensors()) {
        places.push_back({name, "F32", {static_cast<std::int64_t>(bytes.size() / 4)}, next, next + bytes.size()});
        next += bytes.size();
    }
    auto file = FileWriter::create(path);
    ASSERT_TRUE(write_safetensors_header(*file, *make_safetensors_header(places, {{"format", "pt"}})));
    for (const auto& [name, bytes] : some_tensors()) ASSERT_TRUE(file->write(bytes.data(), bytes.size()));
    ASSERT_TRUE(file->finish());
}

/// A whole checkpoint of that step; gives its folder.
inline std::filesystem::path put_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step) {
    const auto path = checkpoints / checkpoint_name(step);
    std::filesystem::create_directories(path);
    put_safetensors(path / model_file);
    put_safetensors(path / optimizer_file);
    EXPECT_TRUE(write_json(path / config_file, {{"model_type", "gpt2"}}));
    StateDocument document;
    document.state.step = step;
    EXPECT_TRUE(write_state(path, document, {model_file, optimizer_file, config_file}));
    return path;
}

}  // namespace plimsoll
