// SPDX-License-Identifier: Apache-2.0
// PLAN and --set: the arguments of every command that works on a plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cli/terminal/command.h"
#include "core/plan/plan.h"

namespace plimsoll::cli {

struct PlanArguments {
    std::string plan = "cpu-demo";
    std::vector<std::string> settings;
    std::string word;  ///< the one of `words` that --set was given

    /// Adds `[PLAN]` and `--set key=value …`. `words` are further values that --set takes.
    void add_to(CLI::App& command, const std::vector<std::string>& words = {});
    bool named() const { return named_; }

    /// Reads the plan, lets `change` work on it (--gpus, --ranks), then applies the settings, which have the last word.
    /// Notes about unknown keys go to standard error.
    Result<Plan> load(const std::function<Result<Plan>(Plan)>& change = {});
    /// The same on a plan that has been read already (a resumed run's).
    Result<Plan> change_plan(Plan plan, const std::function<Result<Plan>(Plan)>& change) const;

private:
    void sort_out(const std::vector<std::string>& words);
    CLI::Option* option_ = nullptr;
    bool named_ = false;
};

}  // namespace plimsoll::cli
