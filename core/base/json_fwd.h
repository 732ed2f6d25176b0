// SPDX-License-Identifier: Apache-2.0
// Declares Json for headers that only name it: the full library takes a second to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace plimsoll {

using Json = nlohmann::ordered_json;

/// A Json for members of headers that many files include. Copies share the value, which never changes.
class KeptJson {
public:
    /// An empty object.
    KeptJson();
    KeptJson(Json json);  // NOLINT(google-explicit-constructor): it is one
    const Json& operator*() const { return *json_; }
    const Json* operator->() const { return json_.get(); }

private:
    std::shared_ptr<const Json> json_;
};

}  // namespace plimsoll
