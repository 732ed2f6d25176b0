// SPDX-License-Identifier: Apache-2.0
// plimsoll validate: our figures beside published or measured ones.
#include "app/cli/validate/validate.h"

#include <algorithm>
#include <cmath>

#include "app/cli/terminal/terminal.h"
#include "app/cli/validate/validate_memory.h"
#include "app/cli/validate/validate_step_time.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/validation/bubble_cases.h"
#include "core/validation/bubble_rates.h"

namespace plimsoll::cli {

namespace {

struct ValidateArguments {
    std::string file;
    bool json = false;
};

using CaseRates = std::pair<BubbleCase, std::vector<BubbleRate>>;

Json bubble_json(const std::vector<CaseRates>& all) {
    Json json{{"rows", Json::array()}};
    double worst = 0;
    for (const auto& [given, rates] : all) {
        Json row{{"p", given.ranks}, {"m", given.micro_batches}};
        for (const auto& rate : rates) {
            Json one{{"simulated", rate.simulated}};
            if (rate.published) {
                one["published"] = *rate.published;
                one["difference"] = rate.simulated - *rate.published;
                if (!rate.column.ends_with("_search"))
                    worst = std::max(worst, std::abs(rate.simulated - *rate.published));
            }
            if (!rate.note.empty()) one["note"] = rate.note;
            row[rate.column] = std::move(one);
        }
        json["rows"].push_back(std::move(row));
    }
    json["largest_difference"] = worst;
    return json;
}

std::string bubble_text(const std::vector<CaseRates>& all) {
    auto text =
        fmt::format("{:>4} {:>5}  {:<26} {:>9} {:>9} {:>9}\n", "p", "m", "column", "simulated", "published", "off by");
    std::size_t compared = 0, equal = 0;
    for (const auto& [given, rates] : all)
        for (const auto& rate : rates) {
            text += fmt::format("{:>4} {:>5}  {:<26} {:>9.4f}", given.ranks, given.micro_batches, rate.column,
                                rate.simulated);
            if (rate.published) {
                const double off = rate.simulated - *rate.published;
                text += fmt::format(" {:>9.4f} {:>+9.4f}", *rate.published, off);
                if (!rate.column.ends_with("_search")) {
                    ++compared;
                    equal += std::abs(off) < 0.0005 ? 1 : 0;
                }
            }
            text += rate.note.empty() ? "\n" : fmt::format("  {}\n", rate.note);
        }
    if (compared > 0) text += fmt::format("{} of {} rates equal the published ones to 3 digits\n", equal, compared);
    return text;
}

Result<int> validate_bubble(const ValidateArguments& arguments) {
    PLIMSOLL_TRY(const auto csv, read_file(arguments.file));
    const auto cases = read_bubble_cases(csv);
    if (!cases) return bad_input("{}: {}", arguments.file, cases.error().message);
    std::vector<CaseRates> all;
    for (const auto& given : *cases) {
        auto rates = bubble_rates(given);
        if (!rates)
            return bad_input("{}: p {}, m {}: {}", arguments.file, given.ranks, given.micro_batches,
                             rates.error().message);
        all.emplace_back(given, *std::move(rates));
    }
    if (arguments.json)
        say_json(bubble_json(all));
    else
        say(bubble_text(all));
    return 0;
}

}  // namespace

void add_validate(CLI::App& app, Work& work) {
    CLI::App* command = add_command(app, "validate", "Our figures beside published or measured ones");
    command->require_subcommand(1);
    CLI::App* bubble = add_command(
        *command, "bubble",
        "Simulated bubble rates for the times in a CSV: p, m, forward_ms, backward_input_ms, backward_weight_ms, comm_ms, "
        "and any of bubble_1f1b, bubble_interleaved_1f1b, bubble_zb_h1, bubble_zb_h2, bubble_zb_1p, bubble_zb_2p");
    const auto arguments = std::make_shared<ValidateArguments>();
    bubble->add_option("FILE", arguments->file, "The CSV")->required();
    bubble->add_flag("--json", arguments->json, "JSON: rows with simulated, published and difference of each column");
    bubble->callback([arguments, &work] { work = [arguments] { return validate_bubble(*arguments); }; });
    add_validate_memory(*command, work);
    add_validate_step_time(*command, work);
}

}  // namespace plimsoll::cli
