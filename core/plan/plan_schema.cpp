// SPDX-License-Identifier: Apache-2.0
// What can be said about the plan document, made from the field list: JSON Schema, field list, reference page.
#include "core/plan/plan_schema.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/plan/json_fields.h"

namespace plimsoll {

namespace {

/// JSON Schema keywords a field; sections become objects with properties.
class SchemaVisitor final : public FieldVisitor {
public:
    explicit SchemaVisitor(Json& root) : objects_{&root} {}

    void begin(std::string_view key, std::string_view help) override {
        Json& section = add(key, {{"type", "object"}, {"description", help}, {"properties", Json::object()}});
        objects_.push_back(&section);
    }
    void end() override { objects_.pop_back(); }
    void integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view help) override {
        add(key, {{"type", "integer"},
                  {"minimum", range.min},
                  {"maximum", range.max},
                  {"default", value},
                  {"description", help}});
    }
    void number(std::string_view key, double& value, NumberRange range, std::string_view help) override {
        add(key, {{"type", "number"},
                  {range.above_min ? "exclusiveMinimum" : "minimum", range.min},
                  {"maximum", range.max},
                  {"default", value},
                  {"description", help}});
    }
    void text(std::string_view key, std::string& value, std::string_view help) override {
        add(key, {{"type", "string"}, {"default", value}, {"description", help}});
    }
    void flag(std::string_view key, bool& value, std::string_view help) override {
        add(key, {{"type", "boolean"}, {"default", value}, {"description", help}});
    }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names,
                std::string_view help) override {
        add(key, {{"enum", std::vector<std::string>(names.begin(), names.end())},
                  {"default", names[static_cast<std::size_t>(index)]},
                  {"description", help}});
    }

private:
    Json& add(std::string_view key, Json schema) {
        return (*objects_.back())["properties"][std::string(key)] = std::move(schema);
    }
    std::vector<Json*> objects_;
};

class FieldLister final : public FieldVisitor {
public:
    std::vector<FieldInfo> fields;

    void begin(std::string_view key, std::string_view) override {
        prefix_ = std::string(key) + ".";
        rule_ = {};
    }
    void end() override {
        prefix_.clear();
        rule_ = {};
    }
    void resume(const ResumeRule& rule) override { rule_ = rule; }
    void integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view help) override {
        add(key, help, "whole number", allowed_text(range), value);
    }
    void number(std::string_view key, double& value, NumberRange range, std::string_view help) override {
        add(key, help, "number", allowed_text(range), value);
    }
    void text(std::string_view key, std::string& value, std::string_view help) override {
        add(key, help, "text", "", value);
    }
    void flag(std::string_view key, bool& value, std::string_view help) override {
        add(key, help, "true or false", "", value);
    }
    void choice(std::string_view key, int& index, std::span<const std::string_view> names,
                std::string_view help) override {
        add(key, help, "choice", allowed_text(names), names[static_cast<std::size_t>(index)]);
    }

private:
    void add(std::string_view key, std::string_view help, std::string type, std::string allowed, const Json& value) {
        fields.push_back({prefix_ + std::string(key), std::string(help), std::move(type), std::move(allowed),
                          value.dump(-1, ' ', false, Json::error_handler_t::replace), rule_.may_change,
                          std::string(rule_.reason)});
    }
    std::string prefix_;
    ResumeRule rule_;
};

}  // namespace

namespace {

/// "`name`, `cluster.*`, …": fields that may change on resume; a section in which all may is one entry.
std::string changeable(const std::vector<FieldInfo>& fields) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fields.size();) {
        const std::string section = fields[i].key.substr(0, fields[i].key.find('.') + 1);
        std::size_t end = i + 1;
        while (!section.empty() && end < fields.size() && fields[end].key.starts_with(section)) ++end;
        const auto may = [](const FieldInfo& field) { return field.may_change_on_resume; };
        const auto first = fields.begin() + static_cast<std::ptrdiff_t>(i),
                   last = fields.begin() + static_cast<std::ptrdiff_t>(end);
        if (!section.empty() && std::all_of(first, last, may)) {
            names.push_back(fmt::format("`{}*`", section));
        } else {
            for (auto field = first; field != last; ++field) {
                if (may(*field)) names.push_back(fmt::format("`{}`", field->key));
            }
        }
        i = end;
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Json plan_schema() {
    Json schema{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", "Plimsoll plan"},
        {"description",
         "Everything that one training run is computed from. Keys that are missing take their "
         "defaults (with model.preset: the preset's); keys that are not known are kept."},
        {"type", "object"},
        {"required", {"plimsoll"}},
        {"properties",
         {{"plimsoll", {{"type", "integer"}, {"const", plan_version}, {"description", "Version of the document"}}}}}};
    SchemaVisitor visitor(schema);
    Plan plan;
    visit_fields(visitor, plan);
    return schema;
}

std::vector<FieldInfo> plan_fields() {
    FieldLister lister;
    Plan plan;
    visit_fields(lister, plan);
    return std::move(lister.fields);
}

std::string plan_reference() {
    std::string page = R"(# The plan document

A plan is one JSON document; memory, pipeline bubble, exports and the run are computed from it. This is a whole plan:

    {
      "plimsoll": 1,
      "model": {"preset": "llama-7b"},
      "cluster": {"gpu": "A100 SXM4 80GB", "gpus_per_node": 4},
      "layout": {"dp": 4, "zero_stage": 2, "micro_batch": 1, "recompute": "full"},
      "numerics": {"dtype": "bf16"},
      "data": {"sequence_length": 2048}
    }

- `plimsoll` is the version of the document, now 1. It has to be there.
- A key that is missing takes its default. With `model.preset`, the model's defaults are the preset's
  (`presets/models/NAME.json`), and a field given beside it wins.
- A key that this version does not know is reported, not used, and kept when the plan is saved.
- A setting on the command line is a dotted key: `--set layout.dp=4`.
- [plan.schema.json](plan.schema.json) is the same as JSON Schema, for editors that complete and check.
)";
    const std::vector<FieldInfo> fields = plan_fields();
    page += fmt::format("- `train --resume --set` takes another value of {}; the others stay as they were.\n\n",
                        changeable(fields));
    page += R"(| key | type | allowed | default | meaning |
|---|---|---|---|---|
)";
    for (const FieldInfo& field : fields) {
        page += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", field.key, field.type, field.allowed,
                            field.default_value, field.help);
    }
    return page;
}

}  // namespace plimsoll
