// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"
#include "core/plan/plan_io.h"

namespace plimsoll {

namespace {

using deepspeed::whole;

struct Wrong {
    Error error;
};

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) {
    throw Wrong{bad_input(format, std::forward<Args>(args)...).value()};
}

/// Reads values by dotted path; a value of a wrong type ends the import.
class Reader {
public:
    Reader(const Json& json, std::string what) : json_(json), what_(std::move(what)) {}

    const Json* at(std::string_view path) const {
        const Json* value = &json_;
        while (true) {
            const auto dot = path.find('.');
            if (!value->is_object()) return nullptr;
            const auto found = value->find(std::string(path.substr(0, dot)));
            if (found == value->end() || found->is_null()) return nullptr;
            value = &*found;
            if (dot == std::string_view::npos) break;
            path.remove_prefix(dot + 1);
        }
        return *value == "auto" ? nullptr : value;
    }
    void integer(std::string_view path, std::int64_t& into) const {
        const Json* value = at(path);
        if (!value) return;
        const auto number = whole(value);
        if (!number) stop("{}: {} is {}; a whole number belongs there", what_, path, shown(*value));
        into = *number;
    }
    void number(std::string_view path, double& into) const {
        const Json* value = at(path);
        if (!value) return;
        if (!value->is_number()) stop("{}: {} is {}; a number belongs there", what_, path, shown(*value));
        into = value->get<double>();
    }
    void flag(std::string_view path, bool& into) const {
        const Json* value = at(path);
        if (!value) return;
        if (!value->is_boolean()) stop("{}: {} is {}; true or false belongs there", what_, path, shown(*value));
        into = value->get<bool>();
    }
    std::string text(std::string_view path) const {
        const Json* value = at(path);
        if (!value) return "";
        if (!value->is_string()) stop("{}: {} is {}; a text belongs there", what_, path, shown(*value));
        return value->get<std::string>();
    }

private:
    const Json& json_;
    std::string what_;
};

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

/// Sets the number of ranks from the batch numbers, on nodes of the base's size.
void set_ranks(Plan& plan, std::int64_t dp) {
    constexpr std::int64_t most = 1'000'000;
    if (dp < 1 || dp > most) return;
    plan.layout.dp = dp;
    const std::int64_t world = plan.layout.world_size();
    Cluster& cluster = plan.cluster;
    if (world == cluster.world_size() || world > most) return;
    if (world % cluster.gpus_per_node == 0) {
        cluster.nodes = world / cluster.gpus_per_node;
    } else {
        cluster.gpus_per_node = world;
        cluster.nodes = 1;
    }
}

void read_batch(const Reader& read, Plan& plan) {
    Layout& layout = plan.layout;
    std::int64_t train = 0, micro = 0, accumulation = 0;
    read.integer("train_batch_size", train);
    read.integer("train_micro_batch_size_per_gpu", micro);
    read.integer("gradient_accumulation_steps", accumulation);
    read.integer("tensor_parallel.autotp_size", layout.tp);
    layout.tp = std::max<std::int64_t>(layout.tp, 1);
    read.integer("expert_parallel.autoep_size", layout.ep);
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (std::max({train, micro, accumulation}) > most) stop("a batch above {} makes no sense", most);
    if (train > 0 && micro > 0 && accumulation > 0) {
        set_ranks(plan, train / (micro * accumulation));
    } else if (train > 0 && micro > 0) {
        accumulation = train / micro / layout.dp;
    } else if (train > 0 && accumulation > 0) {
        micro = train / layout.dp / accumulation;
    } else if (train > 0) {
        micro = train / layout.dp;
        accumulation = 1;
    }
    if (micro > 0) layout.micro_batch = micro;
    layout.accumulation = std::max<std::int64_t>(accumulation, 1);
    if (train > 0 && layout.global_batch() != train) {
        stop("train_batch_size {} is not {} x {} x {} data-parallel ranks: plimsoll lint says what would be", train,
             layout.micro_batch, layout.accumulation, layout.dp);
    }
}

void read_optimizer(const Reader& read, Plan& plan, std::vector<std::string>& notes) {
    Optimizer& optimizer = plan.optimizer;
    read.number("gradient_clipping", optimizer.clip);
    const std::string type = lower(read.text("optimizer.type"));
    if (type.empty()) return;
    if (type == "adam" || type == "adamw") {
        optimizer.kind = OptimizerKind::AdamW;
    } else if (type == "lamb") {
        optimizer.kind = OptimizerKind::Lamb;
    } else if (type == "sgd") {
        optimizer.kind = OptimizerKind::Sgd;
        optimizer.momentum = 0;
    } else {
        notes.push_back(
            fmt::format("optimizer.type {} has no counterpart: the plan keeps optimizer.kind {}, and the "
                        "file's block is kept.",
                        type, name_of(optimizer.kind)));
    }
    optimizer.weight_decay = 0;
    read.number("optimizer.params.lr", optimizer.lr);
    read.number("optimizer.params.eps", optimizer.eps);
    read.number("optimizer.params.weight_decay", optimizer.weight_decay);
    read.number("optimizer.params.momentum", optimizer.momentum);
    if (const Json* betas = read.at("optimizer.params.betas")) {
        if (!betas->is_array() || betas->size() != 2 || !(*betas)[0].is_number() || !(*betas)[1].is_number()) {
            stop("optimizer.params.betas is {}: two numbers belong there", shown(*betas));
        }
        optimizer.beta1 = (*betas)[0].get<double>();
        optimizer.beta2 = (*betas)[1].get<double>();
    }
}

void read_warmup(const Reader& read, Plan& plan) {
    LrSchedule& lr = plan.lr;
    lr.warmup_steps = 1000;  // DeepSpeed's default
    read.integer("scheduler.params.warmup_num_steps", lr.warmup_steps);
    lr.warmup_shape = read.text("scheduler.params.warmup_type") == "linear" ? LrShape::Linear : LrShape::Log;
    read.integer("scheduler.params.total_num_steps", plan.training.steps);
}

void read_scheduler(const Reader& read, Plan& plan, std::vector<std::string>& notes) {
    const std::string type = read.text("scheduler.type");
    if (type.empty()) return;
    const LrSchedule before = plan.lr;
    LrSchedule& lr = plan.lr;
    lr = LrSchedule{};
    lr.min_ratio = before.min_ratio;
    double low = 0, peak = plan.optimizer.lr;
    if (type == "WarmupLR" || type == "WarmupDecayLR") {
        lr.kind = type == "WarmupLR" ? LrKind::DeepSpeedWarmup : LrKind::DeepSpeedWarmupDecay;
        read_warmup(read, plan);
        if (type == "WarmupDecayLR") peak = 0.001;
        read.number("scheduler.params.warmup_min_lr", low);
        read.number("scheduler.params.warmup_max_lr", peak);
    } else if (type == "WarmupCosineLR") {
        lr.kind = LrKind::DeepSpeedWarmupCosine;
        read_warmup(read, plan);
        lr.min_ratio = 0.0001;
        read.number("scheduler.params.warmup_min_ratio", lr.warmup_start_ratio);
        read.number("scheduler.params.cos_min_ratio", lr.min_ratio);
        return;
    } else if (type == "OneCycle") {
        lr.kind = LrKind::DeepSpeedOneCycle;
        lr.warmup_steps = 2000;
        read.number("scheduler.params.cycle_min_lr", low);
        read.number("scheduler.params.cycle_max_lr", peak);
        read.integer("scheduler.params.cycle_first_step_size", lr.warmup_steps);
        read.integer("scheduler.params.cycle_second_step_size", lr.cycle_steps);
        read.integer("scheduler.params.decay_step_size", lr.decay_steps);
        read.number("scheduler.params.decay_lr_rate", lr.decay_rate);
    } else {
        lr = before;
        notes.push_back(fmt::format(
            "scheduler.type {} has no counterpart: the plan keeps lr.kind {}, and the file's block is kept.", type,
            name_of(lr.kind)));
        return;
    }
    if (peak > 0) lr.warmup_start_ratio = low / peak;
    plan.optimizer.lr = peak;
}

void read_precision(const Reader& read, Plan& plan) {
    Numerics& numerics = plan.numerics;
    bool fp16 = false, bf16 = false;
    read.flag("fp16.enabled", fp16);
    read.flag(read.at("bf16") ? "bf16.enabled" : "bfloat16.enabled", bf16);
    if (fp16 && bf16) stop("fp16 and bf16 exclude each other: turn one of them off");
    numerics.dtype = fp16 ? Dtype::Fp16 : bf16 ? Dtype::Bf16 : Dtype::Fp32;
    const std::string gradients = read.text("data_types.grad_accum_dtype");
    numerics.fp32_gradients = numerics.dtype != Dtype::Fp32 && (gradients == "fp32" || gradients == "float32");
    const std::string_view own = numerics.fp32_gradients ? "fp32" : name_of(numerics.dtype);
    const std::string reduced = lower(read.text("communication_data_type"));
    numerics.reduce_dtype = ReduceDtype::Gradient;
    for (std::size_t i = 1; i < reduce_dtype_names.size(); ++i) {
        if (reduced == reduce_dtype_names[i] && reduced != own) numerics.reduce_dtype = static_cast<ReduceDtype>(i);
    }
    if (!fp16) return;
    numerics.loss_scale_policy = LossScalePolicy::DeepSpeed;
    numerics.loss_scale = 0;
    read.number("fp16.loss_scale", numerics.loss_scale);
    read.integer("fp16.initial_scale_power", numerics.initial_scale_power);
    read.integer("fp16.loss_scale_window", numerics.loss_scale_window);
    read.integer("fp16.hysteresis", numerics.hysteresis);
    read.flag("fp16.consecutive_hysteresis", numerics.consecutive_hysteresis);
    read.number("fp16.min_loss_scale", numerics.min_loss_scale);
}

Offload read_offload(const Reader& read, std::string_view block, Plan& plan) {
    const std::string path = fmt::format("zero_optimization.{}", block);
    const std::string device = read.text(path + ".device");
    if (const std::string folder = read.text(path + ".nvme_path"); !folder.empty()) plan.layout.nvme_path = folder;
    for (std::size_t i = 0; i < offload_names.size(); ++i) {
        if (device == offload_names[i]) return static_cast<Offload>(i);
    }
    if (!device.empty()) stop("{}.device is {}: write none, cpu or nvme", path, shown(Json(device)));
    return Offload::None;
}

void read_zero(const Reader& read, Plan& plan) {
    Layout& layout = plan.layout;
    layout.zero_stage = 0;
    if (const Json* zero = read.at("zero_optimization"); zero && zero->is_boolean()) {
        layout.zero_stage = zero->get<bool>() ? 1 : 0;
    } else {
        read.integer("zero_optimization.stage", layout.zero_stage);
    }
    layout.offload_optimizer = read_offload(read, "offload_optimizer", plan);
    layout.offload_parameters = layout.zero_stage == 3 ? read_offload(read, "offload_param", plan) : Offload::None;
    const bool recomputes = read.at("activation_checkpointing") != nullptr;
    if (recomputes && layout.recompute == Recompute::None) layout.recompute = Recompute::Full;
    if (!recomputes) layout.recompute = Recompute::None;
}

/// Keys whose values the plan decides: a difference becomes a note and is not kept.
bool is_the_plans(const std::string& path) {
    constexpr std::array<std::string_view, 8> prefixes{"optimizer",
                                                       "scheduler",
                                                       "train_",
                                                       "gradient_accumulation",
                                                       "gradient_clipping",
                                                       "fp16.",
                                                       "tensor_parallel.autotp_size",
                                                       "expert_parallel"};
    constexpr std::array<std::string_view, 5> keys{"zero_optimization.stage", "bf16.enabled",
                                                   "data_types.grad_accum_dtype", "communication_data_type",
                                                   "zero_optimization.offload_optimizer.device"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view each) { return path.starts_with(each); }) ||
           std::find(keys.begin(), keys.end(), path) != keys.end();
}

/// A block whose type differs from the export's, which the plan cannot express.
bool is_another(const Json& block, const Json* exported) {
    if (!block.is_object() || !block.contains("type") || !block.at("type").is_string()) return false;
    if (!exported || !exported->is_object() || !exported->contains("type")) return true;
    const std::string type = lower(block.at("type").get<std::string>()), there = lower(exported->at("type"));
    return type != there && !(type == "adam" && there == "adamw");
}

/// The file's entries that the plan's own export lacks or has with other values.
Json leftovers(const Json& file, const Json& exported, const std::string& path, std::vector<std::string>& notes) {
    Json kept = Json::object();
    for (const auto& [key, value] : file.items()) {
        const std::string here = joined_key(path, key);
        const Json* there = exported.is_object() && exported.contains(key) ? &exported.at(key) : nullptr;
        if (path.empty() && (key == "optimizer" || key == "scheduler") && is_another(value, there)) {
            kept[key] = value;
            continue;
        }
        if (there && *there == value) continue;
        if (value.is_object() && (there ? there->is_object() : !is_the_plans(here))) {
            Json inner = leftovers(value, there ? *there : Json::object(), here, notes);
            if (!inner.empty() || (!there && value.empty())) kept[key] = std::move(inner);
            continue;
        }
        const bool more = !there && (here.starts_with("optimizer.params.") || here.starts_with("scheduler.params.") ||
                                     here.starts_with("fp16.") || here.starts_with("expert_parallel."));
        if (more || !is_the_plans(here)) {
            kept[key] = value;
        } else if (!there || !there->is_number() || !value.is_number() ||
                   std::abs(there->get<double>() - value.get<double>()) > 1e-12 * std::abs(value.get<double>())) {
            notes.push_back(fmt::format("{} is {} in the file and {} in an export of the plan.", here, shown(value),
                                        there ? shown(*there) : "left out"));
        }
    }
    return kept;
}

}  // namespace

Result<DeepSpeedImport> import_deepspeed(const Json& file, const Plan& base, const std::string& what) try {
    if (!file.is_object()) return bad_input("{}: a DeepSpeed config is an object {{…}}", what);
    DeepSpeedImport result{base, {}};
    Plan& plan = result.plan;
    Json source = *plan.source;
    source.erase("deepspeed");
    plan.source = source;
    const Reader read(file, what);
    read_batch(read, plan);
    read_optimizer(read, plan, result.notes);
    read_scheduler(read, plan, result.notes);
    read_precision(read, plan);
    read_zero(read, plan);
    // Ranges are checked when a document is read.
    PLIMSOLL_CHECK(plan_from_json(to_json(plan), what));
    const auto exported = export_deepspeed(plan);
    if (!exported) return bad_input("{}: {}", what, exported.error().message);
    Json kept = leftovers(file, exported->json, "", result.notes);
    if (!kept.empty()) {
        source["deepspeed"] = std::move(kept);
        plan.source = std::move(source);
    }
    return result;
} catch (const Wrong& wrong) {
    return tl::unexpected(wrong.error);
}

}  // namespace plimsoll
