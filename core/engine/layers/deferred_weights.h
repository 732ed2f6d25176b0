// SPDX-License-Identifier: Apache-2.0
// Linear layers whose weight gradient can wait: zero-bubble schedules (Qi 2024) send the input gradient first.
#pragma once

#include <torch/torch.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace plimsoll::engine {

/// Weight-gradient products that a stage has put off, one list per backward of a micro-batch. Used by one thread at a
/// time.
class DeferredWeights {
public:
    /// From here on, linear layers put their weight gradients off, into list `key`.
    void begin(std::int64_t key);
    void end() { open_ = nullptr; }
    /// Computes the products of list `key`, each straight into its .grad: memory does not grow with the number of
    /// micro-batches. Hooks on accumulated gradients fire as usual.
    void run(std::int64_t key);
    bool deferring() const { return open_ != nullptr; }
    void add(std::function<void()> product) { open_->push_back(std::move(product)); }

private:
    std::vector<std::pair<std::int64_t, std::unique_ptr<std::vector<std::function<void()>>>>> lists_;
    std::vector<std::function<void()>>* open_ = nullptr;
};

/// y = x Wᵀ (weight [out, in]), or with `transposed` y = x W (weight [in, out]); like at::linear without a bias, but
/// the gradient of the weight goes to `deferred` (null: at once) while that is deferring. A weight of another dtype than
/// x is cast for each product (autocast.h). `leave_out`: y is unread (unread_result.h) and not computed.
torch::Tensor deferrable_linear(const torch::Tensor& x, const torch::Tensor& weight, bool transposed,
                                const std::shared_ptr<DeferredWeights>& deferred, bool leave_out = false);

}  // namespace plimsoll::engine
