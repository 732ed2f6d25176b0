// SPDX-License-Identifier: Apache-2.0
#include "python/bindings.h"

#include <algorithm>

#include "core/base/nearest.h"

namespace plimsoll::python {

void raise(const Error& error) {
    if (error.kind == Error::Kind::BadInput) throw BadInputRaised(error.message);
    throw FailedRaised(error.message);
}

py::object to_python(const Json& json) {
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return py::module_::import("json").attr("loads")(text);
}

std::string json_text(const py::handle& value) {
    const bool numpy_scalar = py::hasattr(value, "item") && py::hasattr(value, "dtype");
    const py::object plain = numpy_scalar ? value.attr("item")() : py::reinterpret_borrow<py::object>(value);
    return py::module_::import("json").attr("dumps")(plain, py::arg("ensure_ascii") = false).cast<std::string>();
}

void warn_of(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        if (PyErr_WarnEx(PyExc_UserWarning, note.c_str(), 1) != 0) throw py::error_already_set();
    }
}

std::size_t place_of(std::string_view name, const std::vector<std::string_view>& names, std::string_view what) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string hint = did_you_mean(name, {names.begin(), names.end()});
    raise(bad_input("{} is \"{}\"{}; allowed: {}", what, name, hint, fmt::join(names, ", ")).value());
}

}  // namespace plimsoll::python
