// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/deepspeed_schema.h"

#include <algorithm>

#include "core/plan/presets.h"

namespace plimsoll {

namespace {

/// The file's own releases are known ones, so an unknown text there is an error of the file.
DeepSpeedRelease release_of(const Json& entry, const char* key) {
    if (!entry.contains(key) || entry.at(key).is_null()) return {};
    const auto release = known_deepspeed_release(entry.at(key).get<std::string>());
    if (!release) throw std::invalid_argument(release.error().message);
    return *release;
}

std::optional<double> number_of(const Json& entry, const char* key) {
    if (!entry.contains(key)) return std::nullopt;
    return entry.at(key).get<double>();
}

/// "a.b.c" -> {"a.b", "c"}
std::pair<std::string, std::string> split_key(std::string_view path) {
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return {"", std::string(path)};
    return {std::string(path.substr(0, dot)), std::string(path.substr(dot + 1))};
}

Result<DeepSpeedSchema> read_schema() {
    PLIMSOLL_TRY(const auto json, read_json(data_folder() / "resources" / "deepspeed-schema.json"));
    return DeepSpeedSchema::from_json(json);
}

void add_differences(const Json& block, const std::string& path, const DeepSpeedSchema& schema,
                     const DeepSpeedRelease& release, std::vector<DeepSpeedDifference>& differences) {
    for (const auto& [name, value] : block.items()) {
        const std::string key = joined_key(path, name);
        if (value.is_object() && !schema.names_in(key).empty()) {
            add_differences(value, key, schema, release, differences);
            continue;
        }
        const DeepSpeedKey* known = schema.find(key);
        Json standard = known ? schema.default_in(key, release) : Json();
        if (known && standard == value) continue;
        differences.push_back({key, value, std::move(standard), known ? known->meaning : "", known != nullptr});
    }
}

}  // namespace

std::string joined_key(const std::string& block, std::string_view name) {
    return block.empty() ? std::string(name) : fmt::format("{}.{}", block, name);
}

void DeepSpeedSchema::index_key(std::size_t at) {
    const DeepSpeedKey& key = keys_[at];
    auto [block, name] = split_key(key.key);
    by_path_[key.key] = at;
    names_[block].insert(name);
    if (!key.also.empty()) {
        by_path_[joined_key(block, key.also)] = at;
        names_[block].insert(key.also);
    }
    // "a.b.c" makes "b" a name in "a", and "a" one at the top.
    while (!block.empty()) {
        std::tie(block, name) = split_key(block);
        names_[block].insert(name);
    }
}

void DeepSpeedSchema::add(const Json& entry) {
    DeepSpeedKey key;
    key.key = entry.at("key").get<std::string>();
    key.type = entry.at("type").get<std::string>();
    key.default_value = entry.at("default");
    key.meaning = entry.at("meaning").get<std::string>();
    key.min = number_of(entry, "min");
    key.max = number_of(entry, "max");
    key.above = number_of(entry, "above");
    key.below = number_of(entry, "below");
    if (entry.contains("allowed")) key.allowed = entry.at("allowed").get<std::vector<Json>>();
    key.also = entry.value("also", "");
    key.replaced_by = entry.value("replaced_by", "");
    key.since = release_of(entry, "since");
    key.absent = release_of(entry, "absent");
    key.bounds_since = release_of(entry, "bounds_since");
    if (entry.contains("moved")) {
        for (const Json& move : entry.at("moved")) {
            key.moved.push_back({release_of(move, "after"), release_of(move, "at"), move.at("before")});
        }
    }
    keys_.push_back(std::move(key));
    index_key(keys_.size() - 1);
}

DeepSpeedRelease DeepSpeedSchema::first_with(const std::string& block) const {
    std::optional<DeepSpeedRelease> first;
    for (const DeepSpeedKey& key : keys_) {
        if (key.key.starts_with(block + ".")) first = std::min(first.value_or(key.since), key.since);
    }
    return first.value_or(DeepSpeedRelease{});
}

Result<DeepSpeedSchema> DeepSpeedSchema::from_json(const Json& json) try {
    DeepSpeedSchema schema;
    for (const Json& entry : json.at("keys")) schema.add(entry);
    for (const Json& entry : json.at("removed")) {
        schema.removed_[entry.at("key").get<std::string>()] = {release_of(entry, "until"), release_of(entry, "since"),
                                                               entry.at("cure").get<std::string>()};
    }
    for (const Json& entry : json.at("renamed")) {
        schema.renamed_[entry.at("key").get<std::string>()] = {entry.at("now").get<std::string>(),
                                                               release_of(entry, "since"), release_of(entry, "until")};
    }
    for (const auto& [block, since] : json.at("strict").items()) {
        const DeepSpeedRelease given =
            since.is_null() ? DeepSpeedRelease{} : release_of(json.at("strict"), block.c_str());
        schema.strict_[block] = std::max(given, schema.first_with(block));
    }
    for (const auto& [name, arguments] : json.at("optimizers").items()) {
        schema.optimizers_[name] = arguments.get<std::vector<std::string>>();
    }
    for (const auto& [name, arguments] : json.at("schedulers").items()) {
        schema.schedulers_[name] = {arguments.at("required").get<std::vector<std::string>>(),
                                    arguments.at("optional").get<std::vector<std::string>>(),
                                    release_of(arguments, "since")};
    }
    return schema;
} catch (const std::exception& error) {
    return bad_input("resources/deepspeed-schema.json is not a schema of DeepSpeed's keys: {}; install Plimsoll again",
                     error.what());
}

const DeepSpeedKey* DeepSpeedSchema::find(std::string_view path) const {
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? nullptr : &keys_[found->second];
}

std::vector<std::string> DeepSpeedSchema::names_in(const std::string& block) const {
    const auto found = names_.find(block);
    if (found == names_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::vector<std::string> DeepSpeedSchema::blocks_with(const std::string& name, const std::string& block) const {
    std::vector<std::string> blocks;
    for (const auto& [each, names] : names_) {
        if (each != block && names.contains(name)) blocks.push_back(each);
    }
    return blocks;
}

const RemovedDeepSpeedKey* DeepSpeedSchema::removed(const std::string& path) const {
    const auto found = removed_.find(path);
    return found == removed_.end() ? nullptr : &found->second;
}

const RenamedDeepSpeedKey* DeepSpeedSchema::renamed(const std::string& path) const {
    const auto found = renamed_.find(path);
    return found == renamed_.end() ? nullptr : &found->second;
}

DeepSpeedPresence DeepSpeedSchema::presence(const std::string& path, const DeepSpeedRelease& release) const {
    const DeepSpeedKey* key = find(path);
    if (!key) return names_.contains(path) ? DeepSpeedPresence::There : DeepSpeedPresence::Unknown;
    if (release >= key->since) return DeepSpeedPresence::There;
    const bool may_be = key->absent != DeepSpeedRelease{} && release > key->absent;
    return may_be ? DeepSpeedPresence::Perhaps : DeepSpeedPresence::NotYet;
}

bool DeepSpeedSchema::strict(const std::string& block, const DeepSpeedRelease& release) const {
    for (std::string at = block; !at.empty(); at = split_key(at).first) {
        if (const auto found = strict_.find(at); found != strict_.end()) return release >= found->second;
    }
    return false;
}

Json DeepSpeedSchema::default_in(std::string_view path, const DeepSpeedRelease& release) const {
    const DeepSpeedKey* key = find(path);
    if (!key) return {};
    for (const DeepSpeedKey::Move& move : key->moved) {
        if (release < move.at) return move.before;
    }
    return key->default_value;
}

const std::vector<std::string>* DeepSpeedSchema::optimizer_arguments(const std::string& class_name) const {
    const auto found = optimizers_.find(class_name);
    return found == optimizers_.end() ? nullptr : &found->second;
}

const DeepSpeedSchema::SchedulerArguments* DeepSpeedSchema::scheduler_arguments(const std::string& type) const {
    const auto found = schedulers_.find(type);
    return found == schedulers_.end() ? nullptr : &found->second;
}

std::vector<std::string> DeepSpeedSchema::torch_optimizers() const {
    constexpr std::string_view prefix = "torch.optim.";
    std::vector<std::string> names;
    for (const auto& [name, arguments] : optimizers_) {
        if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
    }
    return names;
}

std::vector<std::string> DeepSpeedSchema::schedulers() const {
    std::vector<std::string> names;
    for (const auto& [name, arguments] : schedulers_) names.push_back(name);
    return names;
}

const Result<DeepSpeedSchema>& deepspeed_schema() {
    static const Result<DeepSpeedSchema> schema = read_schema();
    return schema;
}

std::vector<DeepSpeedDifference> differences_from_defaults(const Json& file, const DeepSpeedSchema& schema,
                                                           const DeepSpeedRelease& release) {
    std::vector<DeepSpeedDifference> differences;
    if (file.is_object()) add_differences(file, "", schema, release, differences);
    return differences;
}

}  // namespace plimsoll
