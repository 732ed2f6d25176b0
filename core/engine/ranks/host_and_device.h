// SPDX-License-Identifier: Apache-2.0
// A group with two backends over the same ranks: one for CPU tensors, one for an accelerator's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Makes a group of some ranks of the group, one of which is `own`.
using MakeSubgroup = std::function<Result<std::unique_ptr<Collectives>>(const std::string& name,
                                                                        const std::vector<int>& members, int own)>;

/// Each call goes to the backend of its tensor's device. Barriers go over the host, where they block.
std::unique_ptr<Collectives> host_and_device(std::unique_ptr<Collectives> host, std::unique_ptr<Collectives> device,
                                             MakeSubgroup make_subgroup);

}  // namespace plimsoll::engine
