// SPDX-License-Identifier: Apache-2.0
// Tokens on disk, as nanoGPT packs them: one after another, without a head; what they are stands beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

struct TokenFile {
    int width = 2;  ///< bytes of a token, little endian: 2 (uint16) or 4 (uint32)
    std::int64_t tokens = 0;
    std::int64_t vocab_size = 0;  ///< tokens are below it
    std::int64_t documents = 1;
    std::uint64_t hash = 0;           ///< XXH64 of the bytes
    std::filesystem::path tokenizer;  ///< the tokenizer.json that lies beside it, or empty
};

/// Whether FILE.bin has its description, FILE.bin.json, beside it.
bool is_token_file(const std::filesystem::path& path);

/// The description, compared with the size of the file. Errors name what does not fit together.
Result<TokenFile> read_token_file(const std::filesystem::path& path);

/// Error where the bytes are not those that were described: damaged, cut, or of another file.
Result<void> require_tokens(std::string_view bytes, const TokenFile& file, const std::filesystem::path& path);

/// Writes FILE, FILE.json and FILE.tokenizer.json, each whole or not at all, the description last. `vocab_size` above
/// 65,536 takes four bytes a token.
Result<void> write_token_file(const std::filesystem::path& path, std::span<const std::int32_t> ids,
                              std::int64_t vocab_size, std::int64_t documents, const Json& tokenizer);

/// The token at place `at` of bytes of that width.
std::int64_t token_at(std::string_view bytes, int width, std::size_t at);

}  // namespace plimsoll
