// SPDX-License-Identifier: Apache-2.0
// The exports, one function a target, and what several exports share. For core/interop only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/interop/export_notes/export_notes.h"
#include "core/interop/exports/export_target.h"

namespace plimsoll::exports {

/// A command with its options, one a line, each but the last with a backslash. Words are quoted for the shell where
/// necessary.
class CommandLine {
public:
    explicit CommandLine(std::string program) : text_(std::move(program)) {}
    /// The program that `line` starts, with its options.
    CommandLine& command(const CommandLine& line) { return words(line.text_); }
    /// `--name`, or `--name value`; an empty value is written as ''.
    CommandLine& flag(std::string_view name);
    CommandLine& option(std::string_view name, std::string_view value);
    CommandLine& option(std::string_view name, std::int64_t value);
    CommandLine& number(std::string_view name, double value);
    /// `--name=value`
    CommandLine& joined(std::string_view name, std::string_view value);
    /// Words as they are, for the shell to read.
    CommandLine& words(std::string_view raw);
    std::string text() const { return text_ + "\n"; }
    /// The same on one line.
    std::string one_line() const;

private:
    std::string text_;
};

Result<ExportedText> accelerate_deepspeed(const Plan& plan);
Result<ExportedText> accelerate_fsdp(const Plan& plan);
Result<ExportedText> training_arguments_file(const Plan& plan);
Result<ExportedText> megatron(const Plan& plan);
Result<ExportedText> torchtitan_toml(const Plan& plan);
Result<ExportedText> torchtitan_command(const Plan& plan);
Result<ExportedText> llama_factory(const Plan& plan);
Result<ExportedText> axolotl(const Plan& plan);
Result<ExportedText> deepspeed_launcher(const Plan& plan);
Result<ExportedText> environment(const Plan& plan);

/// What a launcher starts in each rank.
struct Program {
    CommandLine line;         ///< behind torchrun or python: a script or `-m` a module, with its options
    std::string environment;  ///< a variable that it needs: "NAME=VALUE"; empty: none
    Notes notes;
};
/// The program by its name in export_programs(); "": train.py, a script of the user's own.
Result<Program> program_of(const Plan& plan, std::string_view name);
/// What a launcher says of the plan where it starts a script of the user's own.
std::string script_note(const Plan& plan);
Result<ExportedText> torchrun(const Plan& plan, Program program);
Result<ExportedText> mpirun(const Plan& plan, Program program);
Result<ExportedText> srun(const Plan& plan, Program program);
Result<ExportedText> sbatch(const Plan& plan, Program program);
Result<ExportedText> pytorch_job(const Plan& plan, Program program);
Result<ExportedText> job_set(const Plan& plan, Program program);

/// pretrain_gpt.py with its arguments, and torchtitan.train of release 0.3 with its options.
Result<Program> megatron_program(const Plan& plan);
Result<Program> torchtitan_program(const Plan& plan);

/// "fp32", "bf16", "fp16".
std::string_view dtype_of(const Plan& plan);
/// The plan's name in small letters, digits and dashes, 50 at most: a name for jobs and folders.
std::string job_name(const Plan& plan);
/// A guess at the number of CPUs a rank, which suits most nodes.
std::int64_t cpus_per_rank(const Plan& plan);

/// transformers' class of a decoder layer: "LlamaDecoderLayer".
std::string_view layer_class(Family family);

/// transformers' TrainingArguments that the plan sets, except those that name a file or folder. `unsaid`: the parts of
/// the layout that the target cannot express beside the arguments either.
Json training_arguments(const Plan& plan, const Unsaid& unsaid, Notes& notes);

std::string shell_word(std::string_view word);
/// The shortest digits of the number without noise (core/base/number_noise.h): "6e-05".
std::string digits(double value);

/// The document as indented JSON; bytes that are no UTF-8 are replaced. In each format numbers are without noise.
std::string to_json_text(const Json& document);
/// The document as YAML 1.1, as PyYAML reads it: numbers stay numbers and words stay words.
std::string to_yaml(const Json& document);
/// The document as TOML; a null is left out. Lists hold strings, or lists of strings.
std::string to_toml(const Json& document);

}  // namespace plimsoll::exports
