// SPDX-License-Identifier: Apache-2.0
// plimsoll.search()
#include <atomic>
#include <chrono>
#include <future>
#include <optional>

#include "core/base/units.h"
#include "core/plan/gpu.h"
#include "core/planner/layout_text.h"
#include "core/planner/planner.h"
#include "core/planner/planner_json.h"
#include "python/bindings.h"

namespace plimsoll::python {

namespace {

using Numbers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

struct Row {
    Candidate candidate;
    Plan plan;
};

struct Search {
    PlanRequest request;
    PlanResult result;

    Row row(const Candidate& candidate) const { return {candidate, plan_of(request, candidate)}; }
    std::vector<Row> rows(const std::vector<Candidate>& candidates) const {
        std::vector<Row> all;
        for (const Candidate& each : candidates) all.push_back(row(each));
        return all;
    }
};

template <class Enum, class Known>
std::vector<Enum> all_of(const Names& names, const Known& known, std::string_view what) {
    std::vector<Enum> all;
    for (const std::string& name : names) all.push_back(choice_of<Enum>(name, known, what));
    return all;
}

/// Clusters from tuples of GPU name, GPUs per node and nodes.
std::vector<Cluster> further(const std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>& more,
                             const Cluster& like) {
    std::vector<Cluster> all;
    for (const auto& [name, each, nodes] : more) {
        Cluster cluster = like;
        cluster.gpu = value_of(find_gpu(name)).name;
        cluster.usable_gib = 0;
        cluster.gpus_per_node = each;
        cluster.nodes = nodes;
        all.push_back(std::move(cluster));
    }
    return all;
}

/// Searches on another thread, so that Ctrl-C (a notebook's stop button) ends the search.
PlanResult run(const PlanRequest& request) {
    std::atomic<bool> cancel = false;
    const py::gil_scoped_release others_may_run;
    auto work = std::async(std::launch::async, [&] { return plan_layouts(request, {}, &cancel); });
    while (work.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        const py::gil_scoped_acquire held;
        if (PyErr_CheckSignals() == 0) continue;
        cancel = true;
        throw py::error_already_set();
    }
    return value_of(work.get());
}

Search search(const Plan& plan, std::int64_t global_batch, const std::string& objective, const Numbers& tp,
              const Numbers& pp, const Numbers& cp, const Numbers& ep, const Numbers& zero_stage,
              const Numbers& micro_batch, const Numbers& chunks, const std::vector<bool>& sequence_parallel,
              const Names& schedule, const Names& recompute, const Names& offload_optimizer, bool fewer_gpus,
              const std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>& more,
              const std::string& framework, double fit_probability, double host_gib, double headroom, double tokens,
              double price_per_gpu_hour, std::size_t keep, int threads) {
    if (!(fit_probability >= 0 && fit_probability < 1))
        raise(bad_input("fit_probability is {}; a share from 0 to below 1 is needed, such as {}", fit_probability,
                        default_fit_probability)
                  .value());
    if (!(host_gib >= 0 && host_gib <= 1e6))
        raise(bad_input("host_gib is {}; GiB of RAM a machine are needed, 0 for no limit", host_gib).value());
    if (!(headroom >= 0 && headroom < 1))
        raise(bad_input("headroom is {}; a share from 0 to below 1 is needed", headroom).value());
    if (threads < 0 || threads > 1024)
        raise(bad_input("threads is {}; 0 (all cores) to 1,024 are allowed", threads).value());
    if (keep < 1 || keep > 10'000) raise(bad_input("keep is {}; 1 to 10,000 are allowed", keep).value());
    if (global_batch < 0) raise(bad_input("global_batch is {}; 0 means the plan's", global_batch).value());
    Search made;
    PlanRequest& request = made.request;
    request.plan = plan;
    request.more = further(more, plan.cluster);
    request.global_batch = global_batch;
    request.objective = choice_of<Objective>(objective, objective_names, "objective");
    request.choices = {tp,
                       pp,
                       cp,
                       ep,
                       zero_stage,
                       micro_batch,
                       chunks,
                       sequence_parallel,
                       all_of<Schedule>(schedule, schedule_names, "schedule"),
                       all_of<Recompute>(recompute, recompute_names, "recompute"),
                       all_of<Offload>(offload_optimizer, offload_names, "offload_optimizer")};
    request.fewer_gpus = fewer_gpus;
    request.framework = choice_of<Framework>(framework, framework_names, "framework");
    request.fit_probability = fit_probability;
    request.host_memory = static_cast<Bytes>(host_gib * static_cast<double>(GiB));
    request.headroom = headroom;
    request.tokens = tokens;
    request.price_per_gpu_hour = price_per_gpu_hour;
    request.keep = keep;
    request.threads = threads;
    made.result = run(request);
    return made;
}

Row row_at(const Search& search, py::ssize_t index) {
    const auto& ranked = search.result.ranked;
    const auto size = static_cast<py::ssize_t>(ranked.size());
    if (index < -size || index >= size) throw py::index_error(fmt::format("there are {} layouts", size));
    return search.row(ranked[static_cast<std::size_t>(index < 0 ? index + size : index)]);
}

std::string search_text(const Row& row) {
    return fmt::format("<plimsoll.Row {}: {} a step, {}, {:.1f} % out of memory>", layout_words(row.candidate.layout),
                       format_seconds(row.candidate.step), format_bytes(row.candidate.peak),
                       100 * row.candidate.out_of_memory);
}

std::string search_text(const Search& search) {
    const auto& found = search.result;
    if (found.ranked.empty()) return fmt::format("<plimsoll.Search: {}>", found.binding);
    return fmt::format("<plimsoll.Search: the best {} of {} layouts; first: {}>", found.ranked.size(),
                       format_count(found.counts.layouts), layout_words(found.ranked.front().layout));
}

void add_row(py::module_& module) {
    py::class_<Row>(module, "Row", "A layout that fits.")
        .def_property_readonly(
            "plan", [](const Row& row) { return row.plan; }, "The plan with this layout and these GPUs")
        .def_property_readonly(
            "words", [](const Row& row) { return layout_words(row.candidate.layout); },
            "What differs from the plainest layout: \"dp 4, tp 8 + sp, ZeRO-1, 2 x 16\"")
        .def_property_readonly("gpu", [](const Row& row) { return row.candidate.cluster.gpu; })
        .def_property_readonly("gpus", [](const Row& row) { return row.candidate.gpus(); })
        .def_property_readonly(
            "peak_bytes", [](const Row& row) { return row.candidate.peak; }, "Of the fullest rank")
        .def_property_readonly(
            "host_bytes", [](const Row& row) { return row.candidate.host; }, "Host memory a rank needs for offload")
        .def_property_readonly(
            "out_of_memory_probability", [](const Row& row) { return row.candidate.out_of_memory; },
            "Under the framework of the search")
        .def_property_readonly("step_seconds", [](const Row& row) { return row.candidate.step; })
        .def_property_readonly("tokens_per_second", [](const Row& row) { return row.candidate.tokens_per_second; })
        .def_property_readonly("mfu", [](const Row& row) { return row.candidate.mfu; })
        .def_property_readonly(
            "parts", [](const Row& row) { return to_python(to_json(row.candidate.time)); }, "Seconds of a step by name")
        .def_property_readonly(
            "on_front", [](const Row& row) { return row.candidate.on_front; },
            "No layout is better in memory, time and GPUs together")
        .def("__repr__", [](const Row& row) { return search_text(row); });
}

}  // namespace

void add_search(py::module_& module) {
    add_row(module);
    py::class_<Search>(module, "Search", "Ranked layouts: a sequence of Row, best first.")
        .def_property_readonly("rows", [](const Search& s) { return s.rows(s.result.ranked); })
        .def_property_readonly(
            "front", [](const Search& s) { return s.rows(s.result.front); },
            "Pareto front over memory, step time and GPUs")
        .def_property_readonly(
            "binding", [](const Search& s) { return s.result.binding; },
            "Empty when there is a layout; else the constraint that leaves nothing")
        .def_property_readonly("notes", [](const Search& s) { return s.result.notes; })
        .def_property_readonly(
            "layouts", [](const Search& s) { return s.result.counts.layouts; },
            "Possible layouts in the space; each was evaluated, or ruled out by a bound")
        .def_property_readonly("framework", [](const Search& s) { return name_of(s.request.framework); })
        .def(
            "to_dict", [](const Search& s) { return to_python(to_json(s.request, s.result)); },
            "The keys of `plimsoll plan --json`.")
        .def("__len__", [](const Search& s) { return s.result.ranked.size(); })
        .def("__getitem__", &row_at, py::arg("index"))
        .def("__repr__", [](const Search& s) { return search_text(s); });

    const Numbers any;
    const Names any_name;
    module.def(
        "search", &search,
        "The best layouts of the plan's model on its cluster. An empty list means every value that is possible. "
        "`objective`: time, memory, cost or fewest-gpus; `more`: further GPUs as (name, GPUs per node, nodes); "
        "`framework`: whose memory and limits decide what fits, as in estimate(); `fit_probability`: least chance that a "
        "layout does not run out of memory, 0: its estimate alone counts; `host_gib`: RAM of a machine for what is "
        "offloaded, 0: no limit; `headroom`: share of memory to keep free. BadInput for a plan that is impossible "
        "whatever its layout.",
        py::arg("plan"), py::kw_only(), py::arg("global_batch") = 0, py::arg("objective") = "time", py::arg("tp") = any,
        py::arg("pp") = any, py::arg("cp") = any, py::arg("ep") = any, py::arg("zero_stage") = any,
        py::arg("micro_batch") = any, py::arg("chunks") = any, py::arg("sequence_parallel") = std::vector<bool>(),
        py::arg("schedule") = any_name, py::arg("recompute") = any_name, py::arg("offload_optimizer") = any_name,
        py::arg("fewer_gpus") = false,
        py::arg("more") = std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>(),
        py::arg("framework") = "plimsoll", py::arg("fit_probability") = default_fit_probability,
        py::arg("host_gib") = 0.0, py::arg("headroom") = 0.0, py::arg("tokens") = 0.0,
        py::arg("price_per_gpu_hour") = 0.0, py::arg("keep") = 100, py::arg("threads") = 0);
}

}  // namespace plimsoll::python
