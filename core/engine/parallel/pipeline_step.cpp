// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/pipeline_step.h"

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/engine/activations/saved_tensors.h"
#include "core/engine/layers/ring_attention.h"
#include "core/engine/memory/memory_recorder.h"

namespace plimsoll::engine {

using torch::Tensor;

namespace {

bool is_backward(OpKind kind) { return kind == OpKind::Backward || kind == OpKind::BackwardInput; }

std::int64_t key_of(int stage, int micro_batch) { return (static_cast<std::int64_t>(stage) << 32) | micro_batch; }

/// Handed-over tensors of the two directions under keys of their own.
std::pair<int, int> hand_key(int stage, int micro_batch, bool gradient) {
    return {2 * stage + (gradient ? 1 : 0), micro_batch};
}

}  // namespace

Pipeline::Pipeline(const Plan& plan, DistributedModel& model, const PipelineSchedule& schedule)
    : plan_(plan),
      model_(model),
      schedule_(schedule),
      ranks_(model.context().mesh->pipeline()),
      links_(model.context().mesh->pipeline_links()),
      rank_(ranks_.rank()),
      steps_(steps_of(schedule, rank_)) {
    last_gradients_.resize(static_cast<std::size_t>(schedule.chunks));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const PipelineOp& op = steps_[i].op;
        if (is_backward(op.kind)) last_backward_ = i;
        if (op.kind != OpKind::Forward) last_gradients_[static_cast<std::size_t>(op.chunk)] = i;
    }
}

/// The residual stream as it passes between stages.
Tensor Pipeline::boundary(std::int64_t batch, std::int64_t time) const {
    const ModelContext& context = model_.context();
    const std::int64_t split = context.sequence_parallel() ? context.tp() : 1;
    const auto dtype = activation_dtype(plan_, model_.chunk(0).parameters().front());
    return at::empty({batch, time / split, plan_.model.hidden_size}, torch::dtype(dtype).device(model_.device()));
}

/// This context-parallel rank's part of whole sequences.
Batch Pipeline::cut(const Batch& batch) const {
    const ModelContext& context = model_.context();
    if (context.cp() == 1) return batch;
    const Tensor places =
        context_positions(batch.tokens.size(1), context.mesh->context().rank(), context.cp()).to(batch.tokens.device());
    Batch part = batch;
    part.tokens = batch.tokens.index_select(1, places);
    if (batch.targets.defined()) part.targets = batch.targets.index_select(1, places);
    return part;
}

void Pipeline::post_receives(const PipelineStep& step) {
    for (const Transfer& transfer : step.posts) {
        Travelling in;
        in.tensor = boundary(plan_.layout.micro_batch, plan_.data.sequence_length / plan_.layout.cp);
        const int tag = tag_of(schedule_, transfer);
        in.work = links_.receive(in.tensor, transfer.peer, tag);
        incoming_[tag] = std::move(in);
    }
}

/// Lets go of the sends that are over as well: waiting for them costs nothing, and memory does not grow with the number
/// of micro-batches.
Tensor Pipeline::received(const PipelineStep& step) {
    const auto found = incoming_.find(tag_of(schedule_, step.receives.front()));
    const Travelling in = std::move(found->second);
    incoming_.erase(found);
    must(in.work->wait());
    for (const Transfer& transfer : step.ended) {
        const auto sent = outgoing_.find(tag_of(schedule_, transfer));
        must(sent->second.work->wait());
        outgoing_.erase(sent);
    }
    return in.tensor;
}

void Pipeline::send(const PipelineStep& step, const Tensor& tensor) {
    for (const Transfer& transfer : step.sends) {
        Travelling out;
        out.tensor = tensor.detach().contiguous();
        const int tag = tag_of(schedule_, transfer);
        out.work = links_.send(out.tensor, transfer.peer, tag);
        outgoing_[tag] = std::move(out);
    }
}

double Pipeline::share(const StepSettings& settings) const {
    return settings.loss_scale / static_cast<double>(schedule_.micro_batches);
}

/// One stage: the residual stream, or the mean loss of the micro-batch.
Tensor Pipeline::forward(Decoder& decoder, const Tensor& input, const Batch& batch, const StepSettings& settings,
                         StepLosses& losses) const {
    DropoutKey key;
    key.seed = static_cast<std::uint64_t>(plan_.training.seed);
    key.samples = std::make_shared<const std::vector<std::uint64_t>>(batch.samples);
    std::optional<SavedTensors> saved;
    const Layout& layout = plan_.layout;
    if (layout.compress_activations || layout.offload_activations) {
        SavedPolicy policy;
        policy.compress = layout.compress_activations;
        policy.offload = layout.offload_activations;
        // Statistics of norms and attention are as many numbers as there are rows and heads, and stay exact.
        policy.min_elements =
            std::max<std::int64_t>(1024, layout.micro_batch * plan_.data.sequence_length * plan_.model.num_heads + 1);
        // Weights that do not train look like activations to autograd.
        for (const Tensor& parameter : decoder.parameters()) {
            if (!parameter.requires_grad()) policy.parameters.push_back(parameter);
        }
        saved.emplace(policy);
    }
    const WithSideLoss residual = decoder.body(input, key, share(settings));
    losses.router += residual.side_loss;
    saved.reset();
    if (!decoder.stage().head) return residual.x;
    const WithSideLoss mean = decoder.loss(residual.x, batch.targets);
    losses.z += mean.side_loss;
    return mean.x;
}

void Pipeline::backward(std::size_t place, const StepSettings& settings, const StepLosses& losses) {
    const PipelineStep& step = steps_[place];
    const PipelineOp& op = step.op;
    const int stage = schedule_.stage_of(rank_, op.chunk);
    const auto found = alive_.find({stage, op.micro_batch});
    Alive alive = std::move(found->second);
    alive_.erase(found);

    Tensor gradient;
    if (stage + 1 == schedule_.stages()) {
        gradient = at::full({}, share(settings), alive.output.options());
    } else if (!step.receives.empty()) {
        gradient = received(step);
    } else {
        const auto key = hand_key(stage + 1, op.micro_batch, true);
        gradient = std::move(handed_over_.at(key));
        handed_over_.erase(key);
    }

    const bool sharded = plan_.layout.zero_stage >= 2;
    const bool last = place == last_backward_ && schedule_.ranks == 1;
    if (last && settings.before_last_backward) settings.before_last_backward(losses);
    begin_memory_phase("backward", op.micro_batch);
    model_.prepare_backward(last);
    const auto& deferred = model_.context().deferred;
    if (op.kind == OpKind::BackwardInput) deferred->begin(key_of(stage, op.micro_batch));
    torch::autograd::backward({alive.output}, {gradient});
    if (op.kind == OpKind::BackwardInput) deferred->end();
    if (sharded) must(model_.finish_backward());
    if (stage == 0) return;
    const Tensor upstream = alive.input.grad();
    if (step.sends.empty()) {
        handed_over_[hand_key(stage, op.micro_batch, true)] = upstream;
    } else {
        send(step, upstream);
    }
}

void Pipeline::execute(std::size_t place, const std::function<Batch(std::int64_t)>& batch, const StepSettings& settings,
                       StepLosses& losses) {
    const PipelineStep& step = steps_[place];
    const PipelineOp& op = step.op;
    const int stage = schedule_.stage_of(rank_, op.chunk);
    post_receives(step);
    if (op.kind == OpKind::BackwardWeight) {
        begin_memory_phase("weight gradients", op.micro_batch);
        model_.prepare_backward(false);
        model_.context().deferred->run(key_of(stage, op.micro_batch));
        return;
    }
    if (op.kind != OpKind::Forward) return backward(place, settings, losses);

    begin_memory_phase("forward", op.micro_batch);
    Alive alive;
    const Batch part = cut(batch(op.micro_batch));
    if (stage == 0) {
        alive.input = part.tokens;
    } else if (!step.receives.empty()) {
        alive.input = received(step).requires_grad_();
    } else {
        const auto key = hand_key(stage - 1, op.micro_batch, false);
        alive.input = handed_over_.at(key).detach().requires_grad_();
        handed_over_.erase(key);
    }
    alive.output = forward(model_.chunk(op.chunk), alive.input, part, settings, losses);
    if (stage + 1 == schedule_.stages()) {
        const Tensor loss = alive.output.detach().to(torch::kFloat64);
        losses.loss = losses.loss.defined() ? losses.loss + loss : loss;
    } else if (step.sends.empty()) {
        handed_over_[hand_key(stage, op.micro_batch, false)] = alive.output;
    } else {
        send(step, alive.output);
    }
    alive_[{stage, op.micro_batch}] = std::move(alive);
}

Result<StepLosses> Pipeline::step(const std::function<Batch(std::int64_t)>& batch, const StepSettings& settings) {
    times_.clear();
    StepLosses losses;
    model_.zero_gradients();
    for (std::size_t place = 0; place < steps_.size(); ++place) {
        OpTime time{steps_[place].op, wall_clock(), 0};
        execute(place, batch, settings, losses);
        const int chunk = steps_[place].op.chunk;
        if (schedule_.ranks > 1 && place == last_gradients_[static_cast<std::size_t>(chunk)])
            model_.reduce_chunk(chunk);
        time.end = wall_clock();
        times_.push_back(time);
    }
    for (const auto& [tag, each] : outgoing_) must(each.work->wait());
    outgoing_.clear();
    begin_memory_phase("reduction");
    if (plan_.layout.zero_stage < 2) {
        if (schedule_.ranks > 1) model_.prepare_backward(true);
        PLIMSOLL_CHECK(model_.finish_backward());
    }
    PLIMSOLL_CHECK(model_.finish_gradients());
    return losses;
}

/// One forward through all stages, in their order; what `head` gives on the last one goes to every rank of the
/// pipeline.
Tensor Pipeline::through_stages(const Batch& batch, const std::function<Tensor(Decoder&, Tensor)>& head) {
    const torch::NoGradGuard no_grad;
    const Batch part = cut(batch);
    DropoutKey key;
    key.samples = std::make_shared<const std::vector<std::uint64_t>>(
        std::vector<std::uint64_t>(static_cast<std::size_t>(batch.tokens.size(0)), 0));
    Tensor x, result;
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
        if (schedule_.rank_of(stage) != rank_) continue;
        const int before = stage > 0 ? schedule_.rank_of(stage - 1) : rank_;
        if (stage == 0) {
            x = part.tokens;
        } else if (before != rank_) {
            x = boundary(part.tokens.size(0), part.tokens.size(1));
            must(links_.receive(x, before, 2 * stage)->wait());
        }
        Decoder& decoder = model_.chunk(schedule_.chunk_of(stage));
        x = decoder.body(x, key).x;
        if (decoder.stage().head) {
            result = head(decoder, x);
        } else if (const int after = schedule_.rank_of(stage + 1); after != rank_) {
            must(links_.send(x.contiguous(), after, 2 * (stage + 1))->wait());
        }
    }
    return result;
}

Result<double> Pipeline::loss(const Batch& batch) {
    const Batch part = cut(batch);
    const Tensor loss =
        through_stages(batch, [&](Decoder& decoder, Tensor x) { return decoder.loss(x, part.targets).x; });
    Tensor value = at::zeros({1}, torch::dtype(torch::kFloat64).device(model_.device()));
    if (loss.defined()) value.fill_(loss.item<double>());
    const int head = schedule_.rank_of(schedule_.stages() - 1);
    PLIMSOLL_CHECK(ranks_.broadcast(value, head));
    // Context-parallel ranks hold as many positions each.
    Collectives& context = model_.context().mesh->context();
    PLIMSOLL_CHECK(context.all_reduce_sum(value)->wait());
    return value.item<double>() / context.world_size();
}

Result<Tensor> Pipeline::next_logits(const Tensor& tokens) {
    const ModelContext& context = model_.context();
    // Sequences come in pieces of equal size; what is added at the end is seen by nothing before it.
    const std::int64_t pieces =
        (context.cp() > 1 ? 2 * context.cp() : 1) * (context.sequence_parallel() ? context.tp() : 1);
    const std::int64_t time = tokens.size(1), last = time - 1;
    const std::int64_t padded = (time + pieces - 1) / pieces * pieces;
    Batch batch;
    batch.tokens = at::constant_pad_nd(tokens, {0, padded - time}, 0);
    Tensor all = through_stages(batch, [&](Decoder& decoder, Tensor x) { return decoder.logits(x); });

    Tensor row = at::zeros({plan_.model.vocab_size}, torch::dtype(torch::kFloat).device(model_.device()));
    const Tensor places = context_positions(padded, context.mesh->context().rank(), context.cp());
    const Tensor here = places.eq(last).nonzero();
    if (all.defined() && here.numel() > 0) row.copy_(all[0][here.item<std::int64_t>()]);
    const int head = schedule_.rank_of(schedule_.stages() - 1);
    PLIMSOLL_CHECK(context.mesh->context().all_reduce_sum(row)->wait());
    PLIMSOLL_CHECK(ranks_.broadcast(row, head));
    return row.cpu();
}

}  // namespace plimsoll::engine
