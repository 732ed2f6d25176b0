// SPDX-License-Identifier: Apache-2.0
// plimsoll architecture: what a config.json of Hugging Face describes, counted exactly.
#include <algorithm>

#include "app/cli/terminal/command.h"
#include "app/cli/terminal/terminal.h"
#include "core/architecture/architecture.h"
#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"

namespace plimsoll::cli {

namespace {

struct ArchitectureArguments {
    std::string config, as;
    bool tensors = false, json = false, list = false;
};

std::string counted(std::int64_t count, const char* what) {
    return fmt::format("{} {}{}", format_count(count), what, count == 1 ? "" : "s");
}

/// "29 of them with a window of 4,096 tokens, …"
std::string words_of(const LayerKind& kind, const Architecture& a) {
    std::vector<std::string> parts;
    parts.push_back(kind.attention == "none" ? "no attention"
                    : kind.attention.find("state space") != std::string::npos ||
                            kind.attention.find("linear") != std::string::npos
                        ? kind.attention
                        : kind.attention + " attention");
    if (kind.window) parts.push_back(fmt::format("window of {} tokens", format_count(*kind.window)));
    if (!kind.position.empty() && kind.position != "none") parts.push_back(kind.position + " positions");
    if (kind.position == "none" && kind.attention.find("state") == std::string::npos && kind.attention != "none")
        parts.push_back("no positions");
    if (!kind.qk_norm.empty()) parts.push_back("QK-norm " + kind.qk_norm);
    if (kind.mlp == "routed" && a.experts) {
        std::string text =
            fmt::format("{} experts, {} per token", format_count(*a.experts), a.experts_per_token.value_or(0));
        if (a.shared_inner.value_or(0) > 0) text += ", shared expert";
        parts.push_back(text);
    } else if (!kind.mlp.empty() && kind.mlp != "none") {
        parts.push_back(kind.mlp + " MLP");
    }
    if (!kind.norm.empty()) parts.push_back(kind.norm + (kind.placement.empty() ? "" : " (" + kind.placement + ")"));
    if (kind.parallel) parts.push_back("attention and MLP in parallel");
    return fmt::format("{}", fmt::join(parts, "; "));
}

void show(const Architecture& a, const std::string& file) {
    say(fmt::format("{}: {}, {}{}\n", printable(file), a.title, a.kind == "decoder" ? "a decoder" : "an " + a.kind,
                    a.model_type.empty() ? "" : " (" + printable(a.model_type) + ")"));
    say(fmt::format("  parameters   {} ({})\n", format_short(static_cast<double>(a.parameters)),
                    format_count(a.parameters)));
    if (a.active_parameters != a.parameters) {
        say(fmt::format("  per token    {} ({})\n", format_short(static_cast<double>(a.active_parameters)),
                        format_count(a.active_parameters)));
    }
    std::vector<std::string> sizes;
    if (a.layers)
        sizes.push_back(a.decoder_layers ? fmt::format("{} + {} layers", *a.layers, *a.decoder_layers)
                                         : counted(*a.layers, "layer"));
    if (a.hidden) sizes.push_back(fmt::format("hidden size {}", format_count(*a.hidden)));
    if (a.heads) {
        sizes.push_back(a.kv_heads && *a.kv_heads != *a.heads
                            ? fmt::format("{} heads, {} of keys and values", *a.heads, *a.kv_heads)
                            : counted(*a.heads, "head"));
    }
    if (a.head_dim) sizes.push_back(fmt::format("head size {}", *a.head_dim));
    if (a.vocab) sizes.push_back(fmt::format("vocabulary {}", format_count(*a.vocab)));
    if (a.context) sizes.push_back(fmt::format("context {}", format_count(*a.context)));
    if (!a.rope_scaling.empty()) sizes.push_back("rope scaling " + printable(a.rope_scaling));
    if (a.tied && *a.tied) sizes.emplace_back("head tied to the embedding");
    say(fmt::format("  size         {}\n", fmt::join(sizes, ", ")));
    for (const LayerKind& kind : a.kinds)
        say(fmt::format("  {:<12} {}\n", counted(kind.count, "layer"), words_of(kind, a)));
    say(fmt::format("  weights      {} in bf16, {} in fp32\n", format_bytes(2 * a.parameters),
                    format_bytes(4 * a.parameters)));
    say(fmt::format("  tensors      {}\n", format_count(static_cast<std::int64_t>(a.tensors.size()))));
    for (const std::string& each : a.notes) say(fmt::format("  note         {}\n", printable(each)));
}

Json to_json(const Architecture& a, bool tensors) {
    const auto number = [](const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); };
    Json kinds = Json::array();
    for (const LayerKind& kind : a.kinds) {
        kinds.push_back({{"layers", kind.count},
                         {"attention", kind.attention},
                         {"window", number(kind.window)},
                         {"position", kind.position},
                         {"qk_norm", kind.qk_norm},
                         {"mlp", kind.mlp},
                         {"norm", kind.norm},
                         {"placement", kind.placement},
                         {"parallel", kind.parallel}});
    }
    Json json = {{"family", a.family},
                 {"title", a.title},
                 {"model_type", a.model_type},
                 {"kind", a.kind},
                 {"parameters", a.parameters},
                 {"active_parameters", a.active_parameters},
                 {"hidden_size", number(a.hidden)},
                 {"num_layers", number(a.layers)},
                 {"num_decoder_layers", number(a.decoder_layers)},
                 {"num_heads", number(a.heads)},
                 {"num_kv_heads", number(a.kv_heads)},
                 {"head_dim", number(a.head_dim)},
                 {"ffn_hidden_size", number(a.inner)},
                 {"vocab_size", number(a.vocab)},
                 {"max_position", number(a.context)},
                 {"num_experts", number(a.experts)},
                 {"experts_per_token", number(a.experts_per_token)},
                 {"tied_head", a.tied ? Json(*a.tied) : Json()},
                 {"rope_scaling", a.rope_scaling},
                 {"tensor_count", a.tensors.size()},
                 {"kinds", std::move(kinds)},
                 {"notes", a.notes}};
    if (tensors) {
        Json list = Json::object();
        // Names differ: looking each up before it is added would take time by the square.
        auto& members = list.get_ref<Json::object_t&>();
        for (const TensorShape& tensor : a.tensors) members.emplace_back(tensor.name, tensor.shape);
        json["tensors"] = std::move(list);
    }
    return json;
}

int list_families(const FamilyFiles& families, bool json) {
    Json list = Json::array();
    for (const FamilyFile& family : families.all) {
        if (json) {
            list.push_back({{"family", family.name},
                            {"title", family.title},
                            {"model_type", family.model_types},
                            {"classes", family.classes}});
        } else {
            say(fmt::format("{:<14} {:<40} {}\n", family.name, family.title, fmt::join(family.classes, ", ")));
        }
    }
    if (json) say_json(list);
    return 0;
}

Result<int> architecture(const ArchitectureArguments& arguments) {
    PLIMSOLL_TRY(const FamilyFiles families, load_families(data_folder() / "resources" / "families"));
    if (arguments.list) return list_families(families, arguments.json);
    if (arguments.config.empty())
        return bad_input("name a config.json or a folder with one: plimsoll architecture my-model");
    std::filesystem::path file = arguments.config;
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) file /= "config.json";
    PLIMSOLL_TRY(const Json config, read_json(file));
    auto described = describe(config, families, arguments.as);
    if (!described)
        return tl::unexpected(Error{file.string() + ": " + described.error().message, described.error().kind});
    if (arguments.json) {
        say_json(to_json(*described, arguments.tensors));
        return 0;
    }
    if (arguments.tensors) {
        for (const TensorShape& tensor : described->tensors)
            say(fmt::format("{} [{}]\n", printable(tensor.name), fmt::join(tensor.shape, ", ")));
        return 0;
    }
    show(*described, file.string());
    return 0;
}

}  // namespace

void add_architecture(CLI::App& app, Work& work) {
    CLI::App* command =
        add_command(app, "architecture", "Count the parameters of any config.json, by tensor and by layer");
    const auto arguments = std::make_shared<ArchitectureArguments>();
    command->add_option("CONFIG", arguments->config, "config.json of Hugging Face, or a folder that holds it");
    command->add_option("--as", arguments->as, "Read it as this family, where its own class is not known")
        ->type_name("FAMILY");
    command->add_flag("--tensors", arguments->tensors, "Every tensor of the checkpoint with its shape");
    command->add_flag("--list", arguments->list, "The families that are known");
    command->add_flag("--json", arguments->json, "As JSON");
    command->callback([arguments, &work] { work = [arguments] { return architecture(*arguments); }; });
}

}  // namespace plimsoll::cli
