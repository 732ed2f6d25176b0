// SPDX-License-Identifier: Apache-2.0
// The GPUs and the CPU of this machine.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct LocalGpu {
    std::string name;  ///< as NVML says
    Bytes memory = 0;
    std::string catalogue_name;  ///< matching entry, or empty
};

struct Machine {
    Bytes ram = 0;
    Bytes ram_available = 0;
    int cores = 0;
    std::vector<LocalGpu> gpus;  ///< through NVML, loaded at run time; empty where there is none
    std::string gpu_note;        ///< why there are none
};

/// What is there now.
Machine probe_machine();
/// Whether oneDNN, and so LibTorch, computes products in 16 bits itself here, for which it packs their operands (x86
/// from AVX-512 on; ideep::has_bf16_type_support). Elsewhere LibTorch's own loops read them where they are.
bool packs_half_products();
/// Bytes that one rank may use on the plan's hardware. On "cpu": this machine's RAM less 10 %, shared by its ranks.
Result<Bytes> usable_bytes(const Cluster& cluster);

}  // namespace plimsoll
