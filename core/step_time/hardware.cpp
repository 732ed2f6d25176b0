// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/hardware.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/file.h"
#include "core/plan/gpu.h"
#include "core/plan/presets.h"
#include "core/step_time/calibration_file.h"

namespace plimsoll {

namespace {

constexpr double giga = 1e9, tera = 1e12;

using Member = std::pair<const char*, double Efficiency::*>;
constexpr std::array members{Member{"matmul", &Efficiency::matmul},
                             Member{"small_tile", &Efficiency::small_tile},
                             Member{"smaller_tile", &Efficiency::smaller_tile},
                             Member{"inner_ramp", &Efficiency::inner_ramp},
                             Member{"scores", &Efficiency::scores},
                             Member{"flash", &Efficiency::flash},
                             Member{"flash_backward", &Efficiency::flash_backward},
                             Member{"memory", &Efficiency::memory},
                             Member{"kernel", &Efficiency::kernel},
                             Member{"host_kernel", &Efficiency::host_kernel},
                             Member{"host_collective", &Efficiency::host_collective},
                             Member{"node_link", &Efficiency::node_link},
                             Member{"node_hop", &Efficiency::node_hop},
                             Member{"nic", &Efficiency::nic},
                             Member{"nic_hop", &Efficiency::nic_hop},
                             Member{"host_link", &Efficiency::host_link},
                             Member{"step", &Efficiency::step},
                             Member{"gradient_overlap", &Efficiency::gradient_overlap}};

/// PCIe x16, one direction: 1 GB/s a lane for generation 3, doubling with each generation.
double pcie(std::int64_t generation) {
    double rate = 16 * giga;
    for (auto g = std::int64_t{3}; g < std::clamp<std::int64_t>(generation, 3, 6); ++g) rate *= 2;
    return rate;
}

double peak_tflops(const Gpu& gpu, Dtype dtype) {
    const double half = dtype == Dtype::Bf16 ? gpu.bf16_tflops : dtype == Dtype::Fp16 ? gpu.fp16_tflops : 0;
    return half > 0 ? half : gpu.fp32_tflops;
}

/// CPUs multiply fp16 numbers one by one where they have no units for them: an fp16 step of the demo took 1.30 s, the
/// same in fp32 0.19 s (PyTorch 2, x86-64).
constexpr double fp16_on_cpu = 1.0 / 8;

/// One core of a CPU: a few tens of GFLOP/s, links through memory.
Hardware cpu_rank(const Cluster& cluster, Dtype dtype) {
    Hardware h;
    h.gpu = "cpu";
    h.peak = 50 * giga * (dtype == Dtype::Fp16 ? fp16_on_cpu : 1);
    h.memory = 10 * giga;
    h.node_link = 4 * giga;
    h.nic = giga * std::max(cluster.internode_gbs, 0.1);
    h.host_link = 10 * giga;
    h.processors = 1;
    h.a_node = std::max<std::int64_t>(cluster.gpus_per_node, 1);
    h.host_update = giga;
    h.source = "rough figures of a CPU core; plimsoll bench --calibrate measures this machine";
    return h;
}

/// The file's "all", then the entry of the compute capability, then that of the card's name: later ones win.
Result<void> read_efficiencies(const Gpu& gpu, Efficiency& efficiency) {
    static const Result<Json> file = read_json(data_folder() / "resources" / "efficiency.json");
    if (!file) return tl::unexpected(file.error());
    const auto& sets = file->at("efficiency");
    for (const std::string& key : {std::string("all"), gpu.compute_capability, gpu.name})
        if (sets.contains(key)) {
            auto read = read_efficiency(sets.at(key), fmt::format("resources/efficiency.json, {}", key), efficiency);
            if (!read) return read;
        }
    return {};
}

}  // namespace

Result<void> read_efficiency(const Json& json, const std::string& what, Efficiency& efficiency) {
    if (!json.is_object()) return bad_input("{}: an object of efficiencies is needed, not {}", what, shown(json));
    for (const auto& [key, value] : json.items()) {
        if (key == "source") continue;
        const auto member =
            std::find_if(members.begin(), members.end(), [&](const Member& m) { return key == m.first; });
        if (member == members.end()) return bad_input("{}: there is no efficiency \"{}\"", what, key);
        if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
            return bad_input("{}: {} has to be a number of 0 or more, not {}", what, key, shown(value));
        efficiency.*(member->second) = value.get<double>();
    }
    return {};
}

Json to_json(const Efficiency& efficiency) {
    Json json = Json::object();
    for (const auto& [name, member] : members) json[name] = efficiency.*member;
    return json;
}

Result<Hardware> hardware_of(const Cluster& cluster, Dtype dtype, const std::string& calibration) {
    Hardware h;
    if (cluster.on_cpu()) {
        h = cpu_rank(cluster, dtype);
        h.efficiency = cpu_efficiency();
    } else {
        PLIMSOLL_TRY(const auto gpu, find_gpu(cluster.gpu));
        h.gpu = gpu.name;
        h.peak = tera * std::max(peak_tflops(gpu, dtype), 0.001);
        h.memory = giga * std::max(gpu.memory_gbs, 1.0);
        h.host_link = pcie(gpu.pcie_generation);
        h.node_link = gpu.nvlink_gbs > 0 ? giga * gpu.nvlink_gbs / 2 : h.host_link;
        h.nic = giga * (cluster.internode_gbs > 0 ? cluster.internode_gbs : 1);
        h.processors = std::max(gpu.multiprocessors, 1.0);
        h.a_node = std::max<std::int64_t>(cluster.gpus_per_node, 1);
        h.source = "datasheet and resources/efficiency.json";
        PLIMSOLL_CHECK(read_efficiencies(gpu, h.efficiency));
    }
    PLIMSOLL_CHECK(apply_calibration(calibration, h));
    return h;
}

}  // namespace plimsoll
