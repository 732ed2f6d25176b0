// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/ring_attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/engine/layers/widened.h"
#include "core/engine/ranks/held_group.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

/// [batch, time, heads, head] -> [batch, kv heads, group, time, head]: neighbouring heads share a key-value head.
Tensor grouped(const Tensor& x, std::int64_t kv_heads) {
    const std::int64_t group = x.size(2) / kv_heads;
    return x.transpose(1, 2).reshape({x.size(0), kv_heads, group, x.size(1), x.size(3)});
}

Tensor ungrouped(const Tensor& x) { return x.flatten(1, 2).transpose(1, 2).contiguous(); }

/// Sends each rank's tensor to the next rank.
class Shift {
public:
    Shift(Collectives& ranks, const Tensor& out, int tag) : out_(out.contiguous()), in_(at::empty_like(out_)) {
        const int n = ranks.world_size();
        work_ = ranks.exchange({{out_, (ranks.rank() + 1) % n, tag}}, {{in_, (ranks.rank() + n - 1) % n, tag}});
    }
    Tensor wait() {
        must(work_->wait());
        return in_;
    }

private:
    Tensor out_, in_;
    std::shared_ptr<Work> work_;
};

/// What the mask leaves of one piece of the queries against one piece of the keys.
enum class Sight { None, Causal, All };
Sight sight(int query_piece, int key_piece) {
    if (key_piece > query_piece) return Sight::None;
    return key_piece == query_piece ? Sight::Causal : Sight::All;
}

/// q kᵀ / sqrt(head), with -inf above the diagonal where the mask cuts.
Tensor scores_of(const Tensor& q, const Tensor& k, Sight seen) {
    Tensor scores = at::matmul(q, k.transpose(-2, -1)).mul_(1 / std::sqrt(static_cast<double>(q.size(-1))));
    if (seen == Sight::Causal) {
        const std::int64_t time = q.size(-2);
        scores.add_(at::full({time, time}, -std::numeric_limits<double>::infinity(), scores.options()).triu_(1));
    }
    return scores;
}

/// Visits every pair of pieces that this rank has to compute with the keys of `owner`.
template <class Visit>
void for_pairs(int rank, int owner, int ranks, std::int64_t piece, Visit&& visit) {
    const auto own = context_pieces(rank, ranks), theirs = context_pieces(owner, ranks);
    for (std::int64_t a = 0; a < 2; ++a) {
        for (std::int64_t b = 0; b < 2; ++b) {
            const Sight seen = sight(own[static_cast<std::size_t>(a)], theirs[static_cast<std::size_t>(b)]);
            if (seen != Sight::None) visit(a * piece, b * piece, seen);
        }
    }
}

/// The dropout masks of this rank's rows, or none.
class RingMask {
public:
    RingMask(const AttentionDropout& dropout, const Tensor& q, std::int64_t kv_heads, Collectives& ranks)
        : p_(dropout.p), rank_(ranks.rank()), ranks_(ranks.world_size()), piece_(q.size(1) / 2) {
        if (p_ <= 0) return;
        const Tensor positions = context_positions(q.size(1) * ranks_, rank_, ranks_);
        mask_ = attention_mask(q, q.size(2), positions, q.size(1) * ranks_, p_, dropout.key, dropout.first_head)
                    .unflatten(1, {kv_heads, q.size(2) / kv_heads});
    }
    /// Applies the mask to the numbers of queries from `at` and keys of `owner` from `key_at`: a share p becomes zero,
    /// the others are scaled by 1 / (1 - p).
    Tensor applied(const Tensor& x, std::int64_t at, int owner, std::int64_t key_at) const {
        if (p_ <= 0) return x;
        const auto place = context_pieces(owner, ranks_)[static_cast<std::size_t>(key_at / piece_)];
        return (x * mask_.narrow(3, at, piece_).narrow(4, place * piece_, piece_)).mul_(1 / (1 - p_));
    }

private:
    double p_;
    int rank_, ranks_;
    std::int64_t piece_;
    Tensor mask_;  ///< [batch, kv heads, group, time, time of all ranks]
};

/// The result [batch, time, heads, head] and the log of the sums that it was divided by.
struct RingResult {
    Tensor out, log_sum;
};

RingResult around_the_ring(const Tensor& q, const Tensor& k, const Tensor& v, Collectives& ranks,
                           const AttentionDropout& dropout) {
    const int n = ranks.world_size();
    const std::int64_t kv_heads = k.size(2), piece = q.size(1) / 2;
    const Tensor queries = widened(grouped(q, kv_heads));
    const RingMask mask(dropout, q, kv_heads, ranks);
    Tensor sum = at::zeros_like(queries);
    Tensor top = at::full(queries.sizes().slice(0, 4), -std::numeric_limits<double>::infinity(), queries.options());
    Tensor weight = at::zeros_like(top);

    Tensor both = at::stack({k, v});
    for (int step = 0; step < n; ++step) {
        std::optional<Shift> shift;
        if (step + 1 < n) shift.emplace(ranks, both, step);
        const int owner = (ranks.rank() + n - step) % n;
        const Tensor keys = widened(grouped(both[0], kv_heads)), values = widened(grouped(both[1], kv_heads));
        for_pairs(ranks.rank(), owner, n, piece, [&](std::int64_t at, std::int64_t key_at, Sight seen) {
            const Tensor scores = scores_of(queries.narrow(3, at, piece), keys.narrow(3, key_at, piece), seen);
            Tensor old_top = top.narrow(3, at, piece), old_weight = weight.narrow(3, at, piece),
                   old_sum = sum.narrow(3, at, piece);
            const Tensor new_top = at::maximum(old_top, scores.amax(-1));
            const Tensor shrink = (old_top - new_top).exp();
            const Tensor p = (scores - new_top.unsqueeze(-1)).exp_();
            old_weight.mul_(shrink).add_(p.sum(-1));
            const Tensor kept = mask.applied(p, at, owner, key_at);
            old_sum.mul_(shrink.unsqueeze(-1)).add_(at::matmul(kept, values.narrow(3, key_at, piece)));
            old_top.copy_(new_top);
        });
        if (shift) both = shift->wait();
    }
    const Tensor out = ungrouped(sum.div_(weight.unsqueeze(-1))).to(q.scalar_type());
    const Tensor log_sum = top.add_(weight.log_());
    return {out, log_sum};
}

struct KeptDropout : torch::CustomClassHolder {
    AttentionDropout value;
};

struct RingAttention : Function<RingAttention> {
    /// `known`: the result, where an earlier pass has computed it, else null.
    static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                          const HeldGroupPointer& ring, const c10::intrusive_ptr<KeptDropout>& dropout,
                          const RingResult* known) {
        const RingResult result = known != nullptr ? *known : around_the_ring(q, k, v, *ring->ranks, dropout->value);
        ctx->save_for_backward({q, k, v, result.out, result.log_sum});
        ctx->saved_data["dropout"] = torch::IValue::make_capsule(dropout);
        keep(ctx, ring);
        return result.out;
    }

    /// With p the probabilities, m the mask, D = sum(g · out) a row: dv = (p m)ᵀ g, ds = p (g vᵀ m - D), dq = ds k, dk
    /// = dsᵀ q.
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const tensor_list saved = ctx->get_saved_variables();
        Collectives& ranks = kept_ranks(ctx);
        const Tensor &k = saved[1], &v = saved[2], &log_sum = saved[4];
        const int n = ranks.world_size();
        const std::int64_t kv_heads = k.size(2), piece = k.size(1) / 2;
        const Tensor queries = widened(grouped(saved[0], kv_heads)), g = widened(grouped(gradients[0], kv_heads)),
                     out = widened(grouped(saved[3], kv_heads));
        const auto dropout = ctx->saved_data["dropout"].toCapsule();
        const RingMask mask(static_cast<const KeptDropout&>(*dropout).value, saved[0], kv_heads, ranks);
        const Tensor dot = (g * out).sum(-1, true);
        const double scale = 1 / std::sqrt(static_cast<double>(queries.size(-1)));
        Tensor dq = at::zeros_like(queries);

        Tensor both = at::stack({k, v});
        // [2, batch, kv heads, 1, time, head]: the gradient of this rank's keys and values, to which all ranks add.
        Tensor d_both = at::zeros({2, k.size(0), kv_heads, 1, k.size(1), k.size(3)}, queries.options());
        for (int step = 0; step < n; ++step) {
            std::optional<Shift> shift;
            if (step + 1 < n) shift.emplace(ranks, both, step);
            const int owner = (ranks.rank() + n - step) % n;
            const Tensor keys = widened(grouped(both[0], kv_heads)), values = widened(grouped(both[1], kv_heads));
            for_pairs(ranks.rank(), owner, n, piece, [&](std::int64_t at, std::int64_t key_at, Sight seen) {
                const Tensor qs = queries.narrow(3, at, piece), gs = g.narrow(3, at, piece);
                const Tensor ks = keys.narrow(3, key_at, piece), vs = values.narrow(3, key_at, piece);
                const Tensor p = scores_of(qs, ks, seen).sub_(log_sum.narrow(3, at, piece).unsqueeze(-1)).exp_();
                const Tensor kept = mask.applied(p, at, owner, key_at);
                d_both[1].narrow(3, key_at, piece).add_(at::matmul(kept.transpose(-2, -1), gs).sum(2, true));
                const Tensor ds = mask.applied(at::matmul(gs, vs.transpose(-2, -1)), at, owner, key_at)
                                      .sub_(dot.narrow(3, at, piece))
                                      .mul_(p)
                                      .mul_(scale);
                dq.narrow(3, at, piece).add_(at::matmul(ds, ks));
                d_both[0].narrow(3, key_at, piece).add_(at::matmul(ds.transpose(-2, -1), qs).sum(2, true));
            });
            if (shift) both = shift->wait();
            // The gradients travel with their keys; one shift more brings them back to their rank.
            if (n > 1) d_both = Shift(ranks, d_both, n + step).wait();
        }
        const auto home = [&](const Tensor& d) { return ungrouped(d).to(k.scalar_type()); };
        return {ungrouped(dq).to(saved[0].scalar_type()), home(d_both[0]), home(d_both[1]), {}, {}, {}};
    }
};

}  // namespace

std::array<int, 2> context_pieces(int rank, int ranks) { return {rank, 2 * ranks - 1 - rank}; }

torch::Tensor context_positions(std::int64_t time, int rank, int ranks) {
    if (ranks == 1) return at::arange(time, torch::kInt64);
    const std::int64_t piece = time / (2 * ranks);
    std::vector<Tensor> parts;
    for (const int each : context_pieces(rank, ranks)) {
        parts.push_back(at::arange(each * piece, (each + 1) * piece, torch::kInt64));
    }
    return at::cat(parts);
}

torch::Tensor ring_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Collectives& ring,
                             const AttentionDropout& dropout, Replay* replay) {
    const auto joined = [](const Tensor& out) { return out.reshape({out.size(0), out.size(1), -1}); };
    auto kept = c10::make_intrusive<KeptDropout>();
    kept->value = dropout;
    if (replay == nullptr) return joined(RingAttention::apply(q, k, v, held(ring), kept, nullptr));
    if (!replay->second()) {
        const RingResult result = around_the_ring(q, k, v, ring, dropout);
        replay->keep(result.out);
        replay->keep(result.log_sum);
        return joined(result.out);
    }
    const Tensor out = replay->next();
    const RingResult known{out, replay->next()};
    return joined(RingAttention::apply(q, k, v, held(ring), kept, &known));
}

}  // namespace plimsoll::engine
