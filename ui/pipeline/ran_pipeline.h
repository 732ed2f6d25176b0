// SPDX-License-Identifier: GPL-3.0-or-later
// A run's pipeline as it happened beside what was predicted: read on another thread, followed while the run is live.
#pragma once

#include <memory>
#include <QObject>
#include <QTimer>

#include "core/run/measured_pipeline.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

/// Times in milliseconds.
struct RanPipeline {
    std::uint64_t step = 0;
    bool live = false;
    std::shared_ptr<const Pipeline> measured;
    std::shared_ptr<const Pipeline> fromOwnTimes;  ///< the schedule, simulated with what its operations took on average
    std::shared_ptr<const Pipeline> fromModel;     ///< by the step-time model; null: see modelProblem
    QString modelProblem;
};

struct RunChoice {
    QString path, name;
    bool operator==(const RunChoice&) const = default;
};

class RanPipelineModel : public QObject {
    Q_OBJECT
public:
    explicit RanPipelineModel(QObject* parent = nullptr);

    /// Nothing is read while the page is hidden.
    void setActive(bool active);
    /// Runs of the store with several pipeline stages, newest first.
    const QList<RunChoice>& runs() const { return runs_; }
    /// By path; "": none.
    void choose(const QString& path);
    const QString& chosen() const { return chosen_; }
    std::shared_ptr<const RanPipeline> shown() const { return shown_; }
    /// Why the chosen run cannot be shown.
    const QString& problem() const { return problem_; }

signals:
    void runsChanged();
    void changed();

private:
    struct Tail;
    struct Reading;
    void listRuns();
    void read();

    Background listing_;
    Background reading_;
    QTimer again_;
    QList<RunChoice> runs_;
    QString chosen_;
    std::shared_ptr<Tail> tail_;  ///< touched by the thread of `reading_` alone, once it is made
    std::shared_ptr<const RanPipeline> shown_;
    QString problem_;
    bool active_ = false;
};

/// "Step 20 took 41.2 ms with 18.3 % bubble; predicted 39.8 ms with 16.1 %: 3.4 % longer."
QString ranWords(const RanPipeline& ran, const Pipeline& predicted);
/// Rich text: an operation as it ran and as it was predicted.
QString ranOpWords(const Pipeline& measured, const Pipeline& predicted, int rank, std::size_t index);

}  // namespace plimsoll::ui
