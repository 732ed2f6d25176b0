// SPDX-License-Identifier: Apache-2.0
#include "core/plan/machine.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "core/plan/gpu.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr Bytes unlimited = std::numeric_limits<Bytes>::max();

/// The kernel's files have no size, so they are read line by line and not through read_file().
std::optional<Bytes> number_in(const fs::path& path) {
    std::ifstream file(path);
    std::string text;
    if (!(file >> text)) return std::nullopt;
    Bytes value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// A line of /proc/meminfo in bytes; 0 when it is not there.
Bytes meminfo(const std::string& key) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    Bytes kib = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (words >> name >> kib && name == key + ":") return kib * KiB;
    }
    return 0;
}

/// The memory-control folders that hold this process, from the innermost outwards, for cgroup v1 or v2.
std::vector<fs::path> cgroup_folders() {
    std::vector<fs::path> folders;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        fs::path root;
        if (controllers.empty()) root = "/sys/fs/cgroup";
        if (controllers.find("memory") != std::string::npos) root = "/sys/fs/cgroup/memory";
        if (root.empty()) continue;
        for (fs::path below = fs::path(line.substr(second + 1)).relative_path();; below = below.parent_path()) {
            folders.push_back(root / below);
            if (below.empty()) break;
        }
    }
    return folders;
}

struct Limit {
    Bytes most = unlimited;
    Bytes left = unlimited;
};

/// Containers limit memory by control group; /proc/meminfo still shows the whole machine's.
Limit cgroup_limit() {
    Limit limit;
    for (const fs::path& folder : cgroup_folders()) {
        for (const auto& [most_file, used_file] :
             {std::pair{"memory.max", "memory.current"}, std::pair{"memory.limit_in_bytes", "memory.usage_in_bytes"}}) {
            const std::optional<Bytes> most = number_in(folder / most_file);
            if (!most) continue;
            limit.most = std::min(limit.most, *most);
            limit.left = std::min(limit.left, *most - std::min(*most, number_in(folder / used_file).value_or(0)));
        }
    }
    return limit;
}

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    if (::sched_getaffinity(0, sizeof set, &set) == 0) cores = std::max(1, CPU_COUNT(&set));
    for (const fs::path& folder : cgroup_folders()) {
        std::ifstream file(folder / "cpu.max");
        double quota = 0;
        double period = 0;
        if (file >> quota >> period && quota > 0 && period > 0) {
            cores = std::clamp(static_cast<int>(std::ceil(quota / period)), 1, cores);
        }
    }
    return cores;
}

/// The few functions of NVML that are needed, from the driver's own library where there is one.
class Nvml {
public:
    struct Memory {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };
    using Device = void*;

    Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
        if (!library_) return;
        load(init_, "nvmlInit_v2");
        load(shutdown_, "nvmlShutdown");
        load(count_, "nvmlDeviceGetCount_v2");
        load(device_, "nvmlDeviceGetHandleByIndex_v2");
        load(name_, "nvmlDeviceGetName");
        load(memory_, "nvmlDeviceGetMemoryInfo");
        started_ = init_ && shutdown_ && count_ && device_ && name_ && memory_ && init_() == 0;
    }
    ~Nvml() {
        if (started_) shutdown_();
        if (library_) ::dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    bool found() const { return library_ != nullptr; }
    bool started() const { return started_; }

    std::vector<LocalGpu> gpus() const {
        unsigned count = 0;
        if (!started_ || count_(&count) != 0) return {};
        std::vector<LocalGpu> found;
        for (unsigned i = 0; i < count; ++i) {
            Device device = nullptr;
            std::array<char, 128> name{};
            Memory memory{};
            if (device_(i, &device) != 0 || name_(device, name.data(), name.size()) != 0) continue;
            if (memory_(device, &memory) != 0) continue;
            LocalGpu gpu{name.data(), static_cast<Bytes>(memory.total), ""};
            if (const Result<Gpu> known = find_gpu(gpu.name)) gpu.catalogue_name = known->name;
            found.push_back(std::move(gpu));
        }
        return found;
    }

private:
    template <class Function>
    void load(Function& function, const char* symbol) {
        function = reinterpret_cast<Function>(::dlsym(library_, symbol));
    }

    void* library_;
    bool started_ = false;
    int (*init_)() = nullptr;
    int (*shutdown_)() = nullptr;
    int (*count_)(unsigned*) = nullptr;
    int (*device_)(unsigned, Device*) = nullptr;
    int (*name_)(Device, char*, unsigned) = nullptr;
    int (*memory_)(Device, Memory*) = nullptr;
};

}  // namespace

bool packs_half_products() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

Machine probe_machine() {
    Machine machine;
    const Limit limit = cgroup_limit();
    machine.ram = std::min(meminfo("MemTotal"), limit.most);
    machine.ram_available = std::min(meminfo("MemAvailable"), limit.left);
    machine.cores = usable_cores();

    const Nvml nvml;
    machine.gpus = nvml.gpus();
    if (!nvml.found()) {
        machine.gpu_note = "no NVIDIA driver is installed (libnvidia-ml.so.1 was not found)";
    } else if (!nvml.started()) {
        machine.gpu_note = "the NVIDIA driver's library is there, but the driver does not answer";
    } else if (machine.gpus.empty()) {
        machine.gpu_note = "the NVIDIA driver reports no GPU";
    }
    return machine;
}

Result<Bytes> usable_bytes(const Cluster& cluster) {
    const auto from_gib = [](double gib) { return static_cast<Bytes>(gib * static_cast<double>(GiB)); };
    if (cluster.usable_gib > 0) return from_gib(cluster.usable_gib);
    if (!cluster.on_cpu()) return find_gpu(cluster.gpu).map([&](const Gpu& gpu) { return from_gib(gpu.usable_gib); });
    static const Bytes ram = std::min(meminfo("MemTotal"), cgroup_limit().most);
    if (ram <= 0) return bad_input("this machine's memory cannot be read from /proc/meminfo; set cluster.usable_gib");
    return ram / 10 * 9 / std::max<std::int64_t>(1, cluster.gpus_per_node);
}

}  // namespace plimsoll
