// SPDX-License-Identifier: Apache-2.0
#include "core/plan/checks/check_plan.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/plan/checks/problems.h"
#include "core/plan/json_fields.h"
#include "core/plan/parameters.h"

namespace plimsoll {

namespace {

class RangeCheck final : public FieldVisitor {
public:
    explicit RangeCheck(Problems& problems) : problems_(problems) {}

    void begin(std::string_view key, std::string_view) override { prefix_ = std::string(key) + "."; }
    void end() override { prefix_.clear(); }
    void integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view) override {
        if (!in_range(value, range)) report(key, format_count(value), allowed_text(range));
    }
    void number(std::string_view key, double& value, NumberRange range, std::string_view) override {
        if (!in_range(value, range)) report(key, fmt::format("{:g}", value), allowed_text(range));
    }
    // What is written and sent as JSON.
    void text(std::string_view key, std::string& value, std::string_view) override {
        const std::string dotted = prefix_ + std::string(key);
        if (!valid_utf8(value)) problems_.add(dotted, "{} is {}: it must be UTF-8 text", dotted, shown(Json(value)));
    }
    void flag(std::string_view, bool&, std::string_view) override {}
    void choice(std::string_view, int&, std::span<const std::string_view>, std::string_view) override {}

private:
    void report(std::string_view key, const std::string& value, const std::string& allowed) {
        const std::string dotted = prefix_ + std::string(key);
        problems_.add(dotted, "{} is {}; allowed: {}", dotted, value, allowed);
    }
    Problems& problems_;
    std::string prefix_;
};

constexpr double most_parameters = 1e15;
constexpr std::int64_t most_ranks = 1'048'576;
/// Elements of all activations of a rank; at the most bytes an element that a term counts this stays in int64.
constexpr double most_activations = 1e15;
constexpr double most_batch_tokens = 1e15;
/// Cells of a pipeline timeline: the simulation holds each.
constexpr double most_cells = 4e6;

}  // namespace

void check_ranges(Problems& problems, const Plan& plan) {
    RangeCheck check(problems);
    Plan copy = plan;
    visit_fields(check, copy);
}

void check_sizes(Problems& problems, const Plan& plan) {
    const Model& model = plan.model;
    const Layout& layout = plan.layout;
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };

    const double parameters = real(count_parameters(model).total);
    if (parameters > most_parameters) {
        problems.add("model.hidden_size",
                     "the model would have {} parameters; at most {} can be planned: reduce its sizes",
                     format_short(parameters), format_short(most_parameters));
    }
    const double ranks = real(layout.dp) * real(layout.tp) * real(layout.pp) * real(layout.cp);
    if (ranks > real(most_ranks)) {
        problems.add("layout.dp", "dp x tp x pp x cp is {} ranks; at most {} can be planned", format_short(ranks),
                     format_count(most_ranks));
    }
    const double micro_tokens = real(layout.micro_batch) * real(plan.data.sequence_length);
    const double batch_tokens = micro_tokens * real(layout.accumulation) * real(layout.dp);
    if (batch_tokens > most_batch_tokens) {
        problems.add("layout.micro_batch",
                     "a step would take {} tokens; at most {} can be planned: reduce "
                     "layout.micro_batch, layout.accumulation or data.sequence_length",
                     format_short(batch_tokens), format_short(most_batch_tokens));
    }
    const double experts = model.moe() ? real(model.experts_per_token) : 1;
    // Flash attention holds no scores.
    const double scores = plan.numerics.attention == Attention::Eager ? real(plan.data.sequence_length) : 0;
    const double heads = real(model.num_heads) * (real(model.head_size()) + scores);
    const double width =
        real(model.hidden_size) + experts * real(model.ffn_hidden_size) + heads + real(model.num_experts);
    const double stacks = model.encoder_decoder() ? 2 : 1;
    const bool all_at_once = layout.schedule == Schedule::GPipe || layout.schedule == Schedule::BreadthFirst;
    const bool twice = layout.schedule == Schedule::ZbH2 || layout.schedule == Schedule::Zb2p;
    const double in_flight = all_at_once ? real(layout.accumulation) : (twice ? 2 : 1) * real(layout.pp);
    const double activations =
        micro_tokens * (width * real(model.num_layers) * stacks * in_flight + real(model.vocab_size));
    if (activations > most_activations) {
        problems.add("layout.micro_batch",
                     "the activations would be {} numbers, more than any cluster holds: reduce "
                     "layout.micro_batch or data.sequence_length",
                     format_short(activations));
    }
    const double cells = real(layout.pp) * real(layout.accumulation);
    if (layout.pp > 1 && cells > most_cells) {
        problems.add("layout.accumulation",
                     "{} stages x {} micro-batches are too many for a timeline; keep their product under {}: "
                     "reduce layout.accumulation",
                     format_count(layout.pp), format_count(layout.accumulation), format_short(most_cells));
    }
}

std::vector<Problem> check_plan(const Plan& plan) {
    Problems problems;
    check_ranges(problems, plan);
    // What follows multiplies and divides by these values.
    if (!problems.found.empty()) return std::move(problems.found);
    check_sizes(problems, plan);
    check_model(problems, plan.model);
    if (problems.found.empty()) check_parallelism(problems, plan);
    check_recipe(problems, plan);
    check_control(problems, plan);
    check_stability(problems, plan);
    check_adapter(problems, plan);
    return std::move(problems.found);
}

Result<void> require_possible(const Plan& plan) {
    const std::vector<Problem> problems = check_plan(plan);
    if (problems.empty()) return {};
    return bad_input("{}", problems.front().sentence);
}

}  // namespace plimsoll
