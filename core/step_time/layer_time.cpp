// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/layer_time.h"

#include <algorithm>
#include <cmath>

#include "core/plan/adapter.h"
#include "core/step_time/collective_time.h"
#include "core/step_time/matmul_time.h"

namespace plimsoll {

namespace {

/// Kernels that the backward launches for each kernel of the forward.
constexpr double backward_kernels = 2.6;

struct Sizes {
    Sizes(const Plan& plan, const Hardware& hardware)
        : h(hardware),
          model(plan.model),
          layout(plan.layout),
          e(plan.numerics.dtype == Dtype::Fp32 ? 4 : 2),
          flash(plan.numerics.attention == Attention::Flash),
          tp(as_double(layout.tp)),
          sequence(as_double(plan.data.sequence_length)),
          batch(as_double(layout.micro_batch)),
          tokens(batch * sequence / as_double(layout.cp)),
          hidden(as_double(model.hidden_size)),
          queries(as_double(model.num_heads) * as_double(model.head_size())),
          keys(std::max(as_double(model.num_kv_heads), tp) * as_double(model.head_size())),
          ffn(as_double(model.ffn_hidden_size)),
          outside(layout.sequence_parallel ? tokens / tp : tokens),
          frozen(adapts(plan)) {}

    const Hardware& h;
    const Model& model;
    const Layout& layout;
    double e;
    bool flash;
    double tp, sequence, batch;
    double tokens;  ///< of the micro-batch on this context-parallel rank
    double hidden, queries;
    double keys;  ///< columns of the keys, and of the values; ranks beyond the number of heads hold copies
    double ffn;
    double outside;  ///< tokens in norms and residuals
    bool frozen;     ///< the weights do not train
};

/// A product with a weight of (in x out) columns on this rank: forward, gradient of the input, of the weight.
void linear(const Sizes& z, double tokens, double in, double out, double batch, LayerTime& time) {
    const double reached = z.h.efficiency.matmul;
    time.forward.matmul += matmul_time(z.h, tokens, out, in, batch, z.e, reached);
    time.backward_input.matmul += matmul_time(z.h, tokens, in, out, batch, z.e, reached);
    if (!z.frozen) time.backward_weight.matmul += matmul_time(z.h, in, out, tokens, batch, z.e, reached);
}

/// The two thin products of each adapter, which trains.
void adapters(const Plan& plan, Sizes z, LayerTime& time) {
    z.frozen = false;
    const double rank = as_double(plan.adapter.rank);
    for (const LayerMatrix& matrix : adapted_matrices(plan)) {
        const bool rows = matrix.split == LayerMatrix::Split::Rows;
        linear(z, z.tokens, as_double(matrix.in) / (rows ? z.tp : 1), rank, 1, time);
        linear(z, z.tokens, rank, as_double(matrix.out) / (rows ? 1 : z.tp), 1, time);
    }
}

void attention_core(const Sizes& z, bool causal, LayerTime& time) {
    const auto& efficiency = z.h.efficiency;
    const double heads = z.queries / as_double(z.model.head_size()) / z.tp * z.batch;
    const double rows = z.tokens / z.batch, width = as_double(z.model.head_size());
    if (z.flash) {
        const double products = 2 * rows * z.sequence * width * heads * (causal ? 0.5 : 1);
        time.core.attention = 2 * products / (z.h.peak * efficiency.flash) + efficiency.kernel;
        time.backward_input.attention += 5 * products / (z.h.peak * efficiency.flash_backward) + efficiency.kernel;
    } else {
        const auto product = [&](double m, double n, double k) {
            return matmul_time(z.h, m, n, k, heads, z.e, efficiency.scores);
        };
        time.core.attention = product(rows, z.sequence, width) + product(rows, width, z.sequence);
        time.backward_input.attention += 2 * time.core.attention;
        const double scores = rows * z.sequence * heads;
        const bool dropout = z.model.dropout > 0;
        const double mask = dropout ? 2 * z.e + 1 : 0;
        time.core.elementwise = elementwise_time(z.h, scores * (2 * z.e + mask));
        time.backward_input.elementwise += elementwise_time(z.h, scores * (3 * z.e + mask));
    }
    time.forward += time.core;

    if (z.layout.cp > 1) {
        const auto ring = group_of(z.layout.cp, z.layout.tp, z.h);
        const double steps = as_double(z.layout.cp - 1);
        const double passed = 2 * z.e * z.tokens * z.keys / z.tp;
        const auto wait = [&](Seconds core, double bytes) {
            return steps * std::max(0.0, send_time(z.h, ring.one_node(), bytes) - core / as_double(z.layout.cp));
        };
        time.forward.context += wait(time.core.attention, passed);
        time.backward_input.context += wait(time.backward_input.attention, 2 * passed);
    }
}

void attention(const Sizes& z, bool causal, LayerTime& time) {
    attention_core(z, causal, time);
    linear(z, z.tokens, z.hidden, (z.queries + 2 * z.keys) / z.tp, 1, time);
    linear(z, z.tokens, z.queries / z.tp, z.hidden, 1, time);
}

/// Bytes that a forward pass's norms move a token, and the MLP's activation.
double norm_bytes(const Sizes& z) { return 2 * 2 * z.e * z.hidden; }
double active_bytes(const Sizes& z) {
    const double experts = z.model.moe() ? as_double(z.model.experts_per_token) : 1;
    return (z.model.gated_mlp() ? 3 : 2) * z.e * z.ffn / z.tp * experts;
}

void elementwise(const Sizes& z, LayerTime& time) {
    const double e = z.e, mask = z.model.dropout > 0 ? 1 : 0;
    const bool gated = z.model.gated_mlp(), rotary = z.model.position == Position::Rotary;
    const double experts = z.model.moe() ? as_double(z.model.experts_per_token) : 1;
    const double heads = (z.queries + 2 * z.keys) / z.tp, middle = z.ffn / z.tp * experts;

    const double residuals = 2 * (3 * e + mask) * z.hidden;
    const double copies = z.flash ? 0 : 2 * e * (heads + z.queries / z.tp);
    const double turned = rotary ? 2 * e * (z.queries + z.keys) / z.tp : 0;
    time.forward.elementwise += elementwise_time(z.h, z.outside * (norm_bytes(z) + residuals));
    time.forward.elementwise += elementwise_time(z.h, z.tokens * (copies + turned + active_bytes(z)));

    const double norms_back = 2 * 3 * e * z.hidden, residuals_back = 2 * (4 * e + mask) * z.hidden;
    const double active_back = (gated ? 5 : 3) * e * middle;
    const double biases = z.model.linear_bias ? e * (heads + middle) : 0;
    time.backward_input.elementwise += elementwise_time(z.h, z.outside * (norms_back + residuals_back));
    time.backward_input.elementwise += elementwise_time(z.h, z.tokens * (copies + turned + active_back + biases));
    if (z.model.moe()) {
        // Routed rows are copied into their experts' order and back, and weighted.
        const double routed = elementwise_time(z.h, z.tokens * experts * z.hidden * 5 * e);
        time.forward.elementwise += routed;
        time.backward_input.elementwise += routed;
    }
}

void mlp(const Sizes& z, LayerTime& time) {
    const double up = (z.model.gated_mlp() ? 2 : 1) * z.ffn / z.tp, down = z.ffn / z.tp;
    if (!z.model.moe()) {
        linear(z, z.tokens, z.hidden, up, 1, time);
        linear(z, z.tokens, down, z.hidden, 1, time);
        return;
    }
    const double here = as_double(z.model.num_experts) / as_double(z.layout.ep);
    const double routed = z.tokens * as_double(z.model.experts_per_token);
    linear(z, z.tokens, z.hidden, as_double(z.model.num_experts), 1, time);
    linear(z, routed / here, z.hidden, up, here, time);
    linear(z, routed / here, down, z.hidden, here, time);
    if (z.layout.ep > 1) {
        const auto group = group_of(z.layout.ep, z.layout.tp * z.layout.cp, z.h);
        const double bytes = z.e * routed * z.hidden / (z.layout.sequence_parallel ? z.tp : 1);
        const Seconds exchange = 2 * all_to_all_time(z.h, group, bytes);
        time.forward.expert += exchange;
        time.backward_input.expert += exchange;
    }
}

/// Norms, the MLP up to its last product (routed experts: all of it), eager attention's scores and softmax; with
/// sequence parallelism the inputs of attention and MLP are gathered again.
Seconds mlp_again(const Sizes& z, const LayerTime& time) {
    LayerTime first;
    const double up = (z.model.gated_mlp() ? 2 : 1) * z.ffn / z.tp;
    if (z.model.moe()) {
        mlp(z, first);
    } else {
        linear(z, z.tokens, z.hidden, up, 1, first);
    }
    const double moved = z.outside * norm_bytes(z) + z.tokens * active_bytes(z);
    const Seconds scores = z.flash ? 0 : time.core.attention / 2 + time.core.elementwise;
    return first.forward.matmul + first.forward.expert + elementwise_time(z.h, moved) + scores +
           (z.layout.sequence_parallel ? time.forward.tensor / 2 : 0);
}

/// Kernels of a forward pass, as eager frameworks launch them.
double forward_kernels(const Sizes& z) {
    const double attention = z.flash ? 1 : 7;
    const double rotary = z.model.position == Position::Rotary ? 2 : 0;
    const double experts = z.model.moe() ? 8 : 0;
    return 2 /* norms */ + 4 /* products */ + 2 /* residuals */ + 1 /* activation */ + attention + rotary + experts;
}

/// The host's launches hide behind the device's work unless they take longer.
void wait_for_host(const Hardware& h, double kernels, bool collectives, PassTime& pass) {
    const Seconds host = kernels * h.efficiency.host_kernel + (collectives ? h.efficiency.host_collective : 0);
    const Seconds device = pass.total();
    const Seconds most = std::max(host, device);
    if (most <= 0) return;
    const auto sixth = [&](double x) {
        const double cube = x * x * x;
        return cube * cube;
    };
    // When the two numbers are far apart, the larger one is the result.
    if (std::min(host, device) < 0.2 * most) {
        pass.host = most - device;
        return;
    }
    pass.host = most * std::cbrt(std::sqrt(sixth(host / most) + sixth(device / most))) - device;
}

}  // namespace

PassTime& PassTime::operator+=(const PassTime& other) {
    matmul += other.matmul;
    attention += other.attention;
    elementwise += other.elementwise;
    tensor += other.tensor;
    context += other.context;
    expert += other.expert;
    host += other.host;
    return *this;
}

LayerTime layer_time(const Plan& plan, const Hardware& hardware, bool decoder) {
    const Sizes z(plan, hardware);
    LayerTime time;
    attention(z, decoder, time);
    if (z.model.encoder_decoder() && decoder) {
        LayerTime cross;
        attention(z, false, cross);
        time.forward += cross.forward;
        time.backward_input += cross.backward_input;
        time.backward_weight += cross.backward_weight;
        time.core += cross.core;
    }
    mlp(z, time);
    adapters(plan, z, time);
    elementwise(z, time);
    if (z.layout.tp > 1) {
        const Seconds reduce = all_reduce_time(hardware, group_of(z.layout.tp, 1, hardware), z.e * z.tokens * z.hidden);
        time.forward.tensor += 2 * reduce;
        time.backward_input.tensor += 2 * reduce;
    }
    const double kernels = forward_kernels(z) + 2 * as_double(std::ssize(adapted_matrices(plan)));
    const bool collectives = z.layout.tp > 1 || z.layout.cp > 1 || z.layout.ep > 1;
    wait_for_host(hardware, kernels, collectives, time.forward);
    // The host launches both gradients of the backward; the device's wait for them counts as the input gradient's.
    PassTime backward = time.backward_input;
    backward += time.backward_weight;
    wait_for_host(hardware, backward_kernels * kernels, collectives, backward);
    time.backward_input.host = backward.host;
    time.again[static_cast<std::size_t>(Recompute::Selective)] = time.core.total();
    time.again[static_cast<std::size_t>(Recompute::Full)] = time.forward.total();
    time.again[static_cast<std::size_t>(Recompute::Mlp)] = mlp_again(z, time);
    return time;
}

EndsTime ends_time(const Plan& plan, const Hardware& hardware) {
    const Sizes z(plan, hardware);
    const double vocabulary = as_double(plan.model.vocab_size) / z.tp;
    const double hidden_bytes = z.e * z.tokens * z.hidden;
    const Seconds reduce = all_reduce_time(hardware, group_of(z.layout.tp, 1, hardware), hidden_bytes);
    EndsTime ends;
    ends.embedding.elementwise = elementwise_time(hardware, 2 * hidden_bytes);
    ends.embedding.tensor = reduce;
    // Each token's row is read, added to and written, after the gradient has been set to zero.
    ends.embedding_backward.elementwise = elementwise_time(hardware, 3 * hidden_bytes);
    wait_for_host(hardware, 3, z.tp > 1, ends.embedding);
    wait_for_host(hardware, 3, false, ends.embedding_backward);
    if (z.frozen) ends.embedding_backward = {};

    LayerTime product;
    const double pieces = as_double(std::max<std::int64_t>(z.layout.loss_chunks, 1));
    linear(z, z.tokens / pieces, z.hidden, vocabulary, 1, product);
    ends.head.matmul = pieces * product.forward.matmul;
    ends.head_input.matmul = pieces * product.backward_input.matmul;
    ends.head_weight.matmul = pieces * product.backward_weight.matmul;
    // Cross-entropy in fp32: the logits are cast (read, write) and their maximum, exponentials and sum taken (three
    // reads, a write); in the backward the softmax is scaled and cast (two reads, two writes).
    const double logits = z.tokens * vocabulary;
    ends.head.elementwise =
        elementwise_time(hardware, logits * (z.e + 4 + 4 * 4)) + elementwise_time(hardware, 2 * hidden_bytes);
    ends.head_input.elementwise =
        elementwise_time(hardware, logits * (z.e + 4 * 6)) + elementwise_time(hardware, 3 * hidden_bytes);
    ends.head_input.tensor = reduce;
    wait_for_host(hardware, 10, z.tp > 1, ends.head);
    PassTime backward = ends.head_input;
    backward += ends.head_weight;
    wait_for_host(hardware, 15, z.tp > 1, backward);
    ends.head_input.host = backward.host;
    return ends;
}

Seconds stage_send_time(const Plan& plan, const Hardware& hardware) {
    const Sizes z(plan, hardware);
    const bool in_node = 2 * z.layout.tp * z.layout.cp * z.layout.dp <= hardware.a_node;
    return send_time(hardware, in_node, z.e * z.outside * z.hidden);
}

}  // namespace plimsoll
