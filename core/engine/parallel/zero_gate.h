// SPDX-License-Identifier: Apache-2.0
// ZeRO-3's gathering of parameters around the layers of a decoder (Rajbhandari 2020, section 7.2.2).
#pragma once

#include <vector>

#include "core/engine/model/decoder.h"
#include "core/engine/parallel/gather_and_release.h"

namespace plimsoll::engine {

/// Forward: the parameters of a unit are gathered before the unit runs and freed afterwards; meanwhile the next unit is
/// being gathered. Backward: the parameters are gathered again when the gradient of the unit's output arrives (the unit
/// before is then being gathered), and freed when the gradient of the unit's input is done.
class ZeroGate final : public ParameterGate {
public:
    /// `first_unit` is the number of the decoder's unit 0 in `groups`, which must outlive the gate. `embedding_in_head`:
    /// the head uses the embedding's weight.
    ZeroGate(std::vector<GatherAndRelease*> groups, std::size_t first_unit, std::size_t units, bool embedding_in_head);

    torch::Tensor enter(std::size_t unit, const torch::Tensor& x) override;
    torch::Tensor leave(std::size_t unit, const torch::Tensor& x) override;

    void gather(std::size_t unit);
    void release(std::size_t unit);
    void prefetch(std::size_t unit);

private:
    std::vector<std::size_t> units_behind(std::size_t unit) const;

    std::vector<GatherAndRelease*> groups_;
    std::size_t first_unit_, units_;
    bool embedding_in_head_;
};

}  // namespace plimsoll::engine
