// SPDX-License-Identifier: Apache-2.0
// Values that would work, for the cures in messages.
#include <numeric>
#include <set>

#include "core/plan/checks/problems.h"

namespace plimsoll {

namespace {

std::set<std::int64_t> divisors_of_all(const std::vector<std::int64_t>& all) {
    std::int64_t common = 0;
    for (const std::int64_t number : all) common = std::gcd(common, number);
    std::set<std::int64_t> divisors;
    for (std::int64_t i = 1; i <= common / i; ++i) {
        if (common % i == 0) divisors.insert({i, common / i});
    }
    return divisors;
}

}  // namespace

std::string nearest_divisors(std::int64_t value, const std::vector<std::int64_t>& all) {
    const std::set<std::int64_t> divisors = divisors_of_all(all);
    const auto above = divisors.upper_bound(value);
    if (above == divisors.end()) return std::to_string(*divisors.rbegin());
    if (above == divisors.begin()) return std::to_string(*above);
    return fmt::format("{} or {}", *std::prev(above), *above);
}

std::string common_divisors(const std::vector<std::int64_t>& all, const std::function<bool(std::int64_t)>& fits) {
    constexpr std::size_t most = 12;
    std::set<std::int64_t> divisors = divisors_of_all(all);
    std::erase_if(divisors, [&](std::int64_t divisor) { return !fits(divisor); });
    std::string text;
    std::size_t listed = 0;
    for (const std::int64_t divisor : divisors) {
        if (listed == most) return text + ", …";
        if (listed > 0) text += listed + 1 == divisors.size() ? " or " : ", ";
        text += std::to_string(divisor);
        ++listed;
    }
    return text;
}

}  // namespace plimsoll
