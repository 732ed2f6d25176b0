// SPDX-License-Identifier: Apache-2.0
// plimsoll.Plan
#include <optional>

#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/gpu.h"
#include "core/plan/json_fields.h"
#include "core/plan/layout_change.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/planner/layout_text.h"
#include "core/planner/planner.h"
#include "core/planner/planner_json.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

using Number = std::optional<std::int64_t>;

Plan with_python_settings(const Plan& plan, const py::dict& settings) {
    std::vector<std::string> texts;
    for (const auto& [key, value] : settings) {
        const auto name = py::str(key).cast<std::string>();
        if (name.find('=') != std::string::npos)
            raise(bad_input("there is no setting \"{}\"; keys are such as layout.dp", name).value());
        texts.push_back(fmt::format("{}={}", name, json_text(value)));
    }
    return value_of(with_settings(plan, texts));
}

Plan on_gpu(Plan plan, const std::string& name) {
    plan.cluster.gpu = name == "cpu" ? name : value_of(find_gpu(name)).name;
    plan.cluster.usable_gib = 0;  // the plan's value was about another card
    return plan;
}

Plan on_gpus(Plan plan, const Number& gpus, const Number& gpus_per_node, const Number& nodes, GlobalBatch batch) {
    if (!gpus && !gpus_per_node && !nodes) return plan;
    for (const auto& [name, given] : {std::pair{"gpus", gpus}, {"gpus_per_node", gpus_per_node}, {"nodes", nodes}}) {
        if (given && (*given < 1 || *given > 1'048'576))
            raise(bad_input("{} is {}; 1 to 1,048,576 are allowed", name, *given).value());
    }
    const std::int64_t each = gpus_per_node.value_or(gpus && nodes ? *gpus / *nodes : plan.cluster.gpus_per_node);
    const std::int64_t machines = nodes.value_or(gpus && gpus_per_node ? *gpus / each : plan.cluster.nodes);
    const std::int64_t all = gpus.value_or(each * machines);
    if ((gpus_per_node || nodes) && each * machines != all)
        raise(bad_input("{} GPUs are not {} nodes of {}: leave one of the three out", all, machines, each).value());
    std::vector<std::string> notes;
    plan = value_of(with_gpus(std::move(plan), all, notes, batch));
    warn_of(notes);
    if (gpus_per_node || nodes) {
        plan.cluster.gpus_per_node = each;
        plan.cluster.nodes = machines;
    }
    return plan;
}

Plan taken(LoadedPlan loaded) {
    warn_of(loaded.notes);
    return std::move(loaded.plan);
}

Plan start(const std::filesystem::path& what, const std::optional<std::string>& gpu, const Number& gpus,
           const Number& gpus_per_node, const Number& nodes, const std::optional<py::dict>& settings) {
    Plan plan = taken(value_of(plan_from_argument(what.string())));
    if (gpu) plan = on_gpu(std::move(plan), *gpu);
    bool sets_batch = false;
    if (settings)
        for (const auto& [key, value] : *settings)
            sets_batch = sets_batch || sets_global_batch(py::str(key).cast<std::string>());
    plan = on_gpus(std::move(plan), gpus, gpus_per_node, nodes, sets_batch ? GlobalBatch::Follows : GlobalBatch::Stays);
    return settings ? with_python_settings(plan, *settings) : plan;
}

/// Every field, including those that a preset supplies.
Json all_fields(Plan plan) {
    Json json = Json::object();
    JsonWriter writer(json);
    visit_fields(writer, plan);
    return json;
}

py::object field(const Plan& plan, const std::string& key) {
    Json json = all_fields(plan);
    const Json* place = &json;
    for (std::size_t from = 0; from <= key.size();) {
        const std::size_t dot = std::min(key.find('.', from), key.size());
        const auto found = place->is_object() ? place->find(key.substr(from, dot - from)) : place->end();
        // Raises the error for an unknown key, which names the nearest.
        if (found == place->end()) value_of(with_settings(plan, {key + "="}));
        if (found == place->end()) raise(bad_input("there is no setting \"{}\"", key).value());
        place = &*found;
        from = dot + 1;
    }
    return to_python(*place);
}

std::string plan_text(const Plan& plan) {
    return fmt::format("<plimsoll.Plan \"{}\": {} x {}, {}>", plan.name, plan.cluster.world_size(), plan.cluster.gpu,
                       layout_words(plan.layout));
}

}  // namespace

void add_plan(py::module_& module) {
    py::class_<Problem>(module, "Problem", "One way in which the parts of a plan contradict each other.")
        .def_readonly("key", &Problem::key, "The field to change, dotted")
        .def_readonly("sentence", &Problem::sentence, "Cause and cure")
        .def("__repr__", [](const Problem& p) { return fmt::format("<plimsoll.Problem {}: {}>", p.key, p.sentence); });

    const auto from_json = [](const Json& json) { return taken(value_of(plan_from_json(json, "the plan"))); };
    py::class_<Plan>(module, "Plan",
                     "A model, hardware and how to train. Keys are those of docs/plan.md: plan[\"layout.dp\"] = 4.")
        .def(
            py::init(&start),
            "A plan file, a plan preset (\"cpu-demo\") or a model preset (\"llama-7b\"), changed in this order: `gpu`, "
            "the number of GPUs (dp follows, the global batch stays where it divides), `settings`.",
            py::arg("plan") = "cpu-demo", py::kw_only(), py::arg("gpu") = py::none(), py::arg("gpus") = py::none(),
            py::arg("gpus_per_node") = py::none(), py::arg("nodes") = py::none(), py::arg("settings") = py::none())
        .def_static(
            "load", [](const std::filesystem::path& path) { return taken(value_of(load_plan(path))); }, py::arg("path"),
            "Reads a plan file; a key that is not known is a UserWarning and stays in the document.")
        .def_static(
            "from_dict",
            [from_json](const py::dict& document) {
                return from_json(value_of(parse_json(json_text(document), "the plan")));
            },
            py::arg("document"), "What to_dict() gave.")
        .def(
            "save", [](const Plan& plan, const std::filesystem::path& path) { value_of(save_plan(path, plan)); },
            py::arg("path"), "Writes the document, whole or not at all.")
        .def(
            "to_dict", [](const Plan& plan) { return to_python(to_json(plan)); },
            "The document; of a preset model only what differs from the preset.")
        .def("with_settings", &with_python_settings, py::arg("settings"),
             "A copy with {\"layout.zero_stage\": 3, …}, applied in order.")
        .def("check", &check_plan, "Every contradiction of the plan; empty when it is possible.")
        .def("__getitem__", &field, py::arg("key"))
        .def(
            "__setitem__",
            [](Plan& plan, const std::string& key, const py::object& value) {
                py::dict settings;
                settings[py::str(key)] = value;
                plan = with_python_settings(plan, settings);
            },
            py::arg("key"), py::arg("value"))
        .def(
            "keys",
            [](const Plan&) {
                std::vector<std::string> keys;
                for (const FieldInfo& info : plan_fields()) keys.push_back(info.key);
                return keys;
            },
            "Every dotted key.")
        .def_readonly("name", &Plan::name)
        .def_property_readonly(
            "parameters", [](const Plan& plan) { return count_parameters(plan.model).total; }, "Of the model, exact")
        .def_property_readonly(
            "world_size", [](const Plan& plan) { return plan.cluster.world_size(); }, "Ranks")
        .def_property_readonly(
            "global_batch", [](const Plan& plan) { return plan.layout.global_batch(); }, "Sequences a step")
        .def("__eq__", [](const Plan& a, const Plan& b) { return a == b; })
        .def("__eq__", [](const Plan&, const py::object&) { return false; })
        .def("__copy__", [](const Plan& plan) { return plan; })
        .def(
            "__deepcopy__", [](const Plan& plan, const py::dict&) { return plan; }, py::arg("memo"))
        .def("__repr__", &plan_text)
        .def(py::pickle([](const Plan& plan) { return py::str(to_json(plan).dump()); },
                        [from_json](const py::str& text) {
                            return from_json(value_of(parse_json(text.cast<std::string>(), "the plan")));
                        }));
}

}  // namespace plimsoll::python
