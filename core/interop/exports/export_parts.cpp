// SPDX-License-Identifier: Apache-2.0
#include "core/interop/exports/export_parts.h"

#include <algorithm>
#include <cctype>

#include "core/base/number_noise.h"

namespace plimsoll::exports {

std::string_view dtype_of(const Plan& plan) { return name_of(plan.numerics.dtype); }

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
    return plan.cluster.on_cpu() ? std::max<std::int64_t>(plan.training.threads, 1) : 8;
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

std::string to_json_text(const Json& document) {
    return without_noise(document).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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

std::string digits(double value) { return fmt::format("{}", without_noise(value)); }

std::string CommandLine::one_line() const {
    constexpr std::string_view join = " \\\n  ";
    std::string line;
    std::string_view rest = text_;
    for (std::size_t at = rest.find(join); at != std::string_view::npos; at = rest.find(join)) {
        line.append(rest.substr(0, at)).append(1, ' ');
        rest.remove_prefix(at + join.size());
    }
    return line.append(rest);
}

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
