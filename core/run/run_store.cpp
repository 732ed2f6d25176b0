// SPDX-License-Identifier: Apache-2.0
// The store: the folder in which runs are kept unless another place is named.
#include "core/run/run_store.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <utility>

#include "core/base/json.h"
#include "core/base/nearest.h"
#include "core/base/write_error.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string slug(const std::string& text) {
    std::string out;
    for (const char c : text.substr(0, 60)) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0)
            out += static_cast<char>(std::tolower(byte));
        else if (!out.empty() && out.back() != '-')
            out += c == '.' ? '.' : '-';
    }
    while (!out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) == 0) out.pop_back();
    return out;
}

}  // namespace

fs::path runs_folder() {
    if (const std::string store = environment("PLIMSOLL_RUNS"); !store.empty()) return store;
    if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/'))
        return fs::path(data) / "plimsoll/runs";
    std::string home = environment("HOME");
    // A folder that anybody could have made first, as below /tmp, is no home.
    if (const passwd* account = home.empty() ? ::getpwuid(::geteuid()) : nullptr; account != nullptr)
        home = account->pw_dir;
    return home.starts_with('/') ? fs::path(home) / ".local/share/plimsoll/runs" : fs::path();
}

fs::path new_run_path(const Plan& plan) {
    std::string base;
    for (const std::string& name : {plan.model.preset, plan.model.name, plan.name}) {
        if (base.empty()) base = slug(name);
    }
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y-%m-%d-%H%M%S", &local);
    const fs::path path = runs_folder() / fmt::format("{}-{}", base.empty() ? "run" : base, stamp);
    fs::path free = path;
    std::error_code ignored;
    for (int number = 2; fs::exists(free, ignored); ++number) free = fmt::format("{}-{}", path.string(), number);
    return free;
}

Result<RunFolder> create_in_store(const Plan& plan) {
    if (runs_folder().empty()) return bad_input("there is no place for runs: set HOME, or PLIMSOLL_RUNS to a folder");
    std::error_code error;
    fs::create_directories(runs_folder(), error);
    if (error) return bad_input("{}", write_error(runs_folder(), error.value()));
    for (;;) {
        const fs::path path = new_run_path(plan);
        // Made by one alone, so whoever finds it there takes the next name.
        if (fs::create_directory(path, error)) {
            fs::permissions(path, fs::perms::owner_all, error);
            auto run = RunFolder::create(path, plan, false);
            if (!run) fs::remove(path, error);
            return run;
        }
        if (error) return bad_input("{}", write_error(path, error.value()));
    }
}

std::vector<RunFolder> list_runs(const fs::path& store) {
    std::vector<std::pair<double, RunFolder>> runs;
    std::error_code error;
    for (auto entry = fs::directory_iterator(store, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        auto run = RunFolder::open(entry->path());
        if (!run) continue;
        const auto json = read_json(run->layout().state());
        const bool known = json && json->is_object() && json->contains("started") && (*json)["started"].is_number();
        runs.emplace_back(known ? (*json)["started"].get<double>() : 0.0, std::move(*run));
    }
    std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second.name() > b.second.name();
    });
    std::vector<RunFolder> sorted;
    for (auto& [started, run] : runs) sorted.push_back(std::move(run));
    return sorted;
}

Result<RunFolder> find_run(const std::string& wanted, const fs::path& store) {
    std::error_code ignored;
    if (wanted == "latest" && !fs::exists(wanted, ignored)) {
        auto runs = list_runs(store);
        if (runs.empty()) return bad_input("there is no run in {} yet: `plimsoll train` starts one", store.string());
        return std::move(runs.front());
    }
    if (wanted.empty()) return bad_input("a run's name is needed: `plimsoll runs` lists them");
    if (auto run = RunFolder::open(wanted)) return run;
    if (wanted.find('/') == std::string::npos) {
        if (auto run = RunFolder::open(store / wanted)) return run;
    }
    if (fs::exists(wanted, ignored)) return RunFolder::open(wanted);
    std::vector<std::string> names;
    for (const RunFolder& run : list_runs(store)) names.push_back(run.name());
    return bad_input("there is no run \"{}\"{}, neither a folder nor in {}; `plimsoll runs` lists them", wanted,
                     did_you_mean(wanted, names), store.string());
}

}  // namespace plimsoll
