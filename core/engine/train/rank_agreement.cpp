// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/rank_agreement.h"

namespace plimsoll::engine {

namespace {

/// How long the others wait while rank 0 writes or reads a checkpoint or a sample: a large model's takes minutes.
constexpr Seconds patience = 30 * 60;

}  // namespace

Result<std::int64_t> RankAgreement::from_first_rank(std::int64_t number) {
    const torch::Tensor told = torch::full({1}, number, torch::kInt64);
    PLIMSOLL_CHECK(ranks_.broadcast(told, 0, patience));
    return told.item<std::int64_t>();
}

Result<void> RankAgreement::on_first_rank(const char* what, const std::function<Result<void>()>& work) {
    Result<void> done;
    if (first_rank()) done = work();
    const auto failure = from_first_rank(done ? 0 : 1);
    if (!done) return done;
    if (!failure) return tl::unexpected(failure.error());
    if (*failure != 0) return failed("rank 0 could not {}; its log tells why", what);
    return {};
}

bool RankAgreement::stop_asked() {
    if (stop_ == nullptr) return false;
    torch::Tensor asked = torch::full({1}, stop_->load() ? 1 : 0, torch::kInt64);
    must(ranks_.all_reduce_sum(asked)->wait());
    return asked.item<std::int64_t>() > 0;
}

}  // namespace plimsoll::engine
