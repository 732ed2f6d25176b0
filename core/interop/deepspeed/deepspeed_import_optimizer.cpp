// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import_parts.h"

namespace plimsoll::deepspeed {

namespace {

void read_clipping(Import& file) {
    Optimizer& optimizer = file.plan.optimizer;
    const double standard = file.schema.default_in("gradient_clipping", file.release).get<double>();
    file.number("gradient_clipping", optimizer.clip, standard);
    if (file.is_auto("gradient_clipping") || optimizer.clip_rule == ClipRule::Global) return;
    optimizer.clip_rule = ClipRule::Global;
    file.notes.push_back("optimizer.clip_rule is global: DeepSpeed clips by the norm of all gradients together.");
}

void read_betas(Import& file) {
    constexpr const char* path = "optimizer.params.betas";
    Optimizer& optimizer = file.plan.optimizer;
    if (file.is_auto(path)) {
        file.autos.emplace_back(path);
        return;
    }
    // ops/adam/fused_adam.py, ops/adam/cpu_adam.py, ops/lamb/fused_lamb.py and torch's own
    double beta1 = 0.9, beta2 = 0.999;
    if (const Json* betas = file.at(path)) {
        if (!betas->is_array() || betas->size() != 2 || !(*betas)[0].is_number() || !(*betas)[1].is_number()) {
            stop("{}: {} is {}: two numbers belong there", file.what, path, shown(*betas));
        }
        beta1 = (*betas)[0].get<double>();
        beta2 = (*betas)[1].get<double>();
    } else {
        file.left_out(path, Json::array({beta1, beta2}), optimizer.beta1 != beta1 || optimizer.beta2 != beta2);
    }
    optimizer.beta1 = beta1;
    optimizer.beta2 = beta2;
}

void read_rate(Import& file) {
    constexpr const char* path = "optimizer.params.lr";
    file.number(path, file.plan.optimizer.lr, 1e-3);
    LrSchedule& lr = file.plan.lr;
    if (file.is_auto(path) || lr.batch_rule == BatchRule::None) return;
    lr.batch_rule = BatchRule::None;
    file.notes.push_back("lr.batch_rule is none: the file's learning rate is meant for the file's batch.");
}

/// Parameters that the type does not say, of an optimizer that the plan cannot name.
void read_foreign(Import& file, const std::string& type) {
    Optimizer& optimizer = file.plan.optimizer;
    optimizer.lr = file.number_at("optimizer.params.lr").value_or(optimizer.lr);
    optimizer.weight_decay = file.number_at("optimizer.params.weight_decay").value_or(optimizer.weight_decay);
    file.notes.push_back(
        fmt::format("optimizer.type {} has no counterpart: the plan keeps optimizer.kind {}, and the file's block is "
                    "kept for the export.",
                    type, name_of(optimizer.kind)));
}

void note_no_optimizer(Import& file) {
    const Optimizer& optimizer = file.plan.optimizer;
    file.notes.push_back(fmt::format(
        "The file has no optimizer, so the {} own is trained: the plan keeps optimizer.kind {}, lr {:g}, betas {:g} and "
        "{:g}, eps {:g} and weight_decay {:g}.",
        file.hugging_face ? "training arguments'" : "script's", name_of(optimizer.kind), optimizer.lr, optimizer.beta1,
        optimizer.beta2, optimizer.eps, optimizer.weight_decay));
}

}  // namespace

void read_optimizer(Import& file) {
    read_clipping(file);
    Optimizer& optimizer = file.plan.optimizer;
    const std::string type = small_letters(file.text_at("optimizer.type").value_or(""));
    if (type.empty()) return note_no_optimizer(file);
    if (type == "adam" || type == "adamw") {
        optimizer.kind = OptimizerKind::AdamW;
    } else if (type == "lamb") {
        optimizer.kind = OptimizerKind::Lamb;
    } else if (type == "sgd") {
        optimizer.kind = OptimizerKind::Sgd;
    } else {
        return read_foreign(file, type);
    }
    read_rate(file);
    // torch.optim.AdamW decays by 0.01 where nothing is said, every other one of these by 0.
    const bool torch_adamw = type == "adamw" && file.flag_at("optimizer.params.torch_adam").value_or(false);
    file.number("optimizer.params.weight_decay", optimizer.weight_decay, torch_adamw ? 0.01 : 0);
    if (optimizer.kind == OptimizerKind::Sgd) {
        file.number("optimizer.params.momentum", optimizer.momentum, 0);
        return;
    }
    file.number("optimizer.params.eps", optimizer.eps, 1e-8);
    read_betas(file);
}

}  // namespace plimsoll::deepspeed
