// SPDX-License-Identifier: Apache-2.0
// Stands in for the NVIDIA driver's library, so that the probe runs its whole way on a machine without a GPU. The
// signatures are nvml.h's; the fourth GPU fails as a lost one does.
#include <cstring>

namespace {

constexpr int ok = 0;
constexpr int gpu_is_lost = 15;  // NVML_ERROR_GPU_IS_LOST
struct Device {
    const char* name;
    unsigned long long bytes;
};
Device devices[] = {{"NVIDIA H100 80GB HBM3", 85520809984ULL},
                    {"NVIDIA A100-SXM4-80GB", 85899345920ULL},
                    {"NVIDIA Future X1", 1ULL << 40U},
                    {nullptr, 0}};

}  // namespace

extern "C" {
struct nvmlMemory {
    unsigned long long total, free, used;
};
int nvmlInit_v2() { return ok; }
int nvmlShutdown() { return ok; }
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 4;
    return ok;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &devices[index];
    return ok;
}
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
    const char* known = static_cast<Device*>(device)->name;
    if (!known) return gpu_is_lost;
    std::strncpy(name, known, length - 1);
    return ok;
}
int nvmlDeviceGetMemoryInfo(void* device, nvmlMemory* memory) {
    *memory = {static_cast<Device*>(device)->bytes, 0, 0};
    return ok;
}
}
