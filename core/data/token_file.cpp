// SPDX-License-Identifier: Apache-2.0
#include "core/data/token_file.h"

#include <charconv>
#include <cstring>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/xxh64.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_of_two_bytes = 65'536;

fs::path beside(const fs::path& path, const char* ending) { return path.string() + ending; }

Result<std::int64_t> count_in(const Json& json, const char* key, std::int64_t least, const fs::path& path) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer() || found->get<std::int64_t>() < least ||
        found->get<std::int64_t>() > (std::int64_t{1} << 40)) {
        return bad_input("{} says no {}; make the tokens anew with plimsoll tokenize -o", path.string(), key);
    }
    return found->get<std::int64_t>();
}

}  // namespace

bool is_token_file(const fs::path& path) {
    std::error_code ignored;
    return path.extension() == ".bin" && fs::exists(beside(path, ".json"), ignored);
}

Result<TokenFile> read_token_file(const fs::path& path) {
    const fs::path description = beside(path, ".json");
    PLIMSOLL_TRY(const Json json, read_json(description, 1 * MiB));
    if (!json.is_object()) return bad_input("{} holds no object", description.string());
    TokenFile file;
    const std::string dtype = json.value("dtype", Json()).is_string() ? json["dtype"].get<std::string>() : "";
    if (dtype != "uint16" && dtype != "uint32") {
        return bad_input("{} says no dtype that is known (uint16, uint32)", description.string());
    }
    file.width = dtype == "uint16" ? 2 : 4;
    PLIMSOLL_TRY(file.tokens, count_in(json, "tokens", 0, description));
    PLIMSOLL_TRY(file.vocab_size, count_in(json, "vocab_size", 1, description));
    PLIMSOLL_TRY(file.documents, count_in(json, "documents", 0, description));
    const std::string hash = json.value("xxh64", Json()).is_string() ? json["xxh64"].get<std::string>() : "";
    const auto read = std::from_chars(hash.data(), hash.data() + hash.size(), file.hash, 16);
    if (hash.empty() || read.ec != std::errc() || read.ptr != hash.data() + hash.size()) {
        return bad_input("{} says no xxh64; make the tokens anew with plimsoll tokenize -o", description.string());
    }
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) return bad_input("{} cannot be read: {}", path.string(), error.message());
    if (size != static_cast<std::uintmax_t>(file.tokens) * static_cast<std::uintmax_t>(file.width)) {
        return bad_input(
            "{} holds {} bytes, and {} describes {} tokens of {} bytes; make the tokens anew with plimsoll "
            "tokenize -o",
            path.string(), size, description.string(), file.tokens, file.width);
    }
    if (const fs::path tokenizer = beside(path, ".tokenizer.json"); fs::exists(tokenizer, error))
        file.tokenizer = tokenizer;
    return file;
}

Result<void> require_tokens(std::string_view bytes, const TokenFile& file, const fs::path& path) {
    if (xxh64(bytes) != file.hash) {
        return bad_input(
            "{} is not the file that {}.json describes: its bytes have another hash; make the tokens anew with "
            "plimsoll tokenize -o",
            path.string(), path.string());
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(file.tokens); ++at) {
        if (const std::int64_t token = token_at(bytes, file.width, at); token >= file.vocab_size) {
            return bad_input("{} holds the token {} at place {}, and {}.json says that tokens are below {}",
                             path.string(), token, at, path.string(), file.vocab_size);
        }
    }
    return {};
}

Result<void> write_token_file(const fs::path& path, std::span<const std::int32_t> ids, std::int64_t vocab_size,
                              std::int64_t documents, const Json& tokenizer) {
    if (path.extension() != ".bin") {
        return bad_input("{} does not end in .bin, by which data.path knows tokens; name it {}.bin", path.string(),
                         path.stem().string());
    }
    const std::size_t width = vocab_size <= most_of_two_bytes ? 2 : 4;
    std::string bytes(ids.size() * width, '\0');
    for (std::size_t i = 0; i < ids.size(); ++i) std::memcpy(bytes.data() + i * width, &ids[i], width);
    PLIMSOLL_CHECK(write_file_atomic(path, bytes));
    PLIMSOLL_CHECK(write_json(beside(path, ".tokenizer.json"), tokenizer));
    return write_json(beside(path, ".json"), {{"dtype", width == 2 ? "uint16" : "uint32"},
                                              {"tokens", ids.size()},
                                              {"vocab_size", vocab_size},
                                              {"documents", documents},
                                              {"xxh64", fmt::format("{:016x}", xxh64(bytes))}});
}

std::int64_t token_at(std::string_view bytes, int width, std::size_t at) {
    const char* place = bytes.data() + at * static_cast<std::size_t>(width);
    if (width == 1) return static_cast<unsigned char>(*place);
    if (width == 2) {
        std::uint16_t token = 0;
        std::memcpy(&token, place, sizeof token);
        return token;
    }
    std::uint32_t token = 0;
    std::memcpy(&token, place, sizeof token);
    return token;
}

}  // namespace plimsoll
