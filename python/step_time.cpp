// SPDX-License-Identifier: Apache-2.0
// plimsoll.step_time()
#include "core/step_time/step_time.h"

#include "core/base/units.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

StepReport time_of(const Plan& plan) {
    const py::gil_scoped_release others_may_run;
    value_of(require_possible(plan));
    return value_of(step_time(plan));
}

}  // namespace

void add_step_time(py::module_& module) {
    py::class_<StepReport>(module, "StepTime", "What an optimizer step takes, and where the time goes.")
        .def_readonly("step_seconds", &StepReport::step)
        .def_readonly("tokens", &StepReport::tokens, "A step, over all ranks")
        .def_readonly("tokens_per_second", &StepReport::tokens_per_second, "Over all ranks")
        .def_readonly("mfu", &StepReport::mfu, "The model's FLOPs / (step x ranks x peak)")
        .def_readonly("hfu", &StepReport::hfu, "The same with what is computed again")
        .def_readonly("bubble", &StepReport::bubble, "Share of the step")
        .def_property_readonly(
            "parts", [](const StepReport& report) { return to_python(to_json(report.time)); }, "Seconds by name")
        .def("to_dict", [](const StepReport& report) { return to_python(to_json(report)); })
        .def("__repr__", [](const StepReport& report) {
            return fmt::format("<plimsoll.StepTime {}: {:.0f} tokens/s, MFU {:.1f} %>", format_seconds(report.step),
                               report.tokens_per_second, 100 * report.mfu);
        });
    module.def("step_time", &time_of, py::arg("plan"),
               "Time of a step on GPUs of the catalogue. BadInput when the plan is impossible.");
}

}  // namespace plimsoll::python
