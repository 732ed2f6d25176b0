// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import_parts.h"

namespace plimsoll::deepspeed {

namespace {

Offload read_offload(Import& file, std::string_view block, Offload plans) {
    const std::string path = fmt::format("zero_optimization.{}", block);
    Layout& layout = file.plan.layout;
    if (file.is_auto(path + ".nvme_path")) {
        file.autos.push_back(path + ".nvme_path");
    } else if (const auto folder = file.text_at(path + ".nvme_path"); folder && !folder->empty()) {
        layout.nvme_path = *folder;
    }
    if (file.is_auto(path) || file.is_auto(path + ".device")) {
        file.autos.push_back(file.is_auto(path) ? path : path + ".device");
        return plans;
    }
    const auto device = file.text_at(path + ".device");
    if (!device) {
        file.left_out(path, "none", plans != Offload::None);
        return Offload::None;
    }
    for (std::size_t i = 0; i < offload_names.size(); ++i) {
        if (*device == offload_names[i]) return static_cast<Offload>(i);
    }
    stop("{}: {}.device is {}: write none, cpu or nvme", file.what, path, shown(Json(*device)));
}

}  // namespace

void read_zero(Import& file) {
    Layout& layout = file.plan.layout;
    if (const Json* zero = file.at("zero_optimization"); zero && !zero->is_object()) {
        stop("{}: zero_optimization is {}; a block belongs there", file.what, shown(*zero));
    }
    file.integer("zero_optimization.stage", layout.zero_stage, 0);
    layout.offload_optimizer = read_offload(file, "offload_optimizer", layout.offload_optimizer);
    const Offload parameters = read_offload(file, "offload_param", layout.offload_parameters);
    if (layout.zero_stage != 3 && parameters != Offload::None) {
        file.notes.push_back(fmt::format(
            "zero_optimization.offload_param acts at stage 3 alone: at stage {} the plan's parameters stay on the GPU.",
            layout.zero_stage));
    }
    layout.offload_parameters = layout.zero_stage == 3 ? parameters : Offload::None;
}

void read_recomputation(Import& file) {
    Layout& layout = file.plan.layout;
    if (!file.at("activation_checkpointing")) {
        if (layout.recompute == Recompute::None) return;
        file.notes.push_back(
            fmt::format("The file does not speak of recomputation: the plan keeps layout.recompute {}.",
                        name_of(layout.recompute)));
    } else if (layout.recompute == Recompute::None) {
        layout.recompute = Recompute::Full;
        file.notes.push_back(
            "activation_checkpointing stands in the file, so layout.recompute is full. It acts in model code that calls "
            "deepspeed.checkpointing: write --set layout.recompute=none where the model has none.");
    }
}

}  // namespace plimsoll::deepspeed
