// SPDX-License-Identifier: Apache-2.0
// plimsoll.export()
#include "core/base/file.h"
#include "core/interop/exports/export_target.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

struct Export {
    ExportTarget target;
    ExportedText exported;
};

Export export_for(const Plan& plan, const std::string& target, const std::string& program) {
    const py::gil_scoped_release others_may_run;
    return {value_of(export_target(target)), value_of(export_plan(plan, target, program))};
}

}  // namespace

void add_export(py::module_& module) {
    py::class_<ExportTarget>(module, "ExportTarget", "A tool that a plan can be written for.")
        .def_readonly("name", &ExportTarget::name)
        .def_readonly("title", &ExportTarget::title)
        .def_readonly("file_name", &ExportTarget::file_name, "As a rule")
        .def_readonly("what", &ExportTarget::what)
        .def("__repr__", [](const ExportTarget& target) {
            return fmt::format("<plimsoll.ExportTarget \"{}\": {}>", target.name, target.what);
        });
    py::class_<Export>(module, "Export", "A plan in another tool's words; str() is the text.")
        .def_readonly("target", &Export::target)
        .def_property_readonly("text", [](const Export& e) { return e.exported.text; })
        .def_property_readonly(
            "notes", [](const Export& e) { return e.exported.notes; },
            "What the target cannot say, and where to say it instead")
        .def(
            "save",
            [](const Export& e, const std::filesystem::path& path) {
                value_of(write_file_atomic(path, e.exported.text));
            },
            py::arg("path"), "Writes the text, whole or not at all.")
        .def("__str__", [](const Export& e) { return e.exported.text; })
        .def("__repr__", [](const Export& e) {
            return fmt::format("<plimsoll.Export for {}: {} bytes, {} notes>", e.target.title, e.exported.text.size(),
                               e.exported.notes.size());
        });
    module.def("export_targets", &export_targets, "Every target of export().");
    module.def(
        "export", &export_for, py::arg("plan"), py::arg("target"), py::arg("program") = "",
        "The plan for another tool. BadInput when the plan is impossible, the target has no words for it, or its "
        "tool would refuse it. The first note tells where it does not fit under the tool. program: the exported "
        "tool that a launcher starts (\"megatron\"); without it a train.py.");
}

}  // namespace plimsoll::python
