// SPDX-License-Identifier: Apache-2.0
#include "core/interop/export_parts.h"

#include <algorithm>
#include <cctype>

namespace plimsoll::exports {

bool on_cpu(const Plan& plan) { return plan.cluster.gpu == "cpu"; }

std::string_view dtype_of(const Plan& plan) { return dtype_names[static_cast<std::size_t>(plan.numerics.dtype)]; }

std::string job_name(const Plan& plan) {
    constexpr std::size_t most = 50;
    std::string name;
    for (const char each : plan.name.empty() ? plan.model.name : plan.name) {
        const auto c = static_cast<unsigned char>(each);
        if (std::isalnum(c) && c < 128) {
            name += static_cast<char>(std::tolower(c));
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
        if (name.size() == most) break;
    }
    while (!name.empty() && name.back() == '-') name.pop_back();
    return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) ? fmt::format("run{}", name) : name;
}

std::int64_t cpus_per_rank(const Plan& plan) {
    return on_cpu(plan) ? std::max<std::int64_t>(plan.training.threads, 1) : 8;
}

std::string_view layer_class(Family family) {
    switch (family) {
        case Family::Gpt2:
            return "GPT2Block";
        case Family::Llama:
            return "LlamaDecoderLayer";
        case Family::Mistral:
            return "MistralDecoderLayer";
        case Family::Mixtral:
            return "MixtralDecoderLayer";
        case Family::Qwen2:
            return "Qwen2DecoderLayer";
        case Family::T5:
            return "T5Block";
    }
    return "";
}

void note_parallelism(const Plan& plan, std::string_view who, const Unsaid& unsaid, Notes& notes) {
    const Layout& layout = plan.layout;
    const auto note = [&](bool is_unsaid, std::int64_t ranks, const char* key, const char* what) {
        if (is_unsaid && ranks > 1) {
            notes.push_back(fmt::format("{} of {} (layout.{}) is not in {}: it has to come from the training code.",
                                        what, ranks, key, who));
        }
    };
    note(unsaid.tensor, layout.tp, "tp", "Tensor parallelism");
    note(unsaid.pipeline, layout.pp, "pp", "Pipeline parallelism");
    note(unsaid.context, layout.cp, "cp", "Context parallelism");
    note(unsaid.expert, layout.ep, "ep", "Expert parallelism");
    if (unsaid.sequence && layout.sequence_parallel) {
        notes.push_back(fmt::format(
            "layout.sequence_parallel (norms split along the sequence) is not in {}: it has to come from the "
            "model's code.",
            who));
    }
}

void note_rest(const Plan& plan, std::string_view who, Notes& notes) {
    const auto note = [&](bool is_set, std::string_view key, std::string_view instead) {
        if (is_set) notes.push_back(fmt::format("{} is not in {}: {}.", key, who, instead));
    };
    const Layout& layout = plan.layout;
    note(layout.compress_activations, "layout.compress_activations", "activations are kept in full there");
    note(layout.offload_activations, "layout.offload_activations",
         "wrap the forward pass in torch.autograd.graph.save_on_cpu");
    note(layout.loss_chunks > 1, "layout.loss_chunks", "take a fused linear cross-entropy, such as Liger Kernel's");
    const Optimizer& optimizer = plan.optimizer;
    note(optimizer.embedding_lr != 1 || optimizer.head_lr != 1 || optimizer.vector_lr != 1,
         "optimizer.embedding_lr, head_lr and vector_lr", "pass parameter groups");
    note(plan.training.all_reduce_group > 0, "training.all_reduce_group", "NCCL chooses how an all-reduce runs");
    note(!plan.layout.schedule_file.empty(), "layout.schedule_file", "it follows no list of operations");
}

std::string to_json_text(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string shell_word(std::string_view word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return c < 128 &&
               (std::isalnum(c) || std::string_view("_-./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos);
    });
    if (plain) return std::string(word);
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

std::string digits(double value) { return fmt::format("{}", value); }

CommandLine& CommandLine::words(std::string_view raw) {
    text_ += fmt::format(" \\\n  {}", raw);
    return *this;
}
CommandLine& CommandLine::flag(std::string_view name) { return words(name); }
CommandLine& CommandLine::option(std::string_view name, std::string_view value) {
    return words(fmt::format("{} {}", name, shell_word(value)));
}
CommandLine& CommandLine::option(std::string_view name, std::int64_t value) {
    return words(fmt::format("{} {}", name, value));
}
CommandLine& CommandLine::number(std::string_view name, double value) {
    return words(fmt::format("{} {}", name, digits(value)));
}
CommandLine& CommandLine::joined(std::string_view name, std::string_view value) {
    return words(fmt::format("{}={}", name, shell_word(value)));
}

}  // namespace plimsoll::exports
