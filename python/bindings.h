// SPDX-License-Identifier: Apache-2.0
// The Python module's parts, and how results, errors and JSON cross into Python. For python/*.cpp only.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace plimsoll::python {

namespace py = pybind11;

/// plimsoll.BadInput (a ValueError) and plimsoll.Failed (a RuntimeError), by Error::Kind.
struct BadInputRaised : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct FailedRaised : std::runtime_error {
    using std::runtime_error::runtime_error;
};
[[noreturn]] void raise(const Error& error);

template <class T>
T value_of(Result<T> result) {
    if (!result) raise(result.error());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// dicts, lists, str, int, float, bool and None.
py::object to_python(const Json& json);
/// The value as JSON text; numpy's scalars count as numbers. TypeError for a value without a form in JSON.
std::string json_text(const py::handle& value);
/// Shows each note as a Python UserWarning.
void warn_of(const std::vector<std::string>& notes);

/// The place of `name` in `names`; raises BadInput with the known names.
std::size_t place_of(std::string_view name, const std::vector<std::string_view>& names, std::string_view what);
template <class Enum, class Names>
Enum choice_of(std::string_view name, const Names& names, std::string_view what) {
    return static_cast<Enum>(place_of(name, {names.begin(), names.end()}, what));
}

// Each function is in a file of its name.
void add_plan(py::module_& module);
void add_catalogue(py::module_& module);
void add_estimate(py::module_& module);
void add_step_time(py::module_& module);
void add_search(py::module_& module);
void add_lint(py::module_& module);
void add_export(py::module_& module);

}  // namespace plimsoll::python
