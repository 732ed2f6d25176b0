// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/moe.h"

#include <cmath>
#include <numeric>

#include "core/engine/layers/ring_attention.h"
#include "core/engine/layers/routing_log.h"
#include "core/engine/layers/tensor_parallel.h"
#include "core/engine/memory/host_values.h"
#include "core/engine/ranks/held_group.h"

namespace plimsoll::engine {

namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;
using Counts = std::vector<std::int64_t>;

std::int64_t sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

Tensor exchanged(const Tensor& rows, const Counts& to, const Counts& from, Collectives& ranks) {
    Tensor received = at::empty({sum(from), rows.size(1)}, rows.options());
    must(ranks.all_to_all(received, rows.contiguous(), from, to)->wait());
    return received;
}

/// Sends rows to their experts' ranks; gradients travel back the same way.
struct Exchange : Function<Exchange> {
    static Tensor forward(AutogradContext* ctx, const Tensor& rows, const Counts& to, const Counts& from,
                          const HeldGroupPointer& group) {
        ctx->saved_data["to"] = to;
        ctx->saved_data["from"] = from;
        keep(ctx, group);
        return exchanged(rows, to, from, *group->ranks);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        Collectives& ranks = kept_ranks(ctx);
        return {
            exchanged(gradients[0], ctx->saved_data["from"].toIntVector(), ctx->saved_data["to"].toIntVector(), ranks),
            {},
            {},
            {}};
    }
};

/// Sums the rows that belong to one token. at::index_add would keep `rows` for its backward, which does not need them.
struct SumByToken : Function<SumByToken> {
    static Tensor forward(AutogradContext* ctx, const Tensor& rows, const Tensor& token, std::int64_t tokens) {
        ctx->save_for_backward({token});
        return at::zeros({tokens, rows.size(1)}, rows.options()).index_add_(0, token, rows);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        return {gradients[0].index_select(0, ctx->get_saved_variables()[0]), {}, {}};
    }
};

/// Returns x unchanged; in the backward pass `loss` gets a gradient of its own.
struct AttachLoss : Function<AttachLoss> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& loss, double scale) {
        ctx->saved_data["scale"] = scale;
        ctx->save_for_backward({loss});
        return x.view_as(x);
    }
    static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
        const double scale = ctx->saved_data["scale"].toDouble();
        return {gradients[0], at::full_like(ctx->get_saved_variables()[0], scale), {}};
    }
};

/// Rows of each expert out of `total`, on the host. In a dry run the tensor has no numbers: the counts come from the
/// replayed step, or are even.
Counts to_counts(const Tensor& tensor, std::int64_t total, bool from_others = false) {
    RoutingLog* const log = RoutingLog::current();
    if (tensor.is_meta()) {
        if (log != nullptr) {
            if (auto counts = log->next(tensor.numel(), from_others ? -1 : total)) return *counts;
        }
        Counts even(static_cast<std::size_t>(tensor.numel()), total / tensor.numel());
        for (std::int64_t i = 0; i < total % tensor.numel(); ++i) ++even[static_cast<std::size_t>(i)];
        return even;
    }
    const Tensor host = tensor.to(torch::kCPU, torch::kInt64).contiguous();
    const auto* values = host.const_data_ptr<std::int64_t>();
    const Counts counts(values, values + host.numel());
    if (log != nullptr) log->note(counts);
    return counts;
}

/// Sums of each `length` neighbouring counts.
Counts sums_of_runs(const Counts& counts, std::int64_t length) {
    Counts sums;
    for (std::size_t i = 0; i < counts.size(); i += static_cast<std::size_t>(length)) {
        sums.push_back(std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(i),
                                       counts.begin() + static_cast<std::ptrdiff_t>(i) + length, std::int64_t{0}));
    }
    return sums;
}

/// The order that turns blocks [outer][inner] of the given row counts into [inner][outer].
Tensor transposing_order(const Counts& counts, std::int64_t outer, std::int64_t inner, torch::Device device) {
    Counts starts(counts.size(), 0);
    for (std::size_t i = 1; i < counts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
    std::vector<std::int64_t> order;
    order.reserve(static_cast<std::size_t>(sum(counts)));
    for (std::int64_t b = 0; b < inner; ++b) {
        for (std::int64_t a = 0; a < outer; ++a) {
            const auto block = static_cast<std::size_t>(a * inner + b);
            for (std::int64_t row = 0; row < counts[block]; ++row) order.push_back(starts[block] + row);
        }
    }
    return torch::tensor(order, torch::kInt64).to(device);
}

/// Place of each choice in its expert's queue of the sequence, from 1: the choices of earlier tokens come first, those
/// on other context-parallel ranks as well. chosen [batch, time, per token] -> [batch · time · per token].
Tensor places_in_queue(const Tensor& chosen, std::int64_t experts, const ModelContext& context) {
    const std::int64_t batch = chosen.size(0), ranks = context.cp(), pieces = ranks > 1 ? 2 : 1;
    const Tensor hot = at::one_hot(chosen.reshape({batch, pieces, -1}), experts);
    Tensor place = hot.cumsum(2);
    if (ranks > 1) {
        const Tensor counts = hot.sum(2).transpose(0, 1).contiguous();  // [pieces, batch, experts]
        Tensor all = at::empty({ranks, pieces, batch, experts}, counts.options());
        must(context.mesh->context().all_gather(all, counts)->wait());
        // In the order of the sequence; before each piece lie the choices of all earlier ones.
        Tensor ordered = at::empty({ranks * pieces, batch, experts}, counts.options());
        for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
            const auto held = context_pieces(rank, static_cast<int>(ranks));
            for (std::size_t i = 0; i < held.size(); ++i)
                ordered[held[i]].copy_(all[rank][static_cast<std::int64_t>(i)]);
        }
        const Tensor before = ordered.cumsum(0) - ordered;
        const auto own = context_pieces(context.mesh->context().rank(), static_cast<int>(ranks));
        place = place + at::stack({before[own[0]], before[own[1]]}, 1).unsqueeze(2);
    }
    return (place * hot).sum(-1).reshape(-1);
}

}  // namespace

Expert::Expert(const ModelContext& context) {
    const Model& m = context.plan->model;
    Linear::Shape in{.in = m.hidden_size, .out = m.ffn_hidden_size};
    in.split = MatrixSplit::Columns;
    Linear::Shape out{.in = m.ffn_hidden_size, .out = m.hidden_size};
    out.split = MatrixSplit::Rows;
    out.sum_in_forward = false;
    w1_ = register_module("w1", std::make_shared<Linear>(in, context));
    w2_ = register_module("w2", std::make_shared<Linear>(out, context));
    w3_ = register_module("w3", std::make_shared<Linear>(in, context));
}

torch::Tensor Expert::forward(const torch::Tensor& x) const {
    return w2_->forward(at::silu(w1_->forward(x)) * w3_->forward(x));
}

/// Chosen (token, expert) pairs in the order of experts.
struct MoeMlp::Routes {
    Tensor token;       ///< [pairs] row of the token
    Tensor weight;      ///< [pairs]
    Tensor chosen;      ///< [batch, time, per token] experts
    Counts per_expert;  ///< pairs of each expert
};

MoeMlp::MoeMlp(const ModelContext& context)
    : context_(context), experts_(context.plan->model.num_experts), per_token_(context.plan->model.experts_per_token) {
    const std::int64_t ranks = context.mesh->expert().world_size();
    const std::int64_t each = experts_ / ranks;
    first_expert_ = context.mesh->expert().rank() * each;

    class Router : public ShardedModule {
    public:
        Router(std::int64_t experts, std::int64_t width, const ModelContext& router_context) {
            Shard shard = replicated({experts, width}, router_context.tp());
            if (router_context.sequence_parallel()) shard.gradient = Shard::Gradient::PartOverTensor;
            weight = register_sharded("weight", std::move(shard), router_context.parameters);
        }
        Tensor weight;
    };
    const auto router =
        register_module("gate", std::make_shared<Router>(experts_, context.plan->model.hidden_size, context));
    gate_ = router->weight;
    const auto list = register_module("experts", std::make_shared<torch::nn::Module>());
    for (std::int64_t i = 0; i < each; ++i) {
        own_.push_back(list->register_module(std::to_string(first_expert_ + i), std::make_shared<Expert>(context)));
    }
}

MoeMlp::Routes MoeMlp::route(const torch::Tensor& probabilities) const {
    const auto [top, chosen] = at::topk(probabilities, per_token_, -1);
    const Tensor weights = top / top.sum(-1, true);

    Routes routes;
    routes.chosen = chosen;
    const Tensor expert = chosen.reshape(-1);
    Tensor kept;  // undefined: all choices are kept
    const double factor = context_.plan->model.capacity_factor;
    if (factor > 0) {
        const std::int64_t choices = probabilities.size(1) * context_.cp() * per_token_;  // of a whole sequence
        const auto capacity =
            static_cast<std::int64_t>(std::ceil(factor * static_cast<double>(choices) / static_cast<double>(experts_)));
        kept = places_in_queue(chosen, experts_, context_).le(capacity).nonzero().squeeze(1);
    }
    const Tensor candidates = kept.defined() ? expert.index_select(0, kept) : expert;
    Tensor order = std::get<1>(at::sort(candidates, /*stable=*/true, 0, false));
    routes.per_expert = to_counts(at::bincount(candidates, {}, experts_), candidates.numel());
    if (kept.defined()) order = kept.index_select(0, order);
    routes.token = order.div(per_token_, "floor");
    routes.weight = weights.reshape(-1).index_select(0, order);
    return routes;
}

MoeMlp::RouterLoss MoeMlp::router_loss(const torch::Tensor& logits, const torch::Tensor& probabilities,
                                       const torch::Tensor& chosen) const {
    const Model& m = context_.plan->model;
    RouterLoss both{.loss = at::zeros({}, probabilities.options()), .reported = {}};
    // Every tensor-parallel rank computes the same loss from the gathered probabilities, and the ranks' gradients are
    // summed.
    const double share = 1.0 / context_.tp();
    if (m.router_aux_loss > 0) {
        const std::int64_t batch = chosen.size(0);
        const double time = static_cast<double>(chosen.size(1) * context_.cp());
        Tensor count = at::zeros({batch, experts_}, probabilities.options().requires_grad(false));
        count.scatter_add_(1, chosen.reshape({batch, -1}), at::ones({batch, chosen.numel() / batch}, count.options()));
        count = sum_over_context(count, context_);
        const Tensor f = count * (static_cast<double>(experts_) / (static_cast<double>(per_token_) * time));
        both.loss = both.loss + m.router_aux_loss * share * (f * probabilities.mean(1)).sum(1).mean();
    }
    both.reported = both.loss.detach();
    if (m.router_z_loss > 0) {
        // With sequence parallelism each rank has the logits of its part of the tokens, without it all of them.
        const double part = context_.sequence_parallel() ? share : 1.0;
        const Tensor mean = m.router_z_loss * at::logsumexp(logits, {-1}).square().mean();
        both.loss = both.loss + part * mean;
        both.reported = both.reported + share * mean.detach();
    }
    return both;
}

torch::Tensor MoeMlp::through_experts(const torch::Tensor& tokens, const Counts& per_expert) const {
    std::vector<Tensor> outputs;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < own_.size(); ++i) {
        // An expert without tokens computes too: its gradients are then zeros and exist on every rank, so that all
        // ranks reduce alike.
        outputs.push_back(own_[i]->forward(tokens.narrow(0, at, per_expert[i])));
        at += per_expert[i];
    }
    return at::cat(outputs);
}

WithSideLoss MoeMlp::forward(const torch::Tensor& x, std::optional<double> side_loss_scale) const {
    const bool casts = gate_.scalar_type() != x.scalar_type();
    const Tensor scores = casts ? deferrable_linear(x, gate_, false, nullptr) : at::linear(x, gate_);
    const Tensor logits = scores.to(x.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat);
    const Tensor probabilities = enter_tensor_parallel(at::softmax(logits, -1), context_);
    const Tensor entered = enter_tensor_parallel(x, context_);
    const Routes routes = route(probabilities);
    const Tensor flat = entered.reshape({-1, entered.size(2)});
    const Tensor tokens = flat.index_select(0, routes.token);

    Collectives& ranks = context_.mesh->expert();
    const std::int64_t n = ranks.world_size(), each = static_cast<std::int64_t>(own_.size());
    Tensor outputs;
    if (n == 1) {
        outputs = through_experts(tokens, routes.per_expert);
    } else {
        // Rows from each rank for each expert on this rank.
        Tensor mine = torch::tensor(routes.per_expert, torch::kInt64).to(x.device());
        Tensor theirs = at::empty_like(mine);
        const Counts even(static_cast<std::size_t>(n), each);
        must(ranks.all_to_all(theirs, mine, even, even)->wait());
        const Counts counts = to_counts(theirs, tokens.size(0), /*from_others=*/true);
        const Counts to = sums_of_runs(routes.per_expert, each), from = sums_of_runs(counts, each);
        const HeldGroupPointer group = held(ranks);
        const Tensor arrived = Exchange::apply(tokens, to, from, group);
        const Tensor order = transposing_order(counts, n, each, x.device());
        Counts per_expert(static_cast<std::size_t>(each), 0);
        for (std::size_t i = 0; i < counts.size(); ++i) per_expert[i % static_cast<std::size_t>(each)] += counts[i];
        const Tensor done = through_experts(arrived.index_select(0, order), per_expert);
        const Tensor back = at::empty_like(order).scatter_(0, order, at::arange(order.size(0), order.options()));
        outputs = Exchange::apply(done.index_select(0, back), from, to, group);
    }
    const Tensor weighted = outputs * routes.weight.to(outputs.scalar_type()).unsqueeze(1);
    const Tensor part = SumByToken::apply(weighted, routes.token, flat.size(0)).view(entered.sizes());
    const Tensor y = leave_tensor_parallel(part, context_);

    const Model& m = context_.plan->model;
    if (!side_loss_scale || (m.router_aux_loss == 0 && m.router_z_loss == 0)) return {y};
    const RouterLoss both = router_loss(logits, probabilities, routes.chosen);
    const double value = host_values(both.reported).item<double>();
    // The first run of a recomputed layer has no graph that the loss could join.
    return {torch::GradMode::is_enabled() ? AttachLoss::apply(y, both.loss, *side_loss_scale) : y, value};
}

}  // namespace plimsoll::engine
