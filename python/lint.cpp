// SPDX-License-Identifier: Apache-2.0
// plimsoll.lint()
#include <optional>

#include "core/base/file.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

using LintNumber = std::optional<std::int64_t>;

struct Lint {
    DeepSpeedLint found;
    DeepSpeedLaunch launch;
};

DeepSpeedLaunch launch_of(
    const std::optional<Plan>& plan,
    const std::vector<std::tuple<const char*, std::int64_t DeepSpeedLaunch::*, LintNumber>>& given) {
    DeepSpeedLaunch launch = plan ? deepspeed_launch(*plan) : DeepSpeedLaunch{};
    for (const auto& [name, member, value] : given) {
        if (value && *value < 1) raise(bad_input("{} is {}: 1 or more is needed", name, *value).value());
        if (value) launch.*member = *value;
    }
    return launch;
}

/// The text and name of a config given as a dict, or as the path of a file.
std::pair<std::string, std::string> text_and_name(const py::object& config) {
    if (py::isinstance<py::dict>(config)) return {json_text(config), "the config"};
    const auto path = config.cast<std::filesystem::path>();
    return {value_of(read_file(path, 4 * MiB)), path.string()};
}

Lint lint(const py::object& config, const LintNumber& world, const LintNumber& tp, const LintNumber& pp,
          const LintNumber& sp, const LintNumber& gpus_per_node, const LintNumber& parameters,
          const std::optional<std::string>& release, bool hugging_face, const std::optional<Plan>& plan) {
    using Launch = DeepSpeedLaunch;
    Launch launch = launch_of(plan, {{"world", &Launch::world, world},
                                     {"tp", &Launch::tp, tp},
                                     {"pp", &Launch::pp, pp},
                                     {"sp", &Launch::sp, sp},
                                     {"gpus_per_node", &Launch::gpus_per_node, gpus_per_node},
                                     {"parameters", &Launch::parameters, parameters}});
    if (release) launch.release = *release;
    launch.hugging_face = hugging_face;
    const auto [text, name] = text_and_name(config);
    return {value_of(lint_deepspeed(text, name, launch)), launch};
}

py::object batch_of(const Lint& lint) {
    if (!lint.found.batch) return py::none();
    const DeepSpeedBatch& batch = *lint.found.batch;
    return py::make_tuple(batch.train, batch.micro, batch.accumulation);
}

}  // namespace

void add_lint(py::module_& module) {
    py::class_<DeepSpeedFinding>(module, "Finding", "What is wrong with a config.")
        .def_property_readonly(
            "level", [](const DeepSpeedFinding& f) { return level_name(f.level); },
            "\"refused\", \"danger\", \"ignored\", \"deprecated\" or \"note\"")
        .def_readonly("rule", &DeepSpeedFinding::rule, "Short name, the same for every finding of its kind")
        .def_readonly("key", &DeepSpeedFinding::key, "Dotted path; empty: the file as a whole")
        .def_readonly("sentence", &DeepSpeedFinding::sentence, "Cause and cure")
        .def("__repr__", [](const DeepSpeedFinding& f) {
            return fmt::format("<plimsoll.Finding {} {}: {}>", level_name(f.level), f.key, f.sentence);
        });
    py::class_<Lint>(module, "Lint", "A DeepSpeed config as a release reads it: a sequence of Finding, gravest first.")
        .def_property_readonly("findings", [](const Lint& l) { return l.found.findings; })
        .def_property_readonly(
            "accepted", [](const Lint& l) { return l.found.accepted(); }, "Whether DeepSpeed takes the file")
        .def_property_readonly(
            "clean", [](const Lint& l) { return l.found.clean(); },
            "Whether there is nothing beyond notes and old forms")
        .def_property_readonly("batch", &batch_of, "(train, micro, accumulation), or None where it is not known")
        .def_property_readonly("zero_stage", [](const Lint& l) { return l.found.zero_stage; })
        .def_property_readonly("release", [](const Lint& l) { return l.launch.release; })
        .def(
            "to_dict", [](const Lint& l) { return to_python(to_json(l.found, l.launch)); },
            "The keys of `plimsoll lint --json`.")
        .def("__len__", [](const Lint& l) { return l.found.findings.size(); })
        .def(
            "__getitem__",
            [](const Lint& l, py::ssize_t index) {
                const auto& all = l.found.findings;
                const auto size = static_cast<py::ssize_t>(all.size());
                if (index < -size || index >= size) throw py::index_error(fmt::format("there are {} findings", size));
                return all[static_cast<std::size_t>(index < 0 ? index + size : index)];
            },
            py::arg("index"))
        .def("__repr__", [](const Lint& l) {
            return fmt::format("<plimsoll.Lint: DeepSpeed {} {} it, {} findings>", l.launch.release,
                               l.found.accepted() ? "accepts" : "refuses", l.found.findings.size());
        });
    module.def("lint", &lint, py::arg("config"), py::kw_only(), py::arg("world") = py::none(),
               py::arg("tp") = py::none(), py::arg("pp") = py::none(), py::arg("sp") = py::none(),
               py::arg("gpus_per_node") = py::none(), py::arg("parameters") = py::none(),
               py::arg("release") = py::none(), py::arg("hugging_face") = false, py::arg("plan") = py::none(),
               "What is wrong with a DeepSpeed config (a dict, or a file's path) before it is launched. `plan` gives "
               "what is not named; `hugging_face`: the Trainer or Accelerate fills \"auto\" in.");
}

}  // namespace plimsoll::python
