// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/plan_arguments.h"

#include <algorithm>

#include "app/cli/terminal/terminal.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"

namespace plimsoll::cli {

void PlanArguments::add_to(CLI::App& command, const std::vector<std::string>& words) {
    option_ = command.add_option("PLAN", plan, "A plan file, a plan preset or a model preset")->capture_default_str();
    const std::string also = words.empty() ? "" : fmt::format("; or one of {}", fmt::join(words, ", "));
    command.add_option("--set", settings, "Settings on top of the plan: layout.dp=4 training.steps=100 …" + also)
        ->type_name("KEY=VALUE")
        ->allow_extra_args(true);
    command.parse_complete_callback([this, words] { sort_out(words); });
}

/// `--set a=1 PLAN` reads PLAN as one more setting: a value without "=" that is none of the words is the plan.
void PlanArguments::sort_out(const std::vector<std::string>& words) {
    named_ = option_->count() > 0;
    for (const std::string& each : words) {
        if (std::erase(settings, each) > 0) word = each;
    }
    const auto plain = std::find_if(settings.begin(), settings.end(),
                                    [](const std::string& text) { return text.find('=') == std::string::npos; });
    if (named_ || plain == settings.end()) return;
    plan = *plain;
    named_ = true;
    settings.erase(plain);
}

Result<Plan> PlanArguments::load(const std::function<Result<Plan>(Plan)>& change) {
    auto loaded = plan_from_argument(plan);
    if (!loaded) return tl::unexpected(loaded.error());
    for (const std::string& note : loaded->notes) warn(note);
    return change_plan(std::move(loaded->plan), change);
}

Result<Plan> PlanArguments::change_plan(Plan loaded, const std::function<Result<Plan>(Plan)>& change) const {
    if (change) {
        auto changed = change(std::move(loaded));
        if (!changed) return changed;
        loaded = std::move(*changed);
    }
    return with_settings(loaded, settings);
}

}  // namespace plimsoll::cli
