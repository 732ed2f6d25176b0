// SPDX-License-Identifier: Apache-2.0
// plimsoll.presets() and plimsoll.gpus()
#include "core/plan/gpu.h"
#include "core/plan/parameters.h"
#include "core/plan/presets.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

py::dict presets() {
    py::dict plans, models;
    for (const std::string& name : plan_preset_names()) plans[py::str(name)] = value_of(plan_preset(name)).name;
    for (const std::string& name : model_preset_names())
        models[py::str(name)] = count_parameters(value_of(model_preset(name))).total;
    py::dict all;
    all["plans"] = plans;
    all["models"] = models;
    return all;
}

}  // namespace

void add_catalogue(py::module_& module) {
    py::class_<Gpu>(module, "Gpu", "A GPU of the catalogue; rates of 0 mean that the card has no such units.")
        .def_readonly("name", &Gpu::name)
        .def_readonly("vendor", &Gpu::vendor)
        .def_readonly("memory_gb", &Gpu::memory_gb, "As on the datasheet")
        .def_readonly("usable_gib", &Gpu::usable_gib, "What a process can allocate")
        .def_readonly("memory_gbs", &Gpu::memory_gbs, "Bandwidth, GB/s")
        .def_readonly("bf16_tflops", &Gpu::bf16_tflops, "Dense")
        .def_readonly("fp16_tflops", &Gpu::fp16_tflops)
        .def_readonly("fp8_tflops", &Gpu::fp8_tflops)
        .def_readonly("fp32_tflops", &Gpu::fp32_tflops)
        .def_readonly("nvlink_gbs", &Gpu::nvlink_gbs, "Both directions together, GB/s")
        .def_readonly("compute_capability", &Gpu::compute_capability)
        .def_readonly("aliases", &Gpu::aliases)
        .def("__repr__", [](const Gpu& gpu) {
            return fmt::format("<plimsoll.Gpu \"{}\": {:.1f} GiB usable>", gpu.name, gpu.usable_gib);
        });
    module.def("gpus", &gpu_catalogue, "The catalogue.");
    module.def("presets", &presets,
               "{\"plans\": {name: title}, \"models\": {name: parameters}}: what a Plan may start from.");
}

}  // namespace plimsoll::python
