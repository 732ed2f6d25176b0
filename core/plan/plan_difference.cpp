// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_difference.h"

#include <utility>

#include "core/base/json.h"
#include "core/plan/fields.h"

namespace plimsoll {

namespace {

struct Value {
    std::string key;
    Json value;
    ResumeRule rule;
};

class ValueLister final : public FieldVisitor {
public:
    std::vector<Value> values;

    void begin(std::string_view key, std::string_view) override {
        prefix_ = std::string(key) + ".";
        rule_ = {};
    }
    void end() override {
        prefix_.clear();
        rule_ = {};
    }
    void resume(const ResumeRule& rule) override { rule_ = rule; }
    void integer(std::string_view key, std::int64_t& value, IntRange, std::string_view) override { add(key, value); }
    void number(std::string_view key, double& value, NumberRange, std::string_view) override { add(key, value); }
    void text(std::string_view key, std::string& value, std::string_view) override { add(key, value); }
    void flag(std::string_view key, bool& value, std::string_view) override { add(key, value); }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names, std::string_view) override {
        add(key, names[static_cast<std::size_t>(index)]);
    }

private:
    void add(std::string_view key, Json value) {
        values.push_back({prefix_ + std::string(key), std::move(value), rule_});
    }
    std::string prefix_;
    ResumeRule rule_;
};

std::vector<Value> values_of(const Plan& plan) {
    ValueLister lister;
    Plan copy = plan;
    visit_fields(lister, copy);
    return std::move(lister.values);
}

}  // namespace

bool Plan::operator==(const Plan& other) const { return differences(*this, other).empty(); }

std::vector<FieldDifference> differences(const Plan& before, const Plan& after) {
    const std::vector<Value> then = values_of(before), now = values_of(after);
    std::vector<FieldDifference> found;
    for (std::size_t i = 0; i < then.size(); ++i) {
        if (then[i].value == now[i].value) continue;
        found.push_back({then[i].key, shown(then[i].value), shown(now[i].value), then[i].rule.may_change,
                         std::string(then[i].rule.reason)});
    }
    return found;
}

}  // namespace plimsoll
