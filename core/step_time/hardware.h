// SPDX-License-Identifier: Apache-2.0
// The rates of one rank of a cluster, and how far real kernels, links and hosts stay below them.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// The share of the datasheet's rates that is reached: one set per GPU architecture (resources/efficiency.json says
/// where each comes from), never per model or layout.
struct Efficiency {
    double matmul = 0.8;           ///< share of the dense peak that a matrix product of full tiles reaches
    double small_tile = 0.75;      ///< rate of 128 x 128 tiles / rate of 128 x 256 tiles
    double smaller_tile = 0.62;    ///< rate of 64 x 128 tiles / rate of 128 x 256 tiles
    double inner_ramp = 63;        ///< elements of the inner dimension that starting a tile costs
    double scores = 0.35;          ///< share of the peak in eager attention's batched products
    double flash = 0.55;           ///< share of the peak in a fused attention kernel's forward
    double flash_backward = 0.45;  ///< the same of its backward
    double memory = 0.65;          ///< share of the memory's rate in element-wise kernels
    Seconds kernel = 2e-6;         ///< between two kernels of the same stream
    Seconds host_kernel = 40e-6;   ///< the host's time to launch a kernel: a layer takes at least this for each kernel
    Seconds host_collective = 2e-4;  ///< the host's time for the collectives of a layer's pass
    double node_link = 0.8;          ///< share of the link's rate in collectives in a node
    Seconds node_hop = 5e-6;         ///< each hop of a ring in a node
    double nic = 0.6;                ///< share of the network's rate in collectives between nodes
    Seconds nic_hop = 8e-6;          ///< each hop of a ring between nodes
    double host_link = 0.8;          ///< share of PCIe's rate
    Seconds step = 1e-3;             ///< once a step: data, norms, the optimizer's launches
    double gradient_overlap = 0.8;   ///< share of the backward pass that can hide the gradients' transfer
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

/// The hardware of the cluster's GPU in the catalogue: NVLink at half of the figure for both directions, or else PCIe
/// x16 of the card's generation, which is also the link to the host. "cpu": a rank on this machine by rough figures,
/// which a calibration replaces. `calibration` is a file that `plimsoll bench --calibrate` wrote; empty: this user's
/// file for this GPU, where there is one (calibration_path()). Error for a GPU that is not in the catalogue and for a
/// file that is not a calibration.
Result<Hardware> hardware_of(const Cluster& cluster, Dtype dtype, const std::string& calibration = {});

/// Replaces members of `efficiency` by the values in `json`. Error for a key that is no member and a value that is not
/// positive.
Result<void> read_efficiency(const Json& json, const std::string& what, Efficiency& efficiency);
Json to_json(const Efficiency& efficiency);

}  // namespace plimsoll
