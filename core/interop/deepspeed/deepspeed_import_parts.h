// SPDX-License-Identifier: Apache-2.0
// The parts of an import: each reads its keys of the file into the plan and says what it had to decide. For
// core/interop/deepspeed*.cpp only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/interop/deepspeed/facts/deepspeed_schema.h"
#include "core/plan/plan.h"

namespace plimsoll::deepspeed {

/// Ends an import: a value that no plan can follow.
struct Wrong {
    Error error;
};
template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
    throw Wrong{bad_input(format, std::forward<Args>(args)...).value()};
}

std::string small_letters(std::string text);
/// "auto", or a list with it.
bool says_auto(const Json& value);

/// A DeepSpeed file on its way into a plan. Of each key the file says a value, says "auto", which is the training
/// argument's and so the plan's own, or says nothing, which is DeepSpeed's default.
class Import {
public:
    Import(Json normalised, std::string name, Plan& into, const DeepSpeedSchema& keys, const DeepSpeedRelease& target);

    const Json file;         ///< under today's names
    const std::string what;  ///< names the file in errors
    Plan& plan;
    const Plan base;
    const DeepSpeedSchema& schema;
    const DeepSpeedRelease release;
    const bool hugging_face;  ///< some value is "auto": the Trainer or Accelerate reads the file
    std::vector<std::string> notes;
    std::vector<std::string> autos;     ///< keys whose values the plan keeps
    std::vector<std::string> defaults;  ///< "key value" that were left out and differ from what the plan had

    /// null where the file says nothing, null or "auto".
    const Json* at(std::string_view path) const;
    bool is_auto(std::string_view path) const;
    bool absent(std::string_view path) const { return !at(path) && !is_auto(path); }

    /// The file's value; the field is kept for "auto", and becomes `standard` where the key is left out.
    void integer(std::string_view path, std::int64_t& field, std::int64_t standard);
    void number(std::string_view path, double& field, double standard);
    void flag(std::string_view path, bool& field, bool standard);
    /// The file's value, or nothing; a value of a wrong type ends the import.
    std::optional<std::int64_t> integer_at(std::string_view path) const;
    std::optional<double> number_at(std::string_view path) const;
    std::optional<bool> flag_at(std::string_view path) const;
    std::optional<std::string> text_at(std::string_view path) const;
    /// Remembers a key that was left out, where the default is not what the plan had.
    void left_out(std::string_view path, const Json& standard, bool differs);

private:
    /// The number of a text in a block whose pydantic model reads it as one.
    std::optional<double> lax_number_at(std::string_view path, const Json& value) const;
    void remember_auto(std::string_view path);
};

/// The file under today's names: fields under their alias, cpu_offload as offload_optimizer, bfloat16 as bf16,
/// "zero_optimization": true as stage 1. Ends the import where a key stands there under two names, which DeepSpeed refuses.
Json under_todays_names(const Json& file, const DeepSpeedSchema& schema, std::vector<std::string>& notes);

void read_batch(Import& file);
void read_optimizer(Import& file);
void read_scheduler(Import& file);
void read_precision(Import& file);
void read_zero(Import& file);
void read_recomputation(Import& file);

/// What the plan has no field for, as it goes into the plan's document: entries of the file that the plan's export lacks
/// or has with other values, and defaults of keys that the file leaves out and the export writes otherwise. Notes sort
/// the kept keys by what they do, and tell where the plan decides otherwise than the file.
Json what_is_kept(Import& file, const Json& exported);

/// The notes of everything that "auto" and left-out keys decided.
void note_decisions(Import& file);

}  // namespace plimsoll::deepspeed
