// SPDX-License-Identifier: Apache-2.0
// plimsoll tokenize: texts as tokens of a Hugging Face tokenizer: counted, shown, or packed for training.
#include <chrono>
#include <optional>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/data/token_file.h"
#include "core/tokenizer/tokenizer.h"

namespace plimsoll::cli {

namespace {

struct TokenizeArguments {
    std::vector<std::string> files;
    std::string tokenizer, out;
    std::optional<std::string> end;
    bool ids = false, tokens = false, special = false, lines = false, json = false;
};

using Clock = std::chrono::steady_clock;

struct Counted {
    std::string file;
    std::int64_t bytes = 0, documents = 0, tokens = 0;
    Seconds seconds = 0;
};

/// Documents of a file: the whole of it, or each line.
std::vector<std::string_view> documents_in(std::string_view text, bool lines) {
    if (!lines) return {text};
    std::vector<std::string_view> out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

void show_document(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool tokens) {
    std::string line;
    for (const TokenId id : ids) {
        if (!line.empty()) line += ' ';
        line += tokens ? printable(tokenizer.token_of(id)) : std::to_string(id);
    }
    say_exactly(line + "\n");
}

Result<int> tokenize(const TokenizeArguments& arguments) {
    PLIMSOLL_TRY(const Json description, Tokenizer::read(arguments.tokenizer));
    PLIMSOLL_TRY(const Tokenizer tokenizer, Tokenizer::from_json(description));
    std::optional<TokenId> end;
    if (arguments.end) {
        end = tokenizer.id_of(*arguments.end);
        if (!end) return bad_input("the tokenizer {} has no token {} (--end)", arguments.tokenizer, *arguments.end);
    }
    if (arguments.files.empty()) {
        return bad_input("name a text to tokenize: plimsoll tokenize book.txt --tokenizer {}", arguments.tokenizer);
    }
    WordCache cache;
    std::vector<TokenId> all, ids;
    std::vector<Counted> counted;
    for (const std::string& file : arguments.files) {
        PLIMSOLL_TRY(const std::string text, read_file(file, 4 * GiB));
        Counted count{file, static_cast<std::int64_t>(text.size())};
        const Clock::time_point began = Clock::now();
        for (const std::string_view document : documents_in(text, arguments.lines)) {
            ids.clear();
            PLIMSOLL_CHECK(tokenizer.encode(document, arguments.special, cache, ids));
            if (end) ids.push_back(*end);
            ++count.documents;
            count.tokens += static_cast<std::int64_t>(ids.size());
            if (arguments.ids || arguments.tokens) show_document(tokenizer, ids, arguments.tokens);
            if (!arguments.out.empty()) all.insert(all.end(), ids.begin(), ids.end());
        }
        count.seconds = std::chrono::duration<double>(Clock::now() - began).count();
        counted.push_back(std::move(count));
    }
    if (!arguments.out.empty()) {
        std::int64_t documents = 0;
        for (const Counted& each : counted) documents += each.documents;
        PLIMSOLL_CHECK(write_token_file(arguments.out, all, tokenizer.vocab_size(), documents, description));
    }
    if (arguments.json) {
        Json list = Json::array();
        for (const Counted& each : counted) {
            list.push_back({{"file", each.file},
                            {"bytes", each.bytes},
                            {"documents", each.documents},
                            {"tokens", each.tokens},
                            {"seconds", each.seconds}});
        }
        say_json(
            {{"tokenizer", arguments.tokenizer}, {"vocab_size", tokenizer.vocab_size()}, {"files", std::move(list)}});
    } else if (!arguments.ids && !arguments.tokens) {
        for (const Counted& each : counted) {
            say(fmt::format("{}: {} tokens, {:.2f} bytes per token, {:.1f} MB/s\n", printable(each.file),
                            format_count(each.tokens), as_double(each.bytes) / std::max(1.0, as_double(each.tokens)),
                            as_double(each.bytes) / 1e6 / std::max(1e-9, each.seconds)));
        }
    }
    return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "tokenize", "Count, show or pack the tokens of texts");
    const auto arguments = std::make_shared<TokenizeArguments>();
    command->add_option("FILE", arguments->files, "Text files");
    command
        ->add_option("--tokenizer", arguments->tokenizer,
                     "tokenizer.json of Hugging Face, a folder with it, or a folder with vocab.json and merges.txt")
        ->required();
    command->add_flag("--ids", arguments->ids, "Print the ids, a document per line");
    command->add_flag("--tokens", arguments->tokens,
                      "Print the tokens as the vocabulary spells them, a document per line");
    command->add_flag("--lines", arguments->lines, "Each line is a document, not each file");
    command->add_flag("--special", arguments->special, "With the tokens that the tokenizer puts around each document");
    command->add_option("--end", arguments->end, "A token to put behind each document, e.g. \"<|endoftext|>\"");
    command->add_option(
        "-o,--out", arguments->out,
        "Pack the ids into FILE.bin for training (--data FILE.bin): uint16, or uint32 above 65,536 tokens, as "
        "nanoGPT does, with FILE.bin.json and the tokenizer beside it");
    command->add_flag("--json", arguments->json, "JSON: files with bytes, documents, tokens and seconds");
    command->callback([arguments, &work] { work = [arguments] { return tokenize(*arguments); }; });
}

}  // namespace plimsoll::cli
