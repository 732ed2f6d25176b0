// SPDX-License-Identifier: GPL-3.0-or-later
// The best layouts for the plan: sought on another thread whenever plan or constraints change, while someone looks.
#pragma once

#include <memory>
#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include "core/planner/planner.h"

namespace plimsoll::ui {

class PlanModel;

/// What seeks. The core's by default.
struct Planner {
    std::function<Result<PlanResult>(const PlanRequest&, const PlanProgress&, const std::atomic<bool>*)> search =
        plan_layouts;
    std::function<std::vector<Neighbour>(const PlanRequest&, const Candidate&)> neighbours = plimsoll::neighbours;
    std::function<std::vector<Recommendation>(const PlanRequest&, const PlanResult&)> recommendations =
        plimsoll::recommendations;
};

/// What a search found, to its request.
struct PlannerAnswer {
    PlanRequest request;
    PlanResult result;
    std::vector<Neighbour> neighbours;  ///< of the best; only once the search has ended
    std::vector<Recommendation> recommendations;
    Bytes usable = 0;    ///< memory of a card, headroom not taken off; 0: no layout
    bool ended = false;  ///< nothing more comes
};

class PlannerModel : public QObject {
    Q_OBJECT
public:
    explicit PlannerModel(PlanModel* plan, QObject* parent = nullptr);
    ~PlannerModel() override;

    /// Another one than the core's; what is sought is sought again.
    void setPlanner(Planner planner);
    /// Nothing is sought while nobody looks.
    void setActive(bool active);

    /// What is asked now, with the plan as it stands.
    PlanRequest request() const;
    /// Changes what is asked; an error of `edit` leaves it.
    Result<void> ask(const std::function<Result<void>(PlanRequest&)>& edit);

    /// The last rows that came; null before the first and while the question has no answer.
    std::shared_ptr<const PlannerAnswer> answer() const { return answer_; }
    /// The answer is to an older question.
    bool isStale() const { return answer_ && stale_; }
    bool isSearching() const { return soon_.isActive() || cancel_ != nullptr; }
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
    void stop();
    void take(int ask, std::shared_ptr<const PlannerAnswer> answer);
    void fail(int ask, const QString& problem);

    PlanModel* plan_;
    Planner planner_;
    PlanRequest asked_;  ///< its plan is that of the last search
    QThreadPool pool_;
    QTimer soon_;
    std::shared_ptr<std::atomic<bool>> cancel_;  ///< of the search that runs
    std::shared_ptr<const PlannerAnswer> answer_;
    QString problem_;
    int asks_ = 0;  ///< counts the searches; only the last one's answers are taken
    bool stale_ = false;
    bool sought_ = false;  ///< the question has been put, answered or not
    bool active_ = false;
};

/// Whether a search for both plans finds the same: they differ in nothing but what is sought, and the name.
bool sameQuestion(const Plan& a, const Plan& b);

}  // namespace plimsoll::ui
