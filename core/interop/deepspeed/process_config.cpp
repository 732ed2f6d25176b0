// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/process_config.h"

#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_bytes = 1 << 20;

/// The zero-terminated texts of a file in /proc; nothing where the file may not be read.
std::optional<std::vector<std::string>> texts_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string bytes(most_bytes, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
        texts.push_back(bytes.substr(at, end - at));
        at = end + 1;
    }
    return texts;
}

/// The value of an option that is given as "--name value" or "--name=value".
std::optional<std::string> value_of(const std::vector<std::string>& arguments, std::string_view name) {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == name && i + 1 < arguments.size()) return arguments[i + 1];
        if (argument.starts_with(name) && argument.size() > name.size() && argument[name.size()] == '=') {
            return argument.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> world_size_of(const fs::path& process) {
    constexpr std::string_view name = "WORLD_SIZE=";
    const auto environment = texts_of(process / "environ");
    if (!environment) return std::nullopt;
    for (const std::string& each : *environment) {
        if (!each.starts_with(name)) continue;
        std::int64_t size = 0;
        const char* const end = each.data() + each.size();
        const auto [stop, error] = std::from_chars(each.data() + name.size(), end, size);
        if (error == std::errc() && stop == end && size > 0) return size;
    }
    return std::nullopt;
}

}  // namespace

Result<ProcessConfig> find_process_config(std::int64_t pid, const fs::path& proc) {
    const fs::path process = proc / std::to_string(pid);
    std::error_code error;
    if (pid <= 0 || !fs::is_directory(process, error)) {
        return bad_input("there is no process {} here; `ps aux` lists those there are", pid);
    }
    const auto arguments = texts_of(process / "cmdline");
    if (!arguments || arguments->empty()) {
        return bad_input("the command line of process {} cannot be read: it has ended, or is the system's own", pid);
    }
    const fs::path folder = fs::read_symlink(process / "cwd", error);
    if (error) {
        return bad_input(
            "the folder of process {} may not be read; ask as its user, or give the file to `plimsoll import deepspeed`",
            pid);
    }
    ProcessConfig config;
    config.world_size = world_size_of(process);
    if (fs::path(arguments->front()).filename() == "plimsoll-worker") {
        for (std::size_t i = 1; i < arguments->size(); ++i) {
            const fs::path plan = RunLayout(folder / (*arguments)[i]).plan();
            if (!fs::is_regular_file(plan, error)) continue;
            config.kind = ProcessConfig::Kind::Plimsoll;
            config.path = plan;
            return config;
        }
    }
    for (const std::string_view name : {"--deepspeed_config", "--deepspeed-config", "--deepspeed"}) {
        const auto value = value_of(*arguments, name);
        // --deepspeed alone is a switch of DeepSpeed's own scripts.
        if (!value || !value->ends_with(".json")) continue;
        config.path = folder / *value;
        return config;
    }
    return bad_input(
        "the command line of process {} names no configuration: --deepspeed_config FILE, --deepspeed FILE and "
        "plimsoll-worker's run folder are looked for",
        pid);
}

}  // namespace plimsoll
