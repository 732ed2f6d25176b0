// SPDX-License-Identifier: Apache-2.0
// The GPU catalogue (resources/gpus.json, datasheet facts).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct Gpu {
    std::string name;  ///< "A100 SXM4 80GB"
    std::string vendor;
    double memory_gb = 0;    ///< as on the datasheet
    double usable_gib = 0;   ///< what a process can allocate; where the file has none, 92 % of the datasheet's
    double memory_gbs = 0;   ///< bandwidth, GB/s
    double bf16_tflops = 0;  ///< dense; 0: no bf16 units
    double fp16_tflops = 0;
    double fp8_tflops = 0;   ///< 0: no fp8 units
    double tf32_tflops = 0;  ///< 0: no tf32 units
    double fp32_tflops = 0;
    double multiprocessors = 0;  ///< streaming multiprocessors, of AMD compute units
    double nvlink_gbs = 0;       ///< both directions together, GB/s; 0: none
    std::int64_t pcie_generation = 0;
    double tdp_watts = 0;
    std::string compute_capability;    ///< "9.0", of AMD "gfx942"
    std::vector<std::string> aliases;  ///< the driver's names for it, and short names that mean it
    std::string note;
};

/// The catalogue, read once; order of the file. Empty when the file cannot be read (find_gpu then says why).
const std::vector<Gpu>& gpu_catalogue();

/// By name (case ignored; short forms such as "A100-80GB SXM" and "h100" resolve when one entry is meant).
Result<Gpu> find_gpu(const std::string& name);

}  // namespace plimsoll
