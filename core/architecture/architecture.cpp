// SPDX-License-Identifier: Apache-2.0
#include "core/architecture/architecture.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest.h"

namespace plimsoll {

namespace {

constexpr std::size_t most_tensors = 2'000'000;
constexpr std::int64_t most_numbers = std::int64_t{1} << 55;
constexpr int deepest_block = 32;

/// Walks a family's tensors.
class Walk {
public:
    explicit Walk(const FamilyFiles& families) : families_(families) {}

    Result<void> items(const std::vector<FamilyItem>& items, const Scope& scope, const std::string& prefix,
                       double active, bool buffer, int depth) {
        if (depth > deepest_block) return bad_input("the blocks of the family use one another in a circle");
        for (const FamilyItem& item : items) {
            PLIMSOLL_CHECK(one(item, scope, prefix, active, buffer, depth));
        }
        return {};
    }

    std::vector<TensorShape> take() { return std::move(tensors_); }

private:
    Result<void> one(const FamilyItem& item, const Scope& scope, const std::string& prefix, double active, bool buffer,
                     int depth) {
        if (item.name) return tensor(item, scope, prefix, active, buffer);
        if (item.condition) {
            PLIMSOLL_TRY(const bool holds, item.condition->truth(scope));
            if (!holds) return items(item.otherwise, scope, prefix, active, buffer, depth + 1);
        }
        const std::vector<FamilyItem>* inner = &item.items;
        if (!item.use.empty()) {
            const auto block = families_.blocks.find(item.use);
            if (block == families_.blocks.end())
                return bad_input("the family uses the block {}, which common.json lacks", item.use);
            inner = &block->second;
        }
        Scope within(scope);
        for (const auto& [name, expression] : item.with) {
            PLIMSOLL_TRY(Json value, expression.value(within));
            within.set(name, std::move(value));
        }
        const bool stored = buffer || item.buffer;
        double share = active;
        if (item.active) {
            PLIMSOLL_TRY(const std::int64_t of, (item.of ? *item.of : *item.count).number(within));
            PLIMSOLL_TRY(share, share_of(item, within, of, active));
        }
        if (!item.count) {
            PLIMSOLL_TRY(const std::string place, item.prefix.filled(within));
            return items(*inner, within, prefix + place, share, stored, depth + 1);
        }
        PLIMSOLL_TRY(const std::int64_t count, item.count->number(within));
        for (std::int64_t place = 0; place < count; ++place) {
            Scope each(within);
            each.set(item.loop, place);
            PLIMSOLL_TRY(const std::string before, item.prefix.filled(each));
            PLIMSOLL_CHECK(items(*inner, each, prefix + before, share, stored, depth + 1));
        }
        return {};
    }

    static Result<double> share_of(const FamilyItem& item, const Scope& scope, std::int64_t count, double active) {
        if (count <= 0) return active;
        PLIMSOLL_TRY(const std::int64_t used, item.active->number(scope));
        if (used < 1 || used > count) {
            return bad_input("a token goes through {} of {} experts; a number from 1 to {} is needed", used, count,
                             count);
        }
        return active * static_cast<double>(used) / static_cast<double>(count);
    }

    Result<void> tensor(const FamilyItem& item, const Scope& scope, const std::string& prefix, double active,
                        bool buffer) {
        if (tensors_.size() >= most_tensors) {
            return bad_input("the model would have more than {} tensors; the numbers of its config.json are too large",
                             most_tensors);
        }
        TensorShape made;
        PLIMSOLL_TRY(const std::string name, item.name->filled(scope));
        made.name = prefix + name;
        made.numbers = 1;
        for (const Expression& size : item.shape) {
            PLIMSOLL_TRY(const std::int64_t number, size.number(scope));
            if (number < 1)
                return bad_input("{} would be {} in size ({}); its config.json contradicts itself", made.name, number,
                                 size.text());
            if (__builtin_mul_overflow(made.numbers, number, &made.numbers) || made.numbers > most_numbers) {
                return bad_input("{} would be larger than any model; the numbers of its config.json are too large",
                                 made.name);
            }
            made.shape.push_back(number);
        }
        made.active = active;
        made.buffer = buffer;
        tensors_.push_back(std::move(made));
        return {};
    }

    const FamilyFiles& families_;
    std::vector<TensorShape> tensors_;
};

Result<std::optional<std::int64_t>> number_named(const Scope& scope, const char* name) {
    const Json& value = scope.find(name);
    if (value.is_null()) return std::optional<std::int64_t>();
    PLIMSOLL_TRY(const Expression expression, Expression::parse(name));
    PLIMSOLL_TRY(const std::int64_t number, expression.number(scope));
    return std::optional(number);
}

/// A key that says how many: of the wrong kind it would be found deep within.
Result<void> require_keys(const Json& config, const FamilyFile& family) {
    for (const std::string& key : family.needs) {
        const auto found = config.find(key);
        if (found == config.end() || found->is_null()) {
            return bad_input("{} is missing; a config.json of {} has it", key, family.title);
        }
        if (found->is_array() || found->is_string()) continue;
        if (!found->is_number_integer() || found->get<std::int64_t>() < 1) {
            return bad_input("{} is {}; a whole number from 1 is needed", key, shown(*found));
        }
    }
    return {};
}

Result<void> require_heads(const Architecture& a) {
    if (!a.heads || *a.heads < 1) return {};
    // Where the size of a head is not given, it is the width's part.
    if (a.hidden && a.head_dim && *a.hidden % *a.heads != 0 && *a.head_dim == *a.hidden / *a.heads) {
        return bad_input("{} heads do not divide a width of {}, and no head_dim is given; correct one of them",
                         *a.heads, *a.hidden);
    }
    if (a.kv_heads && (*a.kv_heads < 1 || *a.heads % *a.kv_heads != 0)) {
        return bad_input("{} key-value heads do not divide {} heads; correct one of them", *a.kv_heads, *a.heads);
    }
    return {};
}

std::string attention_of(const Architecture& a) {
    if (!a.heads || !a.kv_heads || *a.heads == *a.kv_heads) return "multi-head";
    return *a.kv_heads == 1 ? "multi-query" : "grouped-query";
}

bool alike(const LayerKind& a, const LayerKind& b) {
    return a.attention == b.attention && a.mlp == b.mlp && a.norm == b.norm && a.placement == b.placement &&
           a.position == b.position && a.qk_norm == b.qk_norm && a.window == b.window && a.parallel == b.parallel;
}

/// What the facts of the family say of one layer.
Result<LayerKind> layer_of(const FamilyFile& family, const Scope& scope, std::int64_t place, const Architecture& a) {
    Scope at(scope);
    at.set("layer", place);
    LayerKind kind;
    kind.attention = attention_of(a);
    for (const auto& [name, expression] : family.facts) {
        PLIMSOLL_TRY(const Json value, expression.value(at));
        if (value.is_null()) continue;
        const std::string text = value.is_string() ? value.get<std::string>() : "";
        if (name == "attention") kind.attention = text == "multi-head" ? attention_of(a) : text;
        if (name == "mlp") kind.mlp = text;
        if (name == "norm") kind.norm = text;
        if (name == "placement") kind.placement = text;
        if (name == "position") kind.position = text;
        if (name == "qk_norm") kind.qk_norm = text;
        if (name == "parallel") kind.parallel = value == Json(true);
        if (name == "window" && value.is_number_integer()) kind.window = value.get<std::int64_t>();
    }
    return kind;
}

Result<void> add_kinds(Architecture& a, const FamilyFile& family, const Scope& scope) {
    for (std::int64_t place = 0; place < a.layers.value_or(0); ++place) {
        PLIMSOLL_TRY(LayerKind kind, layer_of(family, scope, place, a));
        const auto same = std::ranges::find_if(a.kinds, [&](const LayerKind& each) { return alike(each, kind); });
        if (same != a.kinds.end()) {
            ++same->count;
        } else {
            kind.count = 1;
            a.kinds.push_back(std::move(kind));
        }
    }
    return {};
}

std::string rope_scaling_of(const Json& config) {
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        const auto found = config.find(key);
        if (found == config.end() || !found->is_object()) continue;
        for (const char* name : {"rope_type", "type"}) {
            const auto type = found->find(name);
            if (type == found->end() || !type->is_string() || *type == "default") continue;
            const auto factor = found->find("factor");
            return type->get<std::string>() +
                   (factor != found->end() && factor->is_number() ? fmt::format(" x{:g}", factor->get<double>()) : "");
        }
    }
    return "";
}

void add_notes(Architecture& a, const Json& config) {
    if (config.contains("auto_map")) {
        a.notes.push_back("auto_map names code of the model's own; it is not run, and the model is described as " +
                          a.title);
    }
    const auto quantization = config.find("quantization_config");
    if (quantization != config.end() && quantization->is_object()) {
        a.notes.push_back(
            "the published weights are quantized (quantization_config); the tensors here are those before");
    }
    if (const auto next = config.find("num_nextn_predict_layers");
        next != config.end() && next->is_number_integer() && *next > 0) {
        a.notes.push_back(fmt::format(
            "{} for further tokens (num_nextn_predict_layers) comes with the weights and is not counted",
            next->get<std::int64_t>() == 1 ? std::string("a layer")
                                           : fmt::format("a stack of {} layers", next->get<std::int64_t>())));
    }
}

std::string text_in(const Json& config, const char* key) {
    const auto found = config.find(key);
    return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<const FamilyFile*> family_of(const Json& config, const FamilyFiles& families, const std::string& as) {
    if (!as.empty()) {
        const FamilyFile* family = families.find(as);
        if (family != nullptr) return family;
        return bad_input("there is no family \"{}\"{}; known: {}", as, did_you_mean(as, families.names()),
                         fmt::join(families.names(), ", "));
    }
    const std::string type = text_in(config, "model_type");
    if (const FamilyFile* family = families.find(type); family != nullptr && !type.empty()) return family;
    std::string first_class;
    if (const auto classes = config.find("architectures"); classes != config.end() && classes->is_array()) {
        for (const Json& each : *classes) {
            if (!each.is_string()) continue;
            if (const FamilyFile* family = families.find(each.get<std::string>()); family != nullptr && type.empty())
                return family;
            if (first_class.empty()) first_class = each.get<std::string>();
        }
    }
    if (type.empty() && first_class.empty()) {
        return bad_input("it has neither model_type nor architectures, so its family is not known; give --as FAMILY");
    }
    const std::string name = type.empty() ? first_class : type;
    const std::string near = nearest_name(name, families.names());
    return bad_input("no family describes {} \"{}\"{}{}; to count it as another one give --as FAMILY",
                     type.empty() ? "the class" : "model_type", name,
                     near.empty() ? "" : fmt::format(" (the nearest name is \"{}\", which may be another model)", near),
                     config.contains("auto_map") ? ", and its code comes with it (auto_map), which is not run" : "");
}

Result<void> count(Architecture& a) {
    double active = 0;
    for (const TensorShape& tensor : a.tensors) {
        if (tensor.buffer) continue;
        if (__builtin_add_overflow(a.parameters, tensor.numbers, &a.parameters) || a.parameters > most_numbers) {
            return bad_input("the model would be larger than any model; the numbers of its config.json are too large");
        }
        active += static_cast<double>(tensor.numbers) * tensor.active;
    }
    a.active_parameters = std::llround(active);
    std::ranges::sort(a.tensors, {}, &TensorShape::name);
    const auto twice = std::ranges::adjacent_find(a.tensors, {}, &TensorShape::name);
    if (twice != a.tensors.end()) return bad_input("the family names the tensor {} twice", twice->name);
    return {};
}

Result<Architecture> described(const Json& config, const FamilyFiles& families, const FamilyFile& family) {
    PLIMSOLL_CHECK(require_keys(config, family));
    Scope scope(config);
    for (const auto& [name, expression] : family.let) {
        PLIMSOLL_TRY(Json value, expression.value(scope));
        scope.set(name, std::move(value));
    }
    Architecture a;
    a.family = family.name;
    a.title = family.title;
    a.model_type = text_in(config, "model_type");
    const std::pair<const char*, std::optional<std::int64_t>*> numbers[] = {{"hidden", &a.hidden},
                                                                            {"layers", &a.layers},
                                                                            {"decoder_layers", &a.decoder_layers},
                                                                            {"heads", &a.heads},
                                                                            {"kv_heads", &a.kv_heads},
                                                                            {"head_dim", &a.head_dim},
                                                                            {"inner", &a.inner},
                                                                            {"vocab", &a.vocab},
                                                                            {"context", &a.context},
                                                                            {"experts", &a.experts},
                                                                            {"top_k", &a.experts_per_token},
                                                                            {"expert_inner", &a.expert_inner},
                                                                            {"shared_inner", &a.shared_inner}};
    for (const auto& [name, place] : numbers) {
        PLIMSOLL_TRY(*place, number_named(scope, name));
    }
    if (const Json& tied = scope.find("tied"); tied.is_boolean()) a.tied = tied.get<bool>();
    PLIMSOLL_CHECK(require_heads(a));
    if (a.layers.value_or(0) > 100'000)
        return bad_input("the model would have {} layers; its config.json is damaged", *a.layers);
    for (const auto& [name, expression] : family.facts) {
        if (name != "kind") continue;
        PLIMSOLL_TRY(const Json kind, expression.value(scope));
        if (kind.is_string()) a.kind = kind.get<std::string>();
    }
    Walk walk(families);
    PLIMSOLL_CHECK(walk.items(family.tensors, scope, "", 1, false, 0));
    a.tensors = walk.take();
    PLIMSOLL_CHECK(count(a));
    PLIMSOLL_CHECK(add_kinds(a, family, scope));
    a.rope_scaling = rope_scaling_of(config);
    add_notes(a, config);
    return a;
}

}  // namespace

Result<Architecture> describe(const Json& config, const FamilyFiles& families, const std::string& as) {
    if (!config.is_object()) return bad_input("it holds no object; a config.json of Hugging Face is needed");
    const auto text = config.find("text_config");
    const bool has_text = text != config.end() && text->is_object();
    const auto own = family_of(config, families, as);
    if (!own && has_text) {
        PLIMSOLL_TRY(auto inner, describe(*text, families, as));
        inner.notes.push_back("the config is of several parts; this is its text part alone (text_config)");
        return inner;
    }
    if (!own) return tl::unexpected(own.error());
    return described(config, families, **own);
}

}  // namespace plimsoll
