// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of the plan or of the open run, with reasons and changes. Examined on another thread while a page shows the
// result.
#pragma once

#include <optional>
#include <QObject>
#include <QTimer>

#include "core/doctor/findings/diagnosis.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

class PlanModel;
class RunModel;

class DoctorModel : public QObject {
    Q_OBJECT
public:
    enum class Subject { Plan, Run };

    DoctorModel(PlanModel* plan, RunModel* run, QObject* parent = nullptr);

    /// Nothing is examined while no page shows the result.
    /// A failed run that was opened since comes first, until the person chooses.
    void setWatched(bool watched);
    /// Chooses the subject: the run can be chosen only while a run is open.
    void choose(Subject subject);
    Subject subject() const { return subject_; }
    bool hasRun() const;
    QString runName() const;

    /// The last diagnosis of the subject; nothing before the first.
    const Diagnosis* diagnosis() const { return diagnosis_ ? &*diagnosis_ : nullptr; }
    bool isExamining() const { return examination_.isBusy(); }
    /// Why there is no diagnosis; "" when all is well.
    QString problem() const { return problem_; }

    /// The plan that a change is applied to: the current plan, or the run's own plan if that has another model.
    const Plan& base() const;
    bool takesRunsPlan() const { return &base() != &plan(); }
    /// Whether the change goes with it.
    bool fits(const FindingChange& change) const;
    /// The changed plan becomes the plan, as one step that can be undone.
    void apply(const Finding& finding, const FindingChange& change);

signals:
    void changed();

private:
    const Plan& plan() const;
    void examine();
    void examineSoon();
    void take(Result<Diagnosis> answer);

    PlanModel* plan_;
    RunModel* run_;
    QString offered_;  ///< the failed run that came first by itself
    Background examination_;
    QTimer soon_;
    Subject subject_ = Subject::Plan;
    std::optional<Diagnosis> diagnosis_;
    QString problem_;
    bool watched_ = false;
};

QString severityText(Severity severity);
/// "layout.micro_batch=4" as a person reads it: "Micro-batch 4".
QString settingsText(const FindingChange& change);
/// "2 errors, 1 warning, 3 pieces of advice", or that nothing was found.
QString summaryText(const Diagnosis& diagnosis);

/// Colours of the checklist, "#rrggbb".
struct ChecklistColours {
    QString muted, good, bad;
};
/// The whole checklist as rich text, by group.
QString checklistHtml(const Diagnosis& diagnosis, const ChecklistColours& colours);

}  // namespace plimsoll::ui
