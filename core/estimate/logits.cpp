// SPDX-License-Identifier: Apache-2.0
// The logits and the loss on them.
#include <algorithm>

#include "core/estimate/terms.h"

namespace plimsoll {
namespace {

std::string number(Count count) { return format_count(count.value()); }

struct LogitSizes {
    explicit LogitSizes(const Plan& plan)
        : chunks(plan.layout.loss_chunks),
          e(bytes_of(plan.numerics.dtype)),
          all(tokens(plan)),
          piece(share(all, chunks)),
          vocabulary(share(plan.model.vocab_size, plan.layout.tp)),
          hidden(plan.model.hidden_size) {}

    Count copies() const { return 12 * piece * vocabulary; }
    Count head() const { return e * (piece * vocabulary + (vocabulary + piece) * hidden); }
    /// With several pieces, what stays from one to the next.
    Count gradients() const { return chunks > 1 ? e * ((all + vocabulary) * hidden) : Count(0); }
    /// What a micro-batch keeps that waits for its backward.
    Count waiting() const { return chunks > 1 ? e * (all * hidden) : 4 * all * vocabulary; }

    std::int64_t chunks, e;
    Count all, piece, vocabulary, hidden;
};

}  // namespace

// At the peak, in the backward of log_softmax, three fp32 copies of [tokens, V] are alive: log_softmax's output, the
// gradient of its output and the gradient of its input (the logits themselves are freed after the forward). The head's
// backward then holds the logits' gradient, the gradient of the head's matrix and that of its input: with few tokens
// that is more. Micro-batches in flight behind this one keep log_softmax's output.
//
// In pieces (loss_chunks), each piece's gradients are worked out before the next piece's logits are made: the copies
// are of a piece's tokens, and the gradient of the head's input, whole, and that of the head's matrix, a sum over the
// pieces, wait beside them. Micro-batches in flight keep the first of these.
Count logits_peak(const Plan& plan) {
    const LogitSizes z(plan);
    return z.chunks > 1 ? z.copies() + z.gradients() : std::max(z.copies(), z.head());
}

Term logits_term(const Plan& plan, std::int64_t in_flight) {
    const LogitSizes z(plan);
    constexpr auto copies = "(4 B log-softmax + 4 B its gradient + 4 B gradient of the fp32 logits)";
    std::string formula;
    if (z.chunks > 1)
        formula = fmt::format(
            "tokens / {0} × V × {1} = {2} × {3} × 12; with {4} B × (T h + V h), gradients of the head's input and "
            "matrix = {4} × ({5} × {6} + {3} × {6})",
            z.chunks, copies, number(z.piece), number(z.vocabulary), z.e, number(z.all), number(z.hidden));
    else if (z.copies() >= z.head())
        formula = fmt::format("tokens × V × {} = {} × {} × 12", copies, number(z.all), number(z.vocabulary));
    else
        formula = fmt::format(
            "{0} B × (T V + V h + T h), gradients of logits, head and its input = {0} × ({1} × {2} + {2} × {3} + {1} × "
            "{3})",
            z.e, number(z.all), number(z.vocabulary), number(z.hidden));
    if (in_flight > 1)
        formula += fmt::format(" + {} waiting micro-batches × {} B × {} × {}", in_flight - 1, z.chunks > 1 ? z.e : 4,
                               number(z.all), number(z.chunks > 1 ? z.hidden : z.vocabulary));
    return {"logits_and_loss",
            "Logits and loss",
            Category::Buffers,
            (logits_peak(plan) + (in_flight - 1) * z.waiting()).value(),
            std::move(formula),
            z.chunks > 1
                ? "cross-entropy with the head in pieces (Liger Kernel, Hsu et al. 2024); vocabulary split by tp "
                  "(Shoeybi et al. 2019)"
                : "cross-entropy on fp32 logits, measured on Plimsoll's engine; vocabulary split by tp (Shoeybi "
                  "et al. 2019)"};
}

}  // namespace plimsoll
