// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/accelerator.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace plimsoll::engine {

namespace {

constexpr const char* library = "libplimsoll-cuda.so";

Result<Accelerator*> load() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    std::vector<std::string> places;
    if (!error) {
        const auto folder = program.parent_path();
        for (const auto& place :
             {folder / library, folder / "../lib" / library, folder / "../lib/plimsoll" / library}) {
            if (std::filesystem::exists(place, error)) places.push_back(place.string());
        }
    }
    places.emplace_back(library);
    std::string reason;
    for (const std::string& place : places) {
        void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
        if (handle == nullptr) {
            if (reason.empty()) reason = ::dlerror();
            continue;
        }
        const auto entry = reinterpret_cast<AcceleratorEntry>(::dlsym(handle, accelerator_symbol));
        if (entry == nullptr) {
            return bad_input("{} belongs to another version of Plimsoll; install the two together", place);
        }
        Accelerator* accelerator = entry();
        if (accelerator->device_count() == 0) {
            return bad_input(
                "no CUDA device was found; check nvidia-smi (the driver has to support CUDA 13), or set "
                "cluster.gpu to \"cpu\"");
        }
        return accelerator;
    }
    return bad_input(
        "the CUDA part of Plimsoll cannot be loaded ({}); install plimsoll-cuda, or set cluster.gpu to \"cpu\"",
        reason);
}

}  // namespace

Result<Accelerator*> load_accelerator() {
    static const Result<Accelerator*> accelerator = load();
    return accelerator;
}

}  // namespace plimsoll::engine
