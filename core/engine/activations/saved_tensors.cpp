// SPDX-License-Identifier: Apache-2.0
#include "core/engine/activations/saved_tensors.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>

#include "core/engine/activations/packed_tensor.h"
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

using torch::autograd::SavedVariableHooks;
using Dims = std::vector<std::int64_t>;

/// Identifies numbers in memory at one time. The storage's address cannot be reused while a weak reference to the
/// storage is held.
using Place = std::tuple<const c10::StorageImpl*, std::int64_t, std::int64_t, torch::ScalarType, Dims, Dims>;

Place place_of(const torch::Tensor& saved, const TensorLayout& layout) {
    const torch::Tensor& once = layout.once();
    return {saved.storage().unsafeGetStorageImpl(),
            saved._version(),
            once.storage_offset(),
            saved.scalar_type(),
            layout.dense() ? Dims{once.numel()} : once.sizes().vec(),
            layout.dense() ? Dims{1} : once.strides().vec()};
}

}  // namespace

/// The policy and the numbers that it keeps.
class SavedTensors::Keeper {
public:
    explicit Keeper(const SavedPolicy& policy)
        : compress_(policy.compress), offload_(policy.offload), min_elements_(policy.min_elements) {
        for (const torch::Tensor& parameter : policy.parameters) {
            parameters_.insert(parameter.storage().unsafeGetStorageImpl());
        }
    }

    bool active() const { return compress_ || offload_; }

    bool applies(const torch::Tensor& tensor) const {
        if (!compress_ && on_cpu(tensor)) return false;  // already in host memory
        if (!tensor.is_floating_point() || tensor.layout() != torch::kStrided || !tensor.has_storage()) return false;
        const at::TensorBase& root = tensor.is_view() ? tensor._base() : tensor;
        if (root.is_leaf() && root.requires_grad()) return false;
        return parameters_.find(tensor.storage().unsafeGetStorageImpl()) == parameters_.end();
    }

    /// Null for a tensor that is too small.
    std::shared_ptr<const PackedNumbers> keep(const torch::Tensor& tensor, const TensorLayout& layout) {
        if (layout.once().numel() < min_elements_) return nullptr;
        Kept& kept = kept_[place_of(tensor, layout)];
        auto packed = kept.packed.lock();
        if (packed == nullptr) {
            packed = std::make_shared<const PackedNumbers>(layout.flat(), compress_, offload_);
            kept = {tensor.storage().getWeakStorageImpl(), packed};
            forget_released();
        }
        return packed;
    }

private:
    struct Kept {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage{c10::intrusive_ptr<c10::StorageImpl>()};
        std::weak_ptr<const PackedNumbers> packed;
    };

    void forget_released() {
        if (kept_.size() < forget_at_) return;
        std::erase_if(kept_, [](const auto& entry) { return entry.second.packed.expired(); });
        forget_at_ = std::max<std::size_t>(64, 2 * kept_.size());
    }

    bool compress_, offload_;
    std::int64_t min_elements_;
    std::unordered_set<const c10::StorageImpl*> parameters_;
    std::map<Place, Kept> kept_;
    std::size_t forget_at_ = 64;
};

namespace {

thread_local SavedTensors::Keeper* current = nullptr;

class Hooks final : public SavedVariableHooks {
public:
    /// Called once by the saving thread, right after the hooks are made.
    void call_pack_hook(const at::Tensor& tensor) override {
        if (current->applies(tensor)) {
            const TensorLayout layout(tensor.detach());
            packed_ = current->keep(tensor, layout);
            shape_ = layout.shape();
        }
        if (packed_ != nullptr) return;
        // A node that held its own output would never be freed, so the output is detached. A leaf is held itself, as
        // autograd does, so that new memory of a parameter between forward and backward is seen.
        whole_ = tensor.is_leaf() ? tensor : tensor.detach();
        version_ = tensor._version();
    }

    at::Tensor call_unpack_hook() override {
        if (packed_ == nullptr) {
            TORCH_CHECK(whole_._version() == version_,
                        "one of the variables needed for gradient computation has been modified by an inplace "
                        "operation: it is at version ",
                        whole_._version(), ", and was saved at version ", version_);
            return whole_;
        }
        return shape_.over(packed_->restored());
    }

private:
    std::shared_ptr<const PackedNumbers> packed_;  ///< null: `whole_` is kept
    TensorLayout::Shape shape_;
    at::Tensor whole_;
    std::int64_t version_ = 0;
};

/// at::SavedTensorDefaultHooks takes only Python objects. Autograd asks the engine for hooks first, and this engine
/// supplies them.
class HookedEngine final : public torch::autograd::Engine {
public:
    HookedEngine() = default;
    ~HookedEngine() override { stop(); }
    HookedEngine(const HookedEngine&) = delete;
    HookedEngine& operator=(const HookedEngine&) = delete;

    std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
        if (current == nullptr || !current->active()) return nullptr;
        return std::make_unique<Hooks>();
    }
};

torch::autograd::Engine& hooked_engine() {
    static HookedEngine engine;
    return engine;
}

}  // namespace

SavedTensors::SavedTensors(const SavedPolicy& policy) : keeper_(std::make_unique<Keeper>(policy)), outer_(current) {
    static std::once_flag once;
    std::call_once(once, [] { torch::autograd::set_default_engine_stub(&hooked_engine); });
    current = keeper_.get();
}

SavedTensors::~SavedTensors() { current = outer_; }

}  // namespace plimsoll::engine
