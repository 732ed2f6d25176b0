// SPDX-License-Identifier: Apache-2.0
// plimsoll.estimate()
#include "core/estimate/estimate.h"

#include "core/estimate/estimate_json.h"
#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

struct Estimate {
    Plan plan;
    Framework framework = Framework::Plimsoll;
    MemoryEstimate memory;

    Bytes total() const { return memory.fullest().total(); }
    bool on_gpu() const { return !plan.cluster.on_cpu(); }
};

Estimate estimate(const Plan& plan, const std::string& framework) {
    Estimate made{plan, choice_of<Framework>(framework, framework_names, "framework"), {}};
    const py::gil_scoped_release others_may_run;
    made.memory = value_of(estimate_under(made.framework, plan));
    return made;
}

std::string estimate_text(const Estimate& estimate) {
    return fmt::format("<plimsoll.Estimate: {} of {} usable on the fullest rank, {}>", format_bytes(estimate.total()),
                       format_bytes(estimate.memory.usable), estimate.memory.fits() ? "fits" : "does not fit");
}

void add_parts(py::module_& module) {
    py::class_<Term>(module, "Term", "One line of the breakdown.")
        .def_readonly("key", &Term::key, "Stable name: \"master_weights\"")
        .def_readonly("name", &Term::name, "For a person")
        .def_property_readonly("category", [](const Term& term) { return name_of(term.category); })
        .def_readonly("bytes", &Term::bytes)
        .def_readonly("formula", &Term::formula, "Symbols, then this plan's own numbers")
        .def_readonly("source", &Term::source, "Paper, project or measurement")
        .def("__repr__", [](const Term& term) {
            return fmt::format("<plimsoll.Term {}: {}>", term.name, format_bytes(term.bytes));
        });
    py::class_<RankMemory>(module, "RankMemory", "The ranks of one pipeline stage: they are alike.")
        .def_readonly("stage", &RankMemory::stage)
        .def_readonly("label", &RankMemory::label)
        .def_readonly("ranks", &RankMemory::ranks, "How many ranks are like this")
        .def_readonly("layers", &RankMemory::layers)
        .def_readonly("parameters", &RankMemory::parameters, "Of the stage's slice before ZeRO")
        .def_readonly("micro_batches_in_flight", &RankMemory::in_flight)
        .def_readonly("terms", &RankMemory::terms)
        .def_property_readonly("total_bytes", &RankMemory::total)
        .def("__repr__", [](const RankMemory& rank) {
            return fmt::format("<plimsoll.RankMemory {}: {}>", rank.label, format_bytes(rank.total()));
        });
}

}  // namespace

void add_estimate(py::module_& module) {
    add_parts(module);
    py::class_<Estimate>(module, "Estimate", "Training memory per rank, term by term.")
        .def_property_readonly(
            "plan", [](const Estimate& e) { return e.plan; }, "A copy")
        .def_property_readonly("framework", [](const Estimate& e) { return name_of(e.framework); })
        .def_property_readonly("fits", [](const Estimate& e) { return e.memory.fits(); })
        .def_property_readonly("total_bytes", &Estimate::total, "Of the fullest rank")
        .def_property_readonly(
            "usable_bytes", [](const Estimate& e) { return e.memory.usable; },
            "Of the card, or the rank's share of RAM")
        .def_property_readonly(
            "parameters", [](const Estimate& e) { return e.memory.parameters; }, "Of the whole model, exact")
        .def_property_readonly(
            "ranks", [](const Estimate& e) { return e.memory.stages; }, "One RankMemory a pipeline stage")
        .def_property_readonly(
            "terms", [](const Estimate& e) { return e.memory.fullest().terms; }, "Of the fullest rank")
        .def_property_readonly(
            "host_bytes", [](const Estimate& e) { return e.memory.host; }, "Host memory a rank needs for offload")
        .def_property_readonly("host_terms", [](const Estimate& e) { return e.memory.host_terms; })
        .def_property_readonly(
            "notes", [](const Estimate& e) { return e.memory.notes; },
            "Settings of the plan that the figures do not follow, or follow under a condition, a sentence each")
        .def_property_readonly(
            "interval",
            [](const Estimate& e) {
                const Interval interval = interval_of(e.framework, e.total(), e.on_gpu());
                return std::pair{interval.low, interval.high};
            },
            "Bytes between which 95 of 100 measured peaks lie for such an estimate")
        .def_property_readonly("out_of_memory_probability",
                               [](const Estimate& e) {
                                   return out_of_memory_probability(e.framework, e.total(), e.memory.usable,
                                                                    e.on_gpu());
                               })
        .def(
            "to_dict", [](const Estimate& e) { return to_python(to_json(e.memory, e.plan)); },
            "The keys of `plimsoll estimate --json`.")
        .def("__repr__", &estimate_text);
    module.def(
        "estimate", &estimate, py::arg("plan"), py::kw_only(), py::arg("framework") = "plimsoll",
        "Memory of the plan under a framework: plimsoll, deepspeed, megatron, torchtitan or hf-trainer. BadInput "
        "when the plan is impossible or the framework cannot do it.");
}

}  // namespace plimsoll::python
