// SPDX-License-Identifier: GPL-3.0-or-later
// The best layouts for the plan: searched on another thread whenever plan or constraints change, while a page shows
// them.
#pragma once

#include <memory>
#include <QObject>
#include <QTimer>

#include "core/planner/neighbours.h"
#include "core/planner/planner.h"
#include "core/planner/recommendations.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

class PlanModel;

/// The search function; the core's by default.
struct Planner {
    std::function<Result<PlanResult>(const PlanRequest&, const PlanProgress&, const std::atomic<bool>*)> search =
        plan_layouts;
    std::function<std::vector<Neighbour>(const PlanRequest&, const Candidate&)> neighbours = plimsoll::neighbours;
    std::function<std::vector<Recommendation>(const PlanRequest&, const PlanResult&)> recommendations =
        plimsoll::recommendations;
};

/// The result of a search, with the request.
struct PlannerAnswer {
    PlanRequest request;
    PlanResult result;
    std::vector<Neighbour> neighbours;  ///< of the best; only once the search has ended
    std::vector<Recommendation> recommendations;
    Bytes usable = 0;    ///< memory of a GPU, headroom not subtracted; 0: no layout
    bool ended = false;  ///< nothing more comes
};

class PlannerModel : public QObject {
    Q_OBJECT
public:
    explicit PlannerModel(PlanModel* plan, QObject* parent = nullptr);

    /// Sets another search function than the core's and searches again.
    void setPlanner(Planner planner);
    /// Nothing is searched while no page shows the result.
    void setActive(bool active);

    /// The current request, with the current plan, under the framework whose memory the waterline shows.
    PlanRequest request() const;
    /// Changes the request; an error of `edit` leaves the request unchanged.
    Result<void> ask(const std::function<Result<void>(PlanRequest&)>& edit);

    /// The last rows that arrived; null before the first rows and while the request has no answer.
    std::shared_ptr<const PlannerAnswer> answer() const { return answer_; }
    /// The answer is to an older question.
    bool isStale() const { return answer_ && stale_; }
    bool isSearching() const { return soon_.isActive() || search_.isBusy(); }
    /// Why there is no answer.
    const QString& problem() const { return problem_; }

    /// The plan with the candidate's GPUs and layout, and everything else as it stands.
    Plan planWith(const Candidate& candidate) const;
    /// Takes a layout, and its GPUs, as one step that can be undone. Nothing happens while the answer is stale.
    void apply(const Candidate& candidate);
    void apply(const Relaxation& relaxation);

signals:
    void requestChanged();
    void changed();

private:
    void planChanged();
    void seekSoon();
    void seek();
    void take(std::shared_ptr<const PlannerAnswer> answer);
    void fail(const QString& problem);

    PlanModel* plan_;
    Planner planner_;
    PlanRequest asked_;  ///< its plan is that of the last search
    Background search_;
    QTimer soon_;
    std::shared_ptr<const PlannerAnswer> answer_;
    QString problem_;
    bool stale_ = false;
    bool sought_ = false;  ///< the request has been sent, answered or not
    bool active_ = false;
};

/// Whether a search for both plans finds the same: they differ in nothing but what is sought, and the name.
bool sameQuestion(const Plan& a, const Plan& b);

}  // namespace plimsoll::ui
