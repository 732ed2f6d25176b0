// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/meta_kernels.h"

#include <ATen/ops/add_meta_dispatch.h>
#include <ATen/ops/addmm_meta_dispatch.h>
#include <ATen/ops/bmm_meta_dispatch.h>
#include <ATen/ops/linalg_vector_norm_meta_dispatch.h>
#include <ATen/ops/mm_meta_dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <mutex>

#include "core/engine/dry_run/kernel_scratch.h"
#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;
using OptionalTensor = std::optional<Tensor>;

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
    auto sizes = self.sizes().vec();
    if (!sizes.empty()) sizes[static_cast<std::size_t>(at::maybe_wrap_dim(dim, self.dim()))] = index.numel();
    return at::empty(sizes, self.options());
}

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, c10::SymInt rows, c10::SymInt, bool) {
    Tensor sorted;  // CUDA sorts the indices and keeps their original places
    if (!on_cpu(gradient)) sorted = at::empty({2, indices.numel()}, indices.options());
    return at::empty({rows.expect_int(), gradient.size(-1)}, gradient.options());
}

Tensor& masked_fill(Tensor& self, const Tensor&, const c10::Scalar&) { return self; }
Tensor& masked_fill_tensor(Tensor& self, const Tensor&, const Tensor&) { return self; }

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
    const auto sizes = at::infer_size(condition.sizes(), at::infer_size(self.sizes(), other.sizes()));
    return at::empty(sizes, self.options().dtype(at::result_type(self, other)));
}

Tensor& where_out(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
    const auto sizes = at::infer_size(condition.sizes(), at::infer_size(self.sizes(), other.sizes()));
    if (out.sizes() != at::IntArrayRef(sizes)) out.set_(at::empty(sizes, out.options()));
    return out;
}

Tensor& logical_or_out(const Tensor& self, const Tensor& other, Tensor& out) {
    const auto sizes = at::infer_size(self.sizes(), other.sizes());
    if (out.sizes() != at::IntArrayRef(sizes)) out.set_(at::empty(sizes, out.options()));
    return out;
}

Tensor& shaped_alike(const Tensor& self, Tensor& out) {
    if (out.sizes() != self.sizes()) out.set_(at::empty(self.sizes(), out.options()));
    return out;
}

Tensor& nan_to_num_out(const Tensor& self, std::optional<double>, std::optional<double>, std::optional<double>,
                       Tensor& out) {
    return shaped_alike(self, out);
}

Tensor bincount(const Tensor& self, const OptionalTensor&, c10::SymInt minlength) {
    return at::empty({minlength.expect_int()}, self.options().dtype(torch::kLong));
}

/// The largest number of rows that the result can have.
Tensor nonzero(const Tensor& self) { return at::empty({self.numel(), self.dim()}, self.options().dtype(torch::kLong)); }

Tensor one_hot(const Tensor& self, std::int64_t classes) {
    auto sizes = self.sizes().vec();
    sizes.push_back(classes);
    return at::empty(sizes, self.options().dtype(torch::kLong));
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, c10::SymIntArrayRef shape,
                                                     const OptionalTensor&, const OptionalTensor&, double) {
    auto statistics = input.sizes().vec();
    for (std::size_t i = statistics.size() - shape.size(); i < statistics.size(); ++i) statistics[i] = 1;
    // CUDA keeps mean and rstd in fp32.
    const auto options = on_cpu(input) ? input.options() : input.options().dtype(torch::kFloat);
    const Tensor output = at::empty(input.sizes(), input.options());
    return {output, at::empty(statistics, options), at::empty(statistics, options)};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor&, const Tensor& input, c10::SymIntArrayRef,
                                                              const Tensor&, const Tensor&,
                                                              const OptionalTensor& weight, const OptionalTensor& bias,
                                                              std::array<bool, 3> mask) {
    Tensor dx, dw, db, sums;
    if (mask[0]) dx = at::empty(input.sizes(), input.options());
    if (mask[1] && weight) dw = at::empty(weight->sizes(), weight->options());
    if (mask[2] && bias) db = at::empty(bias->sizes(), bias->options());
    if (on_cpu(input) && weight) {
        sums = at::empty({2, at::get_num_threads(), weight->numel()}, weight->options());
    }
    return {dx, dw, db};
}

void fused_adamw(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, double,
                 double, double, double, double, bool, bool, const OptionalTensor&, const OptionalTensor&) {}

bool half_on_cpu(const Tensor& tensor) {
    return on_cpu(tensor) && (tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kHalf);
}

/// Memory of a kernel while it runs.
Tensor scratch(Bytes bytes) { return at::empty({bytes}, torch::dtype(torch::kByte).device(torch::kMeta)); }

/// CPU kernels read one dtype only: an operand of another dtype is copied first.
Tensor& add(Tensor& self, const Tensor& other, const at::Scalar& alpha) {
    Tensor copy;
    if (on_cpu(self) && other.dim() > 0 && other.scalar_type() != self.scalar_type()) {
        copy = at::empty(other.sizes(), self.options());
    }
    return at::meta::add_(self, other, alpha);
}

Tensor linalg_vector_norm(const Tensor& self, const at::Scalar& order, at::OptionalIntArrayRef dims, bool keepdim,
                          std::optional<at::ScalarType> dtype) {
    Tensor copy;
    if (on_cpu(self) && dtype && *dtype != self.scalar_type())
        copy = at::empty(self.sizes(), self.options().dtype(*dtype));
    return at::meta::linalg_vector_norm(self, order, dims, keepdim, dtype);
}

double multiplications(const Tensor& a, const Tensor& b) {
    return static_cast<double>(a.numel()) * static_cast<double>(b.size(-1));
}

Tensor mm(const Tensor& a, const Tensor& b) {
    if (!half_on_cpu(a)) return at::meta::mm(a, b);
    const Tensor own = scratch(kernel_scratch(
        "mm", {a, b}, multiplications(a, b), [](const auto& in) { return std::vector<Tensor>{at::mm(in[0], in[1])}; }));
    return at::meta::mm(a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
    if (!half_on_cpu(a)) return at::meta::bmm(a, b);
    const Tensor own = scratch(kernel_scratch("bmm", {a, b}, multiplications(a, b), [](const auto& in) {
        return std::vector<Tensor>{at::bmm(in[0], in[1])};
    }));
    return at::meta::bmm(a, b);
}

Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, const at::Scalar& beta, const at::Scalar& alpha) {
    if (!half_on_cpu(a)) return at::meta::addmm(bias, a, b, beta, alpha);
    const Tensor own = scratch(kernel_scratch("addmm", {bias, a, b}, multiplications(a, b), [](const auto& in) {
        return std::vector<Tensor>{at::addmm(in[0], in[1], in[2])};
    }));
    return at::meta::addmm(bias, a, b, beta, alpha);
}

double attention_multiplications(const Tensor& q, const Tensor& k) {
    return 2 * static_cast<double>(q.numel()) * static_cast<double>(k.size(2));
}

/// [batch, time, heads, width] viewed as [batch, heads, time, width].
Tensor heads_inside(const Tensor& like) {
    return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options()).transpose(1, 2);
}

std::int64_t query_split(std::int64_t time) { return time >= 768 ? 256 : time >= 192 ? 64 : 32; }

std::tuple<Tensor, Tensor> flash_attention(const Tensor& q, const Tensor& k, const Tensor& v, double, bool,
                                           const OptionalTensor&, std::optional<double>) {
    const Tensor output = heads_inside(q);
    const auto statistics = q.options().dtype(q.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat);
    if (!on_cpu(q)) {
        const bool efficient = q.scalar_type() == torch::kFloat;
        const std::int64_t time = efficient ? (q.size(2) + 31) / 32 * 32 : q.size(2);
        return {output, at::empty({q.size(0), q.size(1), time}, statistics)};
    }
    const Tensor log_sum = at::empty({q.size(0), q.size(2), q.size(1)}, statistics).transpose(1, 2);
    if (half_on_cpu(q)) {
        const auto run = [](const auto& in) {
            auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(in[0], in[1], in[2], 0, true);
            return std::vector<Tensor>{out, sums};
        };
        const Bytes own = kernel_scratch("attention", {q, k, v}, attention_multiplications(q, k), run);
        const Tensor packed = scratch(own);
        if (own > 0) return {output, log_sum};
    }
    const std::int64_t rows = std::min(query_split(q.size(2)), q.size(2)),
                       columns = std::min<std::int64_t>(512, k.size(2));
    const std::int64_t threads = at::get_num_threads();
    const Tensor scores = at::empty({threads, rows * columns + 2 * rows + rows * q.size(3)}, statistics);
    Tensor reduced;
    if (q.scalar_type() != statistics.dtype()) reduced = at::empty({threads, rows, columns}, q.options());
    return {output, log_sum};
}

std::tuple<Tensor, Tensor, Tensor> flash_attention_backward(const Tensor& gradient, const Tensor& q, const Tensor& k,
                                                            const Tensor& v, const Tensor& out, const Tensor& log_sum,
                                                            double, bool, const OptionalTensor&,
                                                            std::optional<double>) {
    if (!on_cpu(q)) {
        const auto wide = q.options().dtype(torch::kFloat);
        const std::int64_t time = (q.size(2) + 127) / 128 * 128, width = (q.size(3) + 31) / 32 * 32;
        const Tensor dq = heads_inside(q), dk = heads_inside(k), dv = heads_inside(v);
        const Tensor sums = at::empty({q.size(0), q.size(1), time}, wide);
        Tensor accumulated, expanded_k, expanded_v;
        if (q.scalar_type() != torch::kFloat) accumulated = at::empty({q.size(0), time, q.size(1), width}, wide);
        if (k.size(1) != q.size(1)) {
            expanded_k = at::empty({k.size(0), k.size(2), q.size(1), k.size(3)}, k.options());
            expanded_v = at::empty_like(expanded_k);
        }
        return {dq, dk, dv};
    }
    const Tensor dq = heads_inside(q), dk = heads_inside(k), dv = heads_inside(v);
    if (half_on_cpu(q)) {
        const auto run = [](const auto& in) {
            auto [a, b, c] = at::_scaled_dot_product_flash_attention_for_cpu_backward(in[0], in[1], in[2], in[3], in[4],
                                                                                      in[5], 0, true);
            return std::vector<Tensor>{a, b, c};
        };
        const Bytes own = kernel_scratch("attention backward", {gradient, q, k, v, out, log_sum},
                                         2.5 * attention_multiplications(q, k), run);
        const Tensor packed = scratch(own);
        if (own > 0) return {dq, dk, dv};
    }
    const std::int64_t rows = std::min(query_split(q.size(2)), q.size(2)),
                       columns = std::min<std::int64_t>(512, k.size(2));
    const std::int64_t threads = at::get_num_threads();
    const Tensor scores = at::empty({threads, rows * columns * 2}, log_sum.options());
    const Tensor sums = at::empty({threads, rows}, log_sum.options());
    Tensor reduced;
    if (q.scalar_type() != log_sum.scalar_type()) reduced = at::empty({threads, 2 * rows * columns}, q.options());
    return {dq, dk, dv};
}

void add_kernels(torch::Library& library) {
    library.impl("index_select", &index_select);
    library.impl("embedding_dense_backward", &embedding_dense_backward);
    library.impl("masked_fill_.Scalar", &masked_fill);
    library.impl("masked_fill_.Tensor", &masked_fill_tensor);
    library.impl("where.self", &where);
    library.impl("where.self_out", &where_out);
    library.impl("logical_or.out", &logical_or_out);
    library.impl("logical_not.out", &shaped_alike);
    library.impl("abs.out", &shaped_alike);
    library.impl("nan_to_num.out", &nan_to_num_out);
    library.impl("add_.Tensor", &add);
    library.impl("linalg_vector_norm", &linalg_vector_norm);
    library.impl("mm", &mm);
    library.impl("bmm", &bmm);
    library.impl("addmm", &addmm);
    library.impl("bincount", &bincount);
    library.impl("nonzero", &nonzero);
    library.impl("one_hot", &one_hot);
    library.impl("native_layer_norm", &native_layer_norm);
    library.impl("native_layer_norm_backward", &native_layer_norm_backward);
    library.impl("_fused_adamw_", &fused_adamw);
    library.impl("_scaled_dot_product_flash_attention_for_cpu", &flash_attention);
    library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", &flash_attention_backward);
}

/// Silences LibTorch's warning about a replaced kernel, since replacing it is intended.
class Silent final : public c10::WarningHandler {
    void process(const c10::Warning&) override {}
};

}  // namespace

void install_meta_kernels() {
    static std::once_flag once;
    std::call_once(once, [] {
        static Silent silent;
        const c10::WarningUtils::WarningHandlerGuard quiet(&silent);
        static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
        add_kernels(library);
    });
}

}  // namespace plimsoll::engine
