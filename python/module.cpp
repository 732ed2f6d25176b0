// SPDX-License-Identifier: Apache-2.0
// import plimsoll: the computations of the terminal and the studio, from Python. python/plimsoll/__init__.py presents
// them to users.
#include "core/base/units.h"
#include "core/base/version.h"
#include "python/bindings.h"

PYBIND11_MODULE(_plimsoll, module) {
    using namespace plimsoll;
    using namespace plimsoll::python;
    module.doc() = "Plimsoll's core";
    module.attr("__version__") = plimsoll::version();
    py::register_exception<BadInputRaised>(module, "BadInput", PyExc_ValueError).doc() =
        "What was given cannot work; the message is one sentence with cause and cure.";
    py::register_exception<FailedRaised>(module, "Failed", PyExc_RuntimeError).doc() =
        "The input was fine and the work failed (a full disk, a missing permission).";
    add_plan(module);
    add_catalogue(module);
    add_estimate(module);
    add_step_time(module);
    add_search(module);
    add_lint(module);
    add_export(module);
    module.def("format_bytes", &format_bytes, py::arg("bytes"), "67431000000 -> \"62.8 GiB\"");
    module.def("format_seconds", &format_seconds, py::arg("seconds"), "0.0214 -> \"21.4 ms\"");
    module.def(
        "format_count", [](std::int64_t count) { return format_count(count); }, py::arg("count"),
        "6738415616 -> \"6,738,415,616\"");
}
