// SPDX-License-Identifier: GPL-3.0-or-later
// The dry run of a rank of the plan: `plimsoll dry-run` as a process, and the memory timeline that it writes.
#pragma once

#include <memory>
#include <QObject>
#include <QProcess>
#include <QTemporaryDir>

#include "core/allocator/memory_timeline.h"
#include "core/plan/plan.h"
#include "ui/common/text_table.h"
#include "ui/pipeline/pipeline_words.h"

namespace plimsoll::ui {

class PlanModel;

class DryRunModel : public QObject {
    Q_OBJECT
public:
    explicit DryRunModel(PlanModel* plan, QObject* parent = nullptr);
    ~DryRunModel() override;

    /// The dry run takes the first rank of this pipeline stage.
    void setStage(int stage);
    int stage() const { return stage_; }
    /// Runs the current plan; a dry run that is under way is given up. Nothing happens for an impossible plan.
    void start();
    void cancel();
    /// Starts a run unless the current plan has a timeline already or was refused.
    void startIfStale();

    bool isRunning() const { return process_ != nullptr; }
    /// Timeline of the last run that worked; null before the first.
    std::shared_ptr<const MemoryTimeline> timeline() const { return timeline_; }
    /// Whether the timeline belongs to the current plan and stage.
    bool isFresh() const;
    /// Why the last run failed; "" when the run worked.
    QString problem() const { return problem_; }

    /// The program that is called; at first the `plimsoll` beside the studio.
    void setProgram(const QString& program) { program_ = program; }

signals:
    void changed();

private:
    void finished(int code, QProcess::ExitStatus status);
    void fail(const QString& sentence);
    void giveUp();

    PlanModel* plan_;
    QString program_;
    QTemporaryDir folder_;
    QProcess* process_ = nullptr;
    std::shared_ptr<const MemoryTimeline> timeline_;
    int stage_ = 0;
    Plan asked_, shown_;  ///< plans of the last call and of the timeline
    int asked_stage_ = -1, shown_stage_ = -1;
    QString problem_;
};

/// Rank number of the first rank of a pipeline stage: ranks are ordered tp, cp, dp, pp.
std::int64_t firstRankOf(const Layout& layout, int stage);

/// Layers, op, category, from, blocks, bytes: what stands at the peak, what an op left in one phase over all layers as
/// a row (each layer is in its tip), largest first; of more than `most` rows the rest in one.
QStringList standingHeaders();
QList<TextRow> standingRows(const MemoryTimeline& timeline, int most);
/// Peak, reserved (with the verdict of the allocator on a GPU of `usable` bytes, 0: not known), the closed form of the same rank (0: not known), how far it is off.
QList<Figure> timelineFigures(const MemoryTimeline& timeline, Bytes estimated, Bytes usable = 0);

}  // namespace plimsoll::ui
