// SPDX-License-Identifier: Apache-2.0
#include "core/remedies/find_remedies.h"

#include <algorithm>
#include <limits>

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/remedies/candidates.h"
#include "core/remedies/why_not.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {

namespace {

/// A change has to win this share of a step to be worth one more of them.
constexpr double worth_a_change = 0.002;
constexpr std::size_t most_steps = 8;
/// Host memory of a node beyond which nothing is sold (servers with eight GPUs have 2 to 4 TB).
constexpr Bytes most_host = 4096 * GiB;
/// Time lost that counts as none, in turns: a small one seeks cheap changes, a large one few and large ones.
constexpr std::array tolerances{0.001, 0.02, 0.3};

/// The changes that a set may hold.
enum class Allowed { Exact, ExactAndAdapters, All };
bool allows(Allowed allowed, const PlanChange& change) {
    return change.exact || allowed == Allowed::All || (allowed == Allowed::ExactAndAdapters && change.adapters);
}

/// A changed plan with what it takes.
struct Tried {
    Plan plan;
    Bytes total = 0, host = 0;
    StepTime cost;
    std::vector<PlanChange> steps;
};

class Search {
public:
    Search(const Plan& plan, const MemoryEstimate& estimate)
        : plan_(plan),
          usable_(estimate.usable),
          base_{plan, estimate.fullest().total(), estimate.host, {}, {}},
          least_(base_.total) {
        base_.cost = time_of(plan);
    }

    const Tried& base() const { return base_; }
    Bytes usable() const { return usable_; }
    Bytes least() const { return least_; }
    double slowdown(const Tried& tried) const {
        const Seconds base = base_.cost.total();
        return base > 0 ? tried.cost.total() / base - 1 : 0;
    }
    bool fits(const Tried& tried) const { return tried.total <= usable_; }

    std::optional<Tried> change(const Tried& from, const PlanChange& candidate);
    std::vector<Tried> changes(const Tried& from, Allowed allowed);
    std::optional<Tried> cheapest(const std::vector<Tried>& singles, Allowed allowed);

private:
    /// Nothing where the GPU is not known: then no change costs time.
    StepTime time_of(const Plan& plan) {
        auto& hardware = hardware_[static_cast<std::size_t>(plan.numerics.dtype)];
        if (!hardware) hardware = hardware_of(plan.cluster, plan.numerics.dtype);
        return *hardware ? StepTimer(plan, **hardware).time(plan.layout) : StepTime{};
    }
    double price(const Tried& tried) const {
        return slowdown(tried) + worth_a_change * static_cast<double>(tried.steps.size());
    }
    void keep(std::optional<Tried>& best, const Tried& tried) const {
        if (fits(tried) && (!best || price(tried) < price(*best))) best = tried;
    }
    std::optional<Tried> replayed(const std::vector<PlanChange>& steps);
    void descend(double tolerance, Allowed allowed, const std::vector<Tried>& first, std::optional<Tried>& best);
    void thin_out(std::optional<Tried>& best);

    const Plan& plan_;
    Bytes usable_;
    std::array<std::optional<Result<Hardware>>, dtype_names.size()> hardware_;  ///< no change moves the cluster
    Tried base_;
    Bytes least_;
};

std::optional<Tried> Search::change(const Tried& from, const PlanChange& candidate) {
    auto plan = with_settings(from.plan, candidate.settings);
    if (!plan || plan->layout.global_batch() != plan_.layout.global_batch()) return std::nullopt;
    const auto estimate = estimate_memory(*plan);  // checks the plan
    if (!estimate || estimate->host > most_host / std::max<std::int64_t>(plan_.cluster.gpus_per_node, 1))
        return std::nullopt;
    Tried tried{std::move(*plan), estimate->fullest().total(), estimate->host, {}, from.steps};
    tried.cost = time_of(tried.plan);
    tried.steps.push_back(candidate);
    least_ = std::min(least_, tried.total);
    return tried;
}

std::vector<Tried> Search::changes(const Tried& from, Allowed allowed) {
    std::vector<Tried> all;
    for (const PlanChange& candidate : candidates(from.plan)) {
        if (!allows(allowed, candidate)) continue;
        if (auto tried = change(from, candidate); tried && tried->total < from.total) all.push_back(std::move(*tried));
    }
    return all;
}

/// Takes the change with the most bytes for the time, again and again.
void Search::descend(double tolerance, Allowed allowed, const std::vector<Tried>& first, std::optional<Tried>& best) {
    Tried at = base_;
    for (std::size_t step = 0; step < most_steps; ++step) {
        const auto next = step == 0 ? first : changes(at, allowed);
        const Tried* most = nullptr;
        double most_gain = 0;
        for (const Tried& tried : next) {
            keep(best, tried);
            const auto saved = static_cast<double>(at.total - std::max(tried.total, usable_));
            const double gain = saved / (std::max(slowdown(tried) - slowdown(at), 0.0) + tolerance);
            if (gain > most_gain) {
                most_gain = gain;
                most = &tried;
            }
        }
        if (most == nullptr || fits(*most)) return;
        at = *most;
    }
}

std::optional<Tried> Search::replayed(const std::vector<PlanChange>& steps) {
    Tried tried = base_;
    for (const PlanChange& step : steps) {
        auto next = change(tried, step);
        if (!next) return std::nullopt;
        tried = std::move(*next);
    }
    return tried;
}

/// Leaves out what the others made needless.
void Search::thin_out(std::optional<Tried>& best) {
    for (std::size_t i = 0; best && best->steps.size() > 1 && i < best->steps.size();) {
        auto steps = best->steps;
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
        const auto without = replayed(steps);
        if (without && fits(*without) && price(*without) <= price(*best))
            best = without;
        else
            ++i;
    }
}

std::optional<Tried> Search::cheapest(const std::vector<Tried>& singles, Allowed allowed) {
    std::optional<Tried> best;
    std::vector<Tried> first;
    for (const Tried& single : singles)
        if (allows(allowed, single.steps.front())) first.push_back(single);
    for (const double tolerance : tolerances) descend(tolerance, allowed, first, best);
    thin_out(best);
    return best;
}

std::string key_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

std::vector<std::string> keys_of(const Remedy& remedy) {
    std::vector<std::string> keys;
    for (const std::string& setting : remedy.settings) keys.push_back(key_of(setting));
    return keys;
}

/// The part of a step whose time changes most.
std::string time_words(const StepTime& before, const StepTime& after) {
    std::size_t most = 0;
    const auto change = [&](std::size_t part) { return after.parts[part] - before.parts[part]; };
    for (std::size_t part = 1; part < before.parts.size(); ++part)
        if (std::abs(change(part)) > std::abs(change(most))) most = part;
    const double seconds = change(most);
    if (std::abs(seconds) < 0.0005 * before.total()) return "no time to speak of";
    return fmt::format("{}{} of {} a step for {}", seconds > 0 ? "+" : "−", format_seconds(std::abs(seconds)),
                       format_seconds(before.total()), time_part_names[most]);
}

Remedy remedy_of(const Search& search, const Tried& tried) {
    Remedy remedy;
    remedy.saves = search.base().total - tried.total;
    remedy.total = tried.total;
    remedy.host = std::max<Bytes>(tried.host - search.base().host, 0);
    remedy.slowdown = search.slowdown(tried);
    remedy.fits = search.fits(tried);
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < tried.steps.size(); ++i) {
        const PlanChange& step = tried.steps[i];
        remedy.exact = remedy.exact && step.exact;
        remedy.adapters = remedy.adapters || step.adapters;
        // A later change may set all that this one set.
        std::vector<std::string> last;
        for (const std::string& setting : step.settings) {
            bool again = false;
            for (std::size_t later = i + 1; later < tried.steps.size(); ++later)
                for (const std::string& other : tried.steps[later].settings)
                    again = again || key_of(other) == key_of(setting);
            if (!again) last.push_back(setting);
        }
        if (last.empty()) continue;
        remedy.settings.insert(remedy.settings.end(), last.begin(), last.end());
        remedy.parts.push_back(step.name);
        reasons.push_back(step.reason);
        if (!remedy.source.empty()) remedy.source += "; ";
        remedy.source += step.source;
    }
    remedy.name = fmt::format("{}", fmt::join(remedy.parts, " + "));
    remedy.reason = fmt::format("{} ({})", fmt::join(reasons, "; "), time_words(search.base().cost, tried.cost));
    if (tried.steps.size() == 1) remedy.parts.clear();
    return remedy;
}

/// Bytes for the time, of those that do not fit alone.
double worth(const Remedy& remedy) {
    return static_cast<double>(remedy.saves) / (std::max(remedy.slowdown, 0.0) + 0.01);
}

/// A change that costs no less than an earlier one of the same keys and saves as much says nothing new.
bool is_repeated(const Remedy& remedy, const std::vector<Remedy>& earlier) {
    return std::any_of(earlier.begin(), earlier.end(), [&](const Remedy& other) {
        return other.saves == remedy.saves && other.slowdown <= remedy.slowdown && keys_of(other) == keys_of(remedy);
    });
}

bool comes_first(const Remedy& a, const Remedy& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits ? a.slowdown < b.slowdown : worth(a) > worth(b);
}

}  // namespace

Remedies find_remedies(const Plan& plan, const MemoryEstimate& estimate) {
    Search search(plan, estimate);
    Remedies all;
    all.why = why_words(plan, estimate);
    const auto singles = search.changes(search.base(), Allowed::All);
    for (const Tried& tried : singles)
        if (Remedy remedy = remedy_of(search, tried); !is_repeated(remedy, all.changes))
            all.changes.push_back(std::move(remedy));
    std::stable_sort(all.changes.begin(), all.changes.end(), comes_first);
    if (!estimate.fits()) {
        auto set = search.cheapest(singles, asks_for_adapters(plan) ? Allowed::ExactAndAdapters : Allowed::Exact);
        if (!set) set = search.cheapest(singles, Allowed::All);
        if (set) all.set = remedy_of(search, *set);
    }
    all.least = search.least();
    return all;
}

}  // namespace plimsoll
