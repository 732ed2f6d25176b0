// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

std::string block_words(const std::string& block) {
    return block.empty() ? "the top level" : fmt::format("\"{}\"", block);
}

/// Blocks that only their own keys make sense in: a word such as "enabled" or "type" is a key of many.
std::string other_block(const Case& c, const std::string& name, const std::string& block) {
    const std::vector<std::string> blocks = c.schema.blocks_with(name, block);
    return blocks.size() == 1 ? block_words(blocks.front()) : "";
}

/// Names that a misspelt one may have meant: not those that are old, or read in odd cases alone (check_unread).
std::vector<std::string> proposals(const Case& c, const std::string& block) {
    constexpr std::array<std::string_view, 3> odd{"allgather_size", "bfloat16", "data_parallel_size"};
    std::vector<std::string> names;
    for (const std::string& name : c.schema.names_in(block)) {
        const DeepSpeedKey* key = c.schema.find(joined_key(block, name));
        const bool old = key && !key->replaced_by.empty();
        if (!old && std::find(odd.begin(), odd.end(), name) == odd.end()) names.push_back(name);
    }
    return names;
}

std::string cure_of_unknown(const Case& c, const std::string& name, const std::string& block,
                            const RenamedDeepSpeedKey* renamed) {
    if (renamed) return fmt::format("it is called {} now", renamed->now);
    if (const std::string near = nearest_name(name, proposals(c, block)); !near.empty()) {
        return fmt::format("did you mean \"{}\"?", near);
    }
    if (const std::string other = other_block(c, name, block); !other.empty()) {
        return fmt::format("it belongs in {}", other);
    }
    return "take it out";
}

void unknown_key(Case& c, const std::string& block, const std::string& name, bool strict) {
    const std::string path = joined_key(block, name);
    const std::string other = other_block(c, name, block);
    const std::string near = nearest_name(name, proposals(c, block));
    const bool misplaced = !other.empty() && near != name;
    const std::string_view rule = misplaced ? "wrong-block" : "unknown-key";
    const std::string cure =
        misplaced ? fmt::format("it belongs in {}", other) : cure_of_unknown(c, name, block, c.schema.renamed(path));
    if (strict) {
        c.refused(rule, path, "DeepSpeed has no such key in {} and refuses it: {}", block_words(block), cure);
    } else {
        c.ignored(rule, path, "DeepSpeed never reads this key in {} and says nothing: {}", block_words(block), cure);
    }
}

/// Whether the key stands for an older release, which reads it.
bool check_removed(Case& c, const std::string& path) {
    const RemovedDeepSpeedKey* removed = c.schema.removed(path);
    if (!removed || c.release < removed->since) return false;
    if (c.release >= removed->until) {
        c.refused("removed", path, "DeepSpeed {} and later refuse it: {}", removed->until.text(), removed->cure);
    } else if (path != "elasticity") {
        c.deprecated("removed", path, "DeepSpeed {} and later refuse it: {}", removed->until.text(), removed->cure);
    }
    return true;
}

void check_presence(Case& c, const std::string& path, bool strict) {
    const DeepSpeedKey* key = c.schema.find(path);
    switch (c.schema.presence(path, c.release)) {
        case DeepSpeedPresence::There:
        case DeepSpeedPresence::Unknown:
            return;
        case DeepSpeedPresence::Perhaps:
            c.danger("newer-key", path,
                     "DeepSpeed {} has this key and {} has not; whether {} has it is not known: try it, or take it out",
                     key->since.text(), key->absent.text(), c.release.text());
            return;
        case DeepSpeedPresence::NotYet:
            break;
    }
    if (strict) {
        c.refused("newer-key", path, "DeepSpeed {} does not know this key, which came later (it is in {}): take it out",
                  c.release.text(), key->since.text());
    } else {
        c.ignored("newer-key", path, "DeepSpeed {} does not read this key, which came later (it is in {}): take it out",
                  c.release.text(), key->since.text());
    }
}

void walk(Case& c, const Json& block, const std::string& path);

/// Keys of the top level that are read beside others only.
void check_unread(Case& c) {
    const auto has = [&](const char* key) { return c.file.contains(key); };
    if (has("data_parallel_size") && !has("sequence_parallel_size")) {
        c.ignored("unread-key", "data_parallel_size",
                  "DeepSpeed reads it beside sequence_parallel_size alone: take it out; the number of ranks comes from "
                  "the launcher");
    }
    if (has("allgather_size") && !(has("zero_optimization") && c.file.at("zero_optimization") == true)) {
        c.ignored("unread-key", "allgather_size",
                  "DeepSpeed reads it where \"zero_optimization\" is true alone: write "
                  "zero_optimization.allgather_bucket_size");
    }
    if (has("bfloat16") && has("bf16")) {
        c.ignored("unread-key", "bfloat16", "DeepSpeed reads bf16 in its place: take it out");
    }
}

/// A field of a pydantic model under its name and its alias: the model takes the alias and refuses the name.
void check_two_names(Case& c, const Json& block, const std::string& path) {
    for (const auto& [name, value] : block.items()) {
        const DeepSpeedKey* key = c.schema.find(joined_key(path, name));
        if (!key || key->also != name || c.release < key->since) continue;
        const std::string alias = key->key.substr(key->key.rfind('.') + 1);
        if (!block.contains(alias)) continue;
        c.refused("two-names", joined_key(path, name),
                  "it stands beside {}, which is the same key under its other name: take it out", alias);
    }
}

void check_key(Case& c, const std::string& block, const std::string& name, const Json& value) {
    const std::string path = joined_key(block, name);
    const bool strict = c.schema.strict(block, c.release);
    if (block.empty() && name == "elastic") return;  // lint_elasticity
    if (check_removed(c, path)) return;
    if (c.schema.presence(path, c.release) == DeepSpeedPresence::Unknown) {
        const RenamedDeepSpeedKey* renamed = c.schema.renamed(path);
        if (renamed && c.release >= renamed->since && c.release < renamed->until) return;
        unknown_key(c, block, name, strict);
        return;
    }
    check_presence(c, path, strict);
    const bool is_block = !c.schema.names_in(path).empty();
    if (is_block && value.is_object()) {
        walk(c, value, path);
    } else if (is_block && !c.schema.find(path)) {
        if (path == "zero_optimization" && value.is_boolean()) return;  // lint_zero
        c.refused("type", path, "{} is not a block: write {{…}} with its keys", shown(value));
    } else {
        lint_value(c, path, value, strict);
    }
}

void walk(Case& c, const Json& block, const std::string& path) {
    check_two_names(c, block, path);
    for (const auto& [name, value] : block.items()) check_key(c, path, name, value);
}

/// "auto" where DeepSpeed takes the block as it is.
void find_auto(Case& c, const Json& block, const std::string& path) {
    for (const auto& [name, value] : block.items()) {
        const std::string key = joined_key(path, name);
        if (value.is_object()) {
            find_auto(c, value, key);
        } else {
            lint_auto(c, key, value, false);
        }
    }
}

}  // namespace

void lint_keys(Case& c) {
    walk(c, c.file, "");
    check_unread(c);
    for (const char* block : {"optimizer.params", "scheduler.params"}) {
        if (const Json* params = c.at(block); params && params->is_object()) find_auto(c, *params, block);
    }
}

}  // namespace plimsoll::deepspeed
