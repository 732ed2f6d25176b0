// SPDX-License-Identifier: Apache-2.0
// What one rank of a cluster can do, and how far real kernels, links and hosts stay below it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// How much of the datasheet is reached: one set per GPU architecture (resources/efficiency.json says where each comes
/// from), never per model or layout.
struct Efficiency {
    double matmul = 0.8;             ///< share of the dense peak that a matrix product of full tiles reaches
    double small_tile = 0.75;        ///< what 128 x 128 tiles reach of what 128 x 256 ones do
    double smaller_tile = 0.62;      ///< what 64 x 128 tiles reach of it
    double inner_ramp = 63;          ///< elements of the inner dimension that starting a tile costs
    double scores = 0.35;            ///< share of the peak in eager attention's batched products
    double flash = 0.55;             ///< share of the peak in a fused attention kernel's forward
    double flash_backward = 0.45;    ///< the same of its backward
    double memory = 0.65;            ///< share of the memory's rate in element-wise kernels
    Seconds kernel = 2e-6;           ///< between two kernels of the same stream
    Seconds host_kernel = 40e-6;     ///< what the host takes to launch one: a layer takes at least this for each
    Seconds host_collective = 2e-4;  ///< what the host takes for the collectives of a layer's pass
    double node_link = 0.8;          ///< share of the link's rate in collectives in a node
    Seconds node_hop = 5e-6;         ///< each hop of a ring in a node
    double nic = 0.6;                ///< share of the network's rate in collectives between nodes
    Seconds nic_hop = 8e-6;          ///< each hop of a ring between nodes
    double host_link = 0.8;          ///< share of PCIe's rate
    Seconds step = 1e-3;             ///< once a step: data, norms, the optimizer's launches
    double gradient_overlap = 0.8;   ///< share of the backward behind which gradients travel
};

struct Hardware {
    std::string gpu;
    double peak = 0;           ///< FLOP/s, dense, in the plan's dtype
    double memory = 0;         ///< B/s
    double node_link = 0;      ///< B/s out of a card to others of its node, one direction
    double nic = 0;            ///< B/s out of a card to other nodes, one direction
    double host_link = 0;      ///< B/s to host memory, one direction
    double processors = 1;     ///< multiprocessors, over which the tiles of a product are dealt
    std::int64_t a_node = 8;   ///< ranks of a node
    double host_update = 4e9;  ///< parameters a second that a node's CPUs update with Adam
    Efficiency efficiency;
    std::string source;  ///< "datasheet and resources/efficiency.json", or the calibration's
};

/// Of the cluster's GPU in the catalogue; NVLink at half of the figure for both directions, without it PCIe x16 of the
/// card's generation, which is also the way to the host. "cpu": a rank on this machine by rough figures, which a
/// calibration replaces. `calibration` is a file that `plimsoll bench --calibrate` wrote, or empty: that of this
/// user where there is one for this GPU (calibration_path()). Error for a GPU that is not in the catalogue and a file
/// that is no calibration.
Result<Hardware> hardware_of(const Cluster& cluster, Dtype dtype, const std::string& calibration = {});

/// Reads what `json` holds over `efficiency`. Error for a key that is no member and a value that is not positive.
Result<void> read_efficiency(const Json& json, const std::string& what, Efficiency& efficiency);
Json to_json(const Efficiency& efficiency);

}  // namespace plimsoll
