// SPDX-License-Identifier: Apache-2.0
// plimsoll doctor: the problems of a plan or a run, their causes, and changes that help.
#include <filesystem>
#include <optional>
#include <system_error>

#include "app/cli/reports/doctor_report.h"
#include "app/cli/terminal/command.h"
#include "app/cli/terminal/standard_input.h"
#include "app/cli/terminal/terminal.h"
#include "core/base/json.h"
#include "core/doctor/examine.h"
#include "core/doctor/findings/apply_changes.h"
#include "core/doctor/findings/doctor_json.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_store.h"

namespace plimsoll::cli {

namespace {

struct DoctorArguments {
    std::string what;
    std::string apply;
    bool json = false;
};

/// A plan, with its run where one was named.
struct Patient {
    Plan plan;
    std::optional<RunFolder> run;
    std::string name;
};

bool exists(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

Result<Patient> patient_of(const std::string& what) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(what, ignored);
    if (!folder) {
        auto loaded = plan_from_argument(what);
        if (loaded) {
            for (const std::string& note : loaded->notes) warn(note);
            return Patient{loaded->plan, std::nullopt, "plan " + shown_name(what)};
        }
        // An existing file that is no plan is not looked for among the runs.
        if (exists(what)) return tl::unexpected(loaded.error());
    }
    const auto run = find_run(what);
    if (!run && (folder || what == "latest")) return tl::unexpected(run.error());
    if (!run)
        return bad_input(
            "\"{}\" is neither a run (a folder, a name of `plimsoll runs`, or latest) nor a plan (a file, or "
            "a preset of `plimsoll presets`)",
            what);
    PLIMSOLL_TRY(auto plan, run->plan());
    return Patient{std::move(plan), *run, "run " + run->path().string()};
}

/// Writes the file, unless no finding has a change.
Result<AppliedChanges> apply(const Patient& patient, const Diagnosis& diagnosis, const std::string& file) {
    AppliedChanges applied = with_first_changes(patient.plan, diagnosis);
    if (applied.settings.empty()) return applied;
    PLIMSOLL_CHECK(save_plan(file, applied.plan));
    return applied;
}

std::string applied_text(const AppliedChanges& applied, const std::string& file) {
    if (applied.settings.empty()) return fmt::format("\nno finding has a change to apply: {} is not written\n", file);
    std::string text = fmt::format("\n{} has: {}\n", file, fmt::join(applied.settings, " "));
    if (!applied.left_out.empty())
        text += fmt::format("left out, as they do not go with these: {}\n", fmt::join(applied.left_out, ", "));
    return text;
}

Result<int> doctor(const DoctorArguments& arguments) {
    if (!arguments.apply.empty() && exists(arguments.apply))
        return bad_input("{} is there already: --apply writes a new file; choose another name", arguments.apply);
    PLIMSOLL_TRY(const auto patient, patient_of(arguments.what));
    PLIMSOLL_TRY(const Diagnosis diagnosis, patient.run ? examine_run(*patient.run) : examine_plan(patient.plan));
    std::string text = doctor_report(diagnosis, patient.name);
    Json json = to_json(diagnosis);
    json[patient.run ? "run" : "plan"] = patient.run ? patient.run->path().string() : shown_name(arguments.what);
    if (!arguments.apply.empty()) {
        PLIMSOLL_TRY(const auto applied, apply(patient, diagnosis, arguments.apply));
        text += applied_text(applied, arguments.apply);
        json["applied"] = {{"file", applied.settings.empty() ? Json(nullptr) : Json(arguments.apply)},
                           {"settings", applied.settings},
                           {"left_out", applied.left_out}};
    }
    if (arguments.json)
        say_json(json);
    else
        say(text);
    return diagnosis.healthy() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, Work& work) {
    CLI::App* command = add_command(
        app, "doctor", "What is wrong with a run or a plan, why, and what to change; the whole checklist below");
    const auto arguments = std::make_shared<DoctorArguments>();
    command
        ->add_option(
            "WHAT", arguments->what,
            "A run (its folder, its name, or latest) or a plan (a file, or a preset); the latest run without it")
        ->type_name("RUN|PLAN");
    command->add_flag("--json", arguments->json,
                      "JSON: findings with kind, severity, evidence and changes, and the checklist");
    command
        ->add_option(
            "--apply", arguments->apply,
            "Write the plan with the first change of each finding to this new file, as far as they go together")
        ->type_name("FILE");
    command->footer(
        "Exit codes: 0 nothing worse than advice, 1 a warning or an error was found, 2 bad usage or bad input.");
    command->callback([arguments, &work] {
        if (arguments->what.empty()) arguments->what = "latest";
        work = [arguments] { return doctor(*arguments); };
    });
}

}  // namespace plimsoll::cli
