// SPDX-License-Identifier: Apache-2.0
// Every key of the plan document, once: its JSON name, type, range and meaning. Reading, writing, the documented
// schema and the studio's tooltips all walk this list.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/plan/plan.h"

namespace plimsoll {

struct IntRange {
    std::int64_t min = std::numeric_limits<std::int64_t>::min();
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

struct NumberRange {
    double min = std::numeric_limits<double>::lowest();
    double max = std::numeric_limits<double>::max();
    bool above_min = false;  ///< the minimum itself is not allowed
};

/// Whether a run that is resumed may have another value of a field than it had, and why: `reason` goes on behind "since".
struct ResumeRule {
    bool may_change = false;
    std::string_view reason;
};

/// Called for each field in document order. `help` is one line for a person.
class FieldVisitor {
public:
    virtual ~FieldVisitor() = default;
    virtual void begin(std::string_view key, std::string_view help) = 0;
    virtual void end() = 0;
    /// Holds for the fields that follow, up to the next rule or the end of the section.
    virtual void resume(const ResumeRule&) {}
    virtual void integer(std::string_view key, std::int64_t& value, IntRange range, std::string_view help) = 0;
    virtual void number(std::string_view key, double& value, NumberRange range, std::string_view help) = 0;
    virtual void text(std::string_view key, std::string& value, std::string_view help) = 0;
    virtual void flag(std::string_view key, bool& value, std::string_view help) = 0;
    virtual void choice(std::string_view key, int& index, std::span<const std::string_view> names,
                        std::string_view help) = 0;

    template <class Enum>
    void choice(std::string_view key, Enum& value, std::span<const std::string_view> names, std::string_view help) {
        int index = static_cast<int>(value);
        choice(key, index, names, help);
        value = static_cast<Enum>(index);
    }
};

/// The fields inside "model" (used for presets too).
void visit_fields(FieldVisitor& visitor, Model& model);
/// The whole document.
void visit_fields(FieldVisitor& visitor, Plan& plan);

}  // namespace plimsoll
