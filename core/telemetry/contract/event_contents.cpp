// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/event_contents.h"

#include <algorithm>

#include "core/telemetry/contract/event_kind.h"

namespace plimsoll {

namespace {

/// Members of an event's details by their types; another type counts as missing.
class Members {
public:
    explicit Members(const Json& details) : details_(details) {}

    const Json* find(const char* key) const {
        if (!details_.is_object()) return nullptr;
        const auto at = details_.find(key);
        return at == details_.end() ? nullptr : &*at;
    }
    std::optional<double> number(const char* key) const {
        const Json* value = find(key);
        return value != nullptr && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
    }
    std::optional<std::int64_t> whole(const char* key) const {
        const Json* value = find(key);
        return value != nullptr && value->is_number_integer() ? std::optional(value->get<std::int64_t>())
                                                              : std::nullopt;
    }
    /// Whole and not negative.
    std::optional<std::uint64_t> count(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr || !value->is_number_integer()) return std::nullopt;
        if (!value->is_number_unsigned() && value->get<std::int64_t>() < 0) return std::nullopt;
        return value->get<std::uint64_t>();
    }
    std::string text(const char* key) const {
        const Json* value = find(key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : "";
    }

private:
    const Json& details_;
};

tl::unexpected<Error> lacks(EventKind kind, const char* what) {
    return bad_input("the event \"{}\" does not say {}", name_of(kind), what);
}

Json named(const NamedBytes& all) {
    Json json = Json::object();
    for (const auto& [name, bytes] : all) json[name] = bytes;
    return json;
}

NamedBytes named_bytes(const Json* json) {
    NamedBytes all;
    if (json == nullptr || !json->is_object()) return all;
    for (const auto& [name, bytes] : json->items())
        if (bytes.is_number_integer()) all.emplace_back(name, std::max<Bytes>(bytes.get<Bytes>(), 0));
    return all;
}

/// Nothing but lists of whole numbers is rows of experts.
std::vector<std::vector<std::int64_t>> row_counts(const Json* json) {
    std::vector<std::vector<std::int64_t>> all;
    if (json == nullptr || !json->is_array()) return all;
    for (const Json& list : *json) {
        if (!list.is_array()) return {};
        auto& counts = all.emplace_back();
        for (const Json& count : list) {
            if (!count.is_number_integer()) return {};
            counts.push_back(count.get<std::int64_t>());
        }
    }
    return all;
}

}  // namespace

Bytes bytes_of(const NamedBytes& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == name; });
    return found == all.end() ? 0 : found->second;
}

Json StartEvent::to_json() const {
    return {{"parameters", parameters},
            {"trained_parameters", trained_parameters},
            {"world_size", world_size},
            {"dtype", dtype},
            {"device", device},
            {"corpus", corpus},
            {"corpus_bytes", corpus_bytes},
            {"train_bytes", train_bytes},
            {"steps", steps},
            {"seed", seed},
            {"buckets", buckets},
            {"host", host},
            {"pid", pid},
            {"version", version}};
}

Result<StartEvent> StartEvent::from_json(const Json& details) {
    const Members in(details);
    StartEvent event;
    event.parameters = in.whole("parameters").value_or(0);
    event.trained_parameters = in.whole("trained_parameters").value_or(0);
    event.world_size = in.whole("world_size").value_or(0);
    event.dtype = in.text("dtype");
    event.device = in.text("device");
    event.corpus = in.text("corpus");
    event.corpus_bytes = in.whole("corpus_bytes").value_or(0);
    event.train_bytes = in.whole("train_bytes").value_or(0);
    event.steps = in.whole("steps").value_or(0);
    event.seed = in.whole("seed").value_or(0);
    event.buckets = in.whole("buckets").value_or(0);
    event.host = in.text("host");
    event.pid = in.whole("pid").value_or(0);
    event.version = in.text("version");
    return event;
}

Json ResumeEvent::to_json() const {
    Json json = start.to_json();
    json["resumed_from"] = resumed_from;
    json["samples"] = samples;
    return json;
}

Result<ResumeEvent> ResumeEvent::from_json(const Json& details) {
    auto start = StartEvent::from_json(details);
    if (!start) return tl::unexpected(start.error());
    const Members in(details);
    return ResumeEvent{*std::move(start), in.whole("resumed_from").value_or(0), in.count("samples").value_or(0)};
}

Json CheckpointEvent::to_json() const { return {{"path", path}, {"bytes", bytes}, {"seconds", seconds}}; }

Result<CheckpointEvent> CheckpointEvent::from_json(const Json& details) {
    const Members in(details);
    return CheckpointEvent{in.text("path"), in.whole("bytes").value_or(0), in.number("seconds").value_or(0)};
}

Json ValidationEvent::to_json() const { return {{"loss", loss}}; }

Result<ValidationEvent> ValidationEvent::from_json(const Json& details) {
    const auto loss = Members(details).number("loss");
    if (!loss) return lacks(EventKind::Validation, "its loss");
    return ValidationEvent{*loss};
}

Json SampleEvent::to_json() const { return {{"prompt", prompt}}; }

Result<SampleEvent> SampleEvent::from_json(const Json& details) {
    const Members in(details);
    return SampleEvent{in.text("prompt"), in.text("text")};
}

Json MemoryEvent::to_json() const {
    Json json = {{"rank", rank},
                 {"peak", peak},
                 {"live", live},
                 {"categories", named(categories)},
                 {"live_categories", named(live_categories)}};
    if (!routing.empty()) json["routing"] = routing;
    return json;
}

Result<MemoryEvent> MemoryEvent::from_json(const Json& details) {
    const Members in(details);
    MemoryEvent event;
    event.peak = in.whole("peak").value_or(0);
    if (event.peak <= 0) return lacks(EventKind::Memory, "its peak in bytes");
    event.rank = std::max<std::int64_t>(in.whole("rank").value_or(0), 0);
    event.live = std::max<Bytes>(in.whole("live").value_or(0), 0);
    event.categories = named_bytes(in.find("categories"));
    event.live_categories = named_bytes(in.find("live_categories"));
    event.routing = row_counts(in.find("routing"));
    return event;
}

Json PipelineEvent::to_json() const {
    Json list = Json::array();
    for (const Op& op : ops) list.push_back({op.name, op.start, op.end});
    return {{"pp_rank", pp_rank}, {"origin", origin}, {"ops", std::move(list)}};
}

Result<PipelineEvent> PipelineEvent::from_json(const Json& details) {
    const Members in(details);
    const auto origin = in.number("origin");
    const Json* list = in.find("ops");
    if (!origin) return lacks(EventKind::Pipeline, "when its operations began");
    if (list == nullptr || !list->is_array()) return lacks(EventKind::Pipeline, "its operations");
    PipelineEvent event{in.whole("pp_rank").value_or(0), *origin, {}};
    for (const Json& op : *list) {
        const bool whole =
            op.is_array() && op.size() == 3 && op[0].is_string() && op[1].is_number() && op[2].is_number();
        if (!whole) {
            return bad_input("operation {} of the event \"{}\" is recorded as {}; a name, a start and an end make one",
                             event.ops.size(), name_of(EventKind::Pipeline), shown(op));
        }
        event.ops.push_back({op[0].get<std::string>(), op[1].get<double>(), op[2].get<double>()});
    }
    return event;
}

Json OverflowEvent::to_json() const { return {{"scale", scale}, {"next_scale", next_scale}}; }

Result<OverflowEvent> OverflowEvent::from_json(const Json& details) {
    const Members in(details);
    return OverflowEvent{in.number("scale").value_or(0), in.number("next_scale").value_or(0)};
}

Json FindingEvent::to_json() const {
    const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
    Json json = {{"reason", reason}, {"action", action}, {"loss", number(loss)}, {"grad_norm", number(grad_norm)}};
    if (samples) json["samples"] = *samples;
    if (place) {
        json["tensor"] = place->tensor;
        json["layer"] = place->layer;
        json["pass"] = place->pass;
    }
    if (lr_factor) json["lr_factor"] = *lr_factor;
    return json;
}

Result<FindingEvent> FindingEvent::from_json(const Json& details) {
    const Members in(details);
    FindingEvent event;
    event.reason = in.text("reason");
    event.action = in.text("action");
    event.loss = in.number("loss");
    event.grad_norm = in.number("grad_norm");
    event.samples = in.count("samples");
    if (const std::string layer = in.text("layer"); !layer.empty()) {
        event.place = Place{in.text("tensor"), layer, in.text("pass")};
    }
    event.lr_factor = in.number("lr_factor");
    return event;
}

Json RollbackEvent::to_json() const { return {{"from", from}, {"to", to}, {"samples", samples}}; }

Result<RollbackEvent> RollbackEvent::from_json(const Json& details) {
    const Members in(details);
    const auto to = in.whole("to");
    if (!to) return lacks(EventKind::Rollback, "the step that it goes back to");
    return RollbackEvent{in.whole("from").value_or(0), *to, in.count("samples").value_or(0)};
}

Json NoiseScaleEvent::to_json() const {
    return {{"noise_scale", noise_scale},
            {"batch_tokens", batch_tokens},
            {"measurements", measurements},
            {"bigger_batch_pays", bigger_batch_pays}};
}

Result<NoiseScaleEvent> NoiseScaleEvent::from_json(const Json& details) {
    const Members in(details);
    const auto scale = in.number("noise_scale");
    if (!scale) return lacks(EventKind::NoiseScale, "the noise scale");
    const Json* pays = in.find("bigger_batch_pays");
    return NoiseScaleEvent{*scale, in.number("batch_tokens").value_or(0), in.whole("measurements").value_or(0),
                           pays != nullptr && pays->is_boolean() && pays->get<bool>()};
}

Json RangeTestEvent::to_json() const {
    Json json = {{"steepest", steepest}, {"lowest", lowest}, {"suggestion", suggestion}};
    if (diverged) json["diverged"] = *diverged;
    return json;
}

Result<RangeTestEvent> RangeTestEvent::from_json(const Json& details) {
    const Members in(details);
    const auto suggestion = in.number("suggestion");
    if (!suggestion) return lacks(EventKind::RangeTest, "the rate that it suggests");
    return RangeTestEvent{in.number("steepest").value_or(0), in.number("lowest").value_or(0), *suggestion,
                          in.number("diverged")};
}

}  // namespace plimsoll
