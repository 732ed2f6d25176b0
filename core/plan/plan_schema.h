// SPDX-License-Identifier: Apache-2.0
// The documented fields of a plan: JSON Schema, reference, field list.
#pragma once

#include "core/plan/plan_io.h"

namespace plimsoll {

/// JSON Schema (2020-12) of the document, made from the field list.
Json plan_schema();

/// A page of Markdown: every key with type, allowed values, default and meaning (docs/plan.md).
std::string plan_reference();

std::vector<FieldInfo> plan_fields();

}  // namespace plimsoll
