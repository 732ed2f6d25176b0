// SPDX-License-Identifier: Apache-2.0
// The logits and the loss on them.
#include <algorithm>

#include "core/estimate/terms.h"
#include "core/plan/adapter.h"

namespace plimsoll {
namespace {

struct LogitSizes {
    explicit LogitSizes(const Plan& plan)
        : chunks(plan.layout.loss_chunks),
          e(bytes_of(plan.numerics.dtype)),
          g(product_gradient_bytes(plan.numerics)),
          all(tokens(plan)),
          piece(share(all, chunks)),
          vocabulary(share(plan.model.vocab_size, plan.layout.tp)),
          hidden(plan.model.hidden_size),
          matrix(adapts(plan) ? Count(0) : vocabulary * hidden),
          pieces(chunks > 1 || (plan.model.z_loss > 0 && plan.layout.tp == 1)) {}

    Count copies() const { return 12 * piece * vocabulary; }
    Count head() const { return e * (piece * vocabulary + piece * hidden) + std::max(g * matrix, cast()); }
    /// In pieces: one piece's logits in fp32 and, below fp32, their gradient and that of the head's matrix, which under
    /// autocast is there in the dtype as well.
    Count of_piece() const { return (4 + half()) * (piece * vocabulary) + half() * matrix + cast(); }
    /// Under autocast the head's matrix in the dtype.
    Count cast() const { return g > e ? e * (vocabulary * hidden) : Count(0); }
    /// In pieces: the gradients that wait for the backward.
    Count gradients() const { return e * (all * hidden) + 4 * matrix; }
    /// Bytes that a micro-batch keeps until its backward.
    Count waiting() const { return pieces ? gradients() : 4 * all * vocabulary; }
    /// Bytes an element of a copy in the dtype, which fp32 does not need.
    std::int64_t half() const { return e < 4 ? e : 0; }

    std::int64_t chunks, e;
    std::int64_t g;  ///< bytes a number of the gradient of the head's matrix
    Count all, piece, vocabulary, hidden;
    Count matrix;  ///< numbers in the head's matrix; 0 for a frozen head
    bool pieces;   ///< head and loss in one, which the z-loss takes as well (on one tensor-parallel rank)
};

}  // namespace

// At the peak, in the backward of log_softmax, three fp32 copies of [tokens, V] are alive: log_softmax's output, the
// gradient of its output and the gradient of its input (the logits themselves are freed after the forward). The head's
// backward then holds the logits' gradient, the gradient of the head's matrix and that of its input: with few tokens
// that is more. Micro-batches in flight behind this one keep log_softmax's output.
//
// In pieces (loss_chunks), the gradients are worked out in the forward, while a piece's logits are there: these in
// fp32, turned into their gradient in place, its copy in the dtype, and the piece's part of the head's gradient in the
// dtype (fp32 needs no copy and adds its part in place). The gradient of the head's input, whole, and that of its
// matrix in fp32, a sum over the pieces, wait for the backward, of each micro-batch in flight.
Count logits_peak(const Plan& plan) {
    const LogitSizes z(plan);
    return z.pieces ? z.of_piece() + z.gradients() : std::max(z.copies(), z.head());
}

namespace {

std::string logits_formula(const LogitSizes& z, std::int64_t in_flight) {
    constexpr auto copies = "(4 B log-softmax + 4 B its gradient + 4 B gradient of the fp32 logits)";
    std::string formula;
    if (z.pieces)
        formula = fmt::format(
            "tokens / {} × V × (4 B logits{}) = {} × {} × {}{}{}; with {} B × T h + 4 B × V h, gradients of the head's input "
            "and matrix = {} × {} × {} + 4 × {} × {}",
            z.chunks, z.half() > 0 ? fmt::format(" + {} B gradient", z.half()) : "", number(z.piece),
            number(z.vocabulary), 4 + z.half(),
            z.half() > 0 ? fmt::format(" + {} B × V h of a piece's head gradient", z.half()) : "",
            z.g > z.e ? fmt::format(" + {} B × V h, the cast head", z.e) : "", z.e, z.e, number(z.all),
            number(z.hidden), number(z.matrix > 0 ? z.vocabulary : Count(0)), number(z.hidden));
    else if (z.copies() >= z.head())
        formula = fmt::format("tokens × V × {} = {} × {} × 12", copies, number(z.all), number(z.vocabulary));
    else
        formula = fmt::format(
            "{0} B × (T V + T h) + {5} B × V h, gradients of logits, input and head = {0} × ({1} × {2} + {1} × {3}) + {5} × "
            "{4}",
            z.e, number(z.all), number(z.vocabulary), number(z.hidden),
            z.matrix > 0 ? fmt::format("{} × {}", number(z.vocabulary), number(z.hidden)) : "0, it does not train",
            z.g);
    if (in_flight > 1 && z.pieces)
        formula += fmt::format(" + {} waiting micro-batches × {}, these gradients", in_flight - 1, number(z.waiting()));
    else if (in_flight > 1)
        formula += fmt::format(" + {} waiting micro-batches × 4 B × {} × {}", in_flight - 1, number(z.all),
                               number(z.vocabulary));
    return formula;
}

}  // namespace

void logits_term(const Plan& plan, std::int64_t in_flight, TermSink& sink) {
    const LogitSizes z(plan);
    sink.add("logits_and_loss", Category::Buffers, logits_peak(plan) + (in_flight - 1) * z.waiting(), [&] {
        return Words{"Logits and loss", logits_formula(z, in_flight),
                     z.pieces
                         ? "cross-entropy with the head in pieces (Liger Kernel, Hsu et al. 2024); vocabulary split by "
                           "tp (Shoeybi et al. 2019)"
                         : "cross-entropy on fp32 logits, measured on Plimsoll's engine; vocabulary split by tp "
                           "(Shoeybi et al. 2019)"};
    });
}

}  // namespace plimsoll
