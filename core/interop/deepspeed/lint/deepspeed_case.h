// SPDX-License-Identifier: Apache-2.0
// A config under examination: what the rules of core/interop/deepspeed_lint_*.cpp look at and add to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/interop/deepspeed/facts/deepspeed_schema.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

namespace plimsoll::deepspeed {

class Case {
public:
    Case(const Json& file_read, const DeepSpeedSchema& schema_read, const DeepSpeedRelease& target,
         const DeepSpeedLaunch& launched)
        : file(file_read), schema(schema_read), release(target), launch(launched) {}

    const Json& file;
    const DeepSpeedSchema& schema;
    const DeepSpeedRelease& release;
    const DeepSpeedLaunch& launch;
    DeepSpeedLint lint;

    template <class... Args>
    void refused(std::string_view rule, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        add(DeepSpeedFinding::Level::Refused, rule, key, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void danger(std::string_view rule, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        add(DeepSpeedFinding::Level::Danger, rule, key, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void ignored(std::string_view rule, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        add(DeepSpeedFinding::Level::Ignored, rule, key, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void deprecated(std::string_view rule, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        add(DeepSpeedFinding::Level::Deprecated, rule, key, fmt::format(format, std::forward<Args>(args)...));
    }
    template <class... Args>
    void note(std::string_view rule, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
        add(DeepSpeedFinding::Level::Note, rule, key, fmt::format(format, std::forward<Args>(args)...));
    }
    void add(DeepSpeedFinding::Level level, std::string_view rule, std::string_view key, std::string sentence);

    /// The value at a dotted path; null where the file has none, or "auto", which counts as none.
    const Json* at(std::string_view path) const;
    bool has(std::string_view path) const { return at(path) != nullptr; }
    /// The file's value as DeepSpeed takes it (a strict block reads "true" and "8" as what they say), or the release's
    /// default; false, 0 or "" where it is of another type.
    bool flag(std::string_view path) const;
    double number(std::string_view path) const;
    std::string text(std::string_view path) const;

    /// ZeRO stage; `"zero_optimization": true` is stage 1.
    std::int64_t stage() const;
    /// "none", "cpu" or "nvme": of offload_optimizer or offload_param.
    std::string offload(std::string_view block) const;
    bool fp16() const { return flag("fp16.enabled"); }
    /// bfloat16 is read where bf16 is absent.
    bool bf16() const { return flag(file.contains("bf16") ? "bf16.enabled" : "bfloat16.enabled"); }
    /// "fp16", "bf16" or "fp32".
    std::string_view dtype() const { return fp16() ? "fp16" : bf16() ? "bf16" : "fp32"; }
    bool dynamic_scale() const { return fp16() && number("fp16.loss_scale") == 0; }
};

/// "float16", "torch.float16", "half" -> "fp16" (runtime/config.py, DtypeEnum); "" where it is no dtype.
std::string_view dtype_word(std::string_view text);

/// The value as a whole number (8, 8.0); nothing for any other.
std::optional<std::int64_t> whole(const Json* value);

/// A text that a pydantic block reads as a boolean ("true", "off", "1"); nothing where it is none.
std::optional<bool> lax_boolean(const Json& value);
/// A text that a pydantic block reads as a number.
std::optional<double> lax_number(const Json& value);

/// Type, bounds and allowed words of one value; `strict`: the block refuses what does not fit.
void lint_value(Case& c, const std::string& path, const Json& value, bool strict);
/// Whether "auto" is a word of DeepSpeed's own there, which nobody fills in.
bool own_auto(std::string_view path);
/// Whether the Hugging Face Trainer or Accelerate puts a value where the key is "auto".
bool filled_by_hugging_face(std::string_view path);
/// Whether the value is "auto" or has it; then it is reported where nobody fills it in.
bool lint_auto(Case& c, const std::string& path, const Json& value, bool strict);

// The rules, each in a file of its name.
void lint_keys(Case& c);         ///< unknown, misplaced, newer and removed keys, types, bounds, "auto"
void lint_ranks(Case& c);        ///< ranks that the file itself divides; sets lint.data_parallel
void lint_batch(Case& c);        ///< the product of the three batch numbers; sets lint.batch
void lint_precision(Case& c);    ///< fp16, bf16, data types
void lint_zero(Case& c);         ///< zero_optimization and its offloads
void lint_optimizer(Case& c);    ///< optimizer
void lint_scheduler(Case& c);    ///< scheduler
void lint_elasticity(Case& c);   ///< elasticity, elastic
void lint_activations(Case& c);  ///< activation_checkpointing
void lint_defaults(Case& c);     ///< keys left out whose defaults moved between releases

}  // namespace plimsoll::deepspeed
