// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/findings/checklist.h"

namespace plimsoll::doctor {

const std::vector<ChecklistLine>& checklist_lines() {
    static const std::vector<ChecklistLine> lines{
        {"possible", "Memory", "The plan contradicts itself nowhere"},
        {"fits", "Memory", "Each rank's memory holds its part"},
        {"out-of-memory", "Memory", "No rank ran out of memory", true},
        {"measured-memory", "Memory", "A rank takes what was estimated", true},
        {"smaller-micro-batch", "Memory", "A smaller micro-batch"},
        {"recomputation", "Memory", "Activation checkpointing (recomputation)"},
        {"zero", "Memory", "A higher ZeRO stage"},
        {"model-parallel", "Memory", "Tensor, pipeline, context or expert parallel ranks"},
        {"offload", "Memory", "Offloading to the host"},
        {"kernels", "Memory", "Flash attention, the loss in pieces, 8-bit activations"},
        {"small-dtypes", "Memory", "Mixed precision and smaller optimizer states"},

        {"nonfinite", "Numbers", "Loss and gradients stay finite", true},
        {"bad-data", "Numbers", "No batch makes the loss go bad", true},
        {"half-precision", "Numbers", "bf16 rather than fp16"},
        {"small-updates", "Numbers", "Small updates are not lost to rounding"},
        {"state-precision", "Numbers", "The optimizer's states can follow the gradients"},
        {"overflow", "Numbers", "fp16 steps that overflow are few", true},
        {"loss-scale", "Numbers", "The loss scale is off its minimum", true},
        {"clipping", "Numbers", "Gradients are clipped"},
        {"initial-loss", "Numbers", "The first loss is that of a guess (initialisation)", true},
        {"dead-layers", "Numbers", "Every layer learns", true},
        {"exploding-layers", "Numbers", "No layer's gradients explode", true},

        {"lr-too-high", "Learning", "The learning rate is not too high", true},
        {"lr-too-low", "Learning", "The learning rate is not too low", true},
        {"warmup", "Learning", "The learning rate warms up"},
        {"spikes", "Learning", "Spikes are few", true},
        {"clipped-steps", "Learning", "Clipping is the exception", true},
        {"batch-rule", "Learning", "Learning rate and batch go together"},
        {"optimizer", "Learning", "The optimizer suits the batch"},
        {"weight-decay", "Learning", "Weight decay is set"},
        {"overfit", "Learning", "The validation loss falls as well", true},

        {"micro-batch", "Speed", "The micro-batch fills the GPU"},
        {"data", "Speed", "No step waits for data", true},
        {"communication", "Speed", "Links take a small share of a step"},
        {"overlap", "Speed", "Gradients travel in buckets behind the backward"},
        {"nodes", "Speed", "Tensor and context parallel ranks stay within a node"},
        {"bubble", "Speed", "The pipeline bubble is small"},
        {"recompute-needed", "Speed", "Nothing is recomputed without need"},
        {"attention", "Speed", "Attention is fused"},
        {"tensor-cores", "Speed", "Products run on tensor cores"},
        {"straggler", "Speed", "No rank is slower than the others", true},
        {"predicted", "Speed", "A step takes what was predicted", true},
        {"throughput", "Speed", "The throughput holds", true},
        {"beside-steps", "Speed", "Checkpoints and validation take little time", true},

        {"ended", "Upkeep", "The run has not failed", true},
        {"guard", "Upkeep", "The gradient guard is on"},
        {"checkpoints", "Upkeep", "There are checkpoints to go back to"},
        {"rollbacks", "Upkeep", "The run was never rolled back", true},
    };
    return lines;
}

}  // namespace plimsoll::doctor
