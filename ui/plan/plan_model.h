// SPDX-License-Identifier: GPL-3.0-or-later
// The plan that is being edited: each edit is one undoable step, and everything computed from the plan follows at once.
#pragma once

#include <memory>
#include <QHash>
#include <QList>
#include <QObject>
#include <QUndoStack>

#include "core/plan/plan.h"
#include "ui/plan/plan_numbers.h"

namespace plimsoll::ui {

/// The state that a step of the undo stack restores.
struct PlanState {
    Plan plan;
    QString path;                        ///< file it belongs to; "" for a new plan
    std::shared_ptr<const Plan> saved;   ///< as in that file; null when never saved
    std::shared_ptr<const Plan> opened;  ///< as the person found it; without edits nothing is lost by leaving it
};

struct FieldProblem {
    QString key;  ///< may be empty
    QString sentence;
};

class PlanModel : public QObject {
    Q_OBJECT
public:
    /// Starts with the preset "cpu-demo".
    explicit PlanModel(QObject* parent = nullptr);

    const Plan& plan() const { return state_.plan; }
    QUndoStack* undoStack() { return &undo_; }

    /// A field's value, free of any locale.
    QString text(const QString& key) const { return texts_.value(key); }
    /// Takes what a person typed. What cannot be read stays out of the plan and becomes the field's problem. Edits of
    /// the same field merge into one step until endEdit(). A changed number of ranks or of tensor, pipeline or context
    /// parallel ranks takes data parallel along where it divides, and accumulation so that the global batch stays; where
    /// it cannot stay, noticed() says so. A name that described the plan goes along with its model and hardware.
    void setText(const QString& key, const QString& typed);
    /// The next edit is a step of its own.
    void endEdit();
    /// The whole plan, as one step named `what`.
    void replace(const Plan& plan, const QString& what);
    /// The same for a layout of other ranks: data parallel goes along where it divides.
    void relayout(Plan plan, const QString& what);
    /// The model by preset name. Where the person has chosen nothing but model and hardware since the demo, the plan
    /// becomes one to train that model (core/estimate/training_plan.h) and planned() says so; else the rest stays.
    void usePreset(const QString& name);

    /// The framework whose memory is estimated: a view of the plan, not a part of the plan.
    Framework framework() const { return framework_; }
    void setFramework(Framework framework);

    /// Numbers of the current plan, even if the plan is impossible.
    const PlanNumbers& numbers() const { return numbers_; }
    /// Numbers of the last possible plan; without memory if the opened plan was never possible.
    const PlanNumbers& lastGood() const { return last_good_; }
    /// No field holds unreadable text and the plan is possible.
    bool isGood() const { return typed_.isEmpty() && numbers_.possible(); }
    /// All problems: fields with unreadable text first.
    const QList<FieldProblem>& problems() const { return problems_; }
    QString problemOf(const QString& key) const;
    /// The unreadable text of a field, while the field shows it.
    bool holdsUnreadable(const QString& key) const { return typed_.contains(key); }

    QString path() const { return state_.path; }
    bool isModified() const;
    /// Whether edits would be lost if another plan took this one's place: since it was opened, or saved.
    bool hasEdits() const;
    /// A plan file or a preset's name. The error says what is wrong; the plan stays.
    Result<void> open(const QString& pathOrPreset);
    /// Another plan, which belongs to no file: a lesson's, or one that goes on from a run.
    void openNew(const Plan& plan, const QString& what);
    Result<void> saveTo(const QString& path);
    /// The state that a draft brings back, without a step.
    void restore(const PlanState& state);
    const PlanState& state() const { return state_; }

    /// Notes of the last open(): keys of the file that are kept but not used.
    QStringList notes() const { return notes_; }

signals:
    /// The plan, a problem or a computed number changed.
    void changed();
    void fileChanged();  ///< path or modified
    /// A plan was opened: what was said about the one before no longer counts.
    void planOpened();
    /// Hardware, layout and recipe followed the chosen model or GPUs; a sentence with what was planned.
    void planned(const QString& sentence);
    /// What the last edit changed beside its field, in a sentence; "" when that no longer holds.
    void noticed(const QString& sentence);

private:
    friend class PlanEdit;
    bool planAlong(Plan& edited, const QString& key);
    void beginRanks(const QString& key, Plan& edited);
    void pushOpened(PlanState state, const QString& what);
    void push(Plan next, const QString& what, const QString& mergeKey = {});
    void apply(const PlanState& state, bool file);
    void forgetTyped();
    void recompute();
    void gatherProblems();
    void announce();

    PlanState state_;
    QUndoStack undo_;
    QHash<QString, QString> texts_;
    QHash<QString, QString> typed_;  ///< sentence by key, of text that is not in the plan
    QList<FieldProblem> problems_;
    PlanNumbers numbers_;
    PlanNumbers last_good_;
    QStringList notes_;
    Framework framework_ = Framework::Plimsoll;
    QList<Plan> automatic_;  ///< plans in which only model and hardware are the person's choice
    int edit_ = 0;
    Plan ranks_from_;  ///< the plan before the edit of the number of ranks that is being typed
    QString ranks_key_;
    int ranks_edit_ = -1;
};

/// "llama-13b on 32 × A100 SXM4 80GB".
QString planSummary(const Plan& plan);

}  // namespace plimsoll::ui
