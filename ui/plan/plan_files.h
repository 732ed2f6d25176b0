// SPDX-License-Identifier: GPL-3.0-or-later
// The unsaved draft and the list of recent plan files, in the XDG state folder.
#pragma once

#include <QObject>
#include <QStringList>
#include <QTimer>

#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

/// $XDG_STATE_HOME/plimsoll, or ~/.local/state/plimsoll.
QString stateFolder();

class PlanFiles : public QObject {
    Q_OBJECT
public:
    /// Saves the model's plan as the draft a moment after each edit.
    explicit PlanFiles(PlanModel* model, QObject* parent = nullptr);
    ~PlanFiles() override;

    /// Restores the draft; false when there is none. A draft that cannot be read is an error: it is renamed, and the
    /// model's plan stays.
    Result<bool> restoreDraft();
    /// Saves the draft at once, e.g. before the window closes.
    Result<void> saveDraft();

    Result<void> open(const QString& pathOrPreset);
    /// `path` gets ".json" where its last part has no ending.
    Result<void> save(const QString& path);
    /// For a plan that takes the draft's place: where the draft has edits that no file holds, they are kept as a plan
    /// file of its own, which recent() lists. Its path, or "" when there was nothing to keep.
    QString keepDraftAside();

    /// "llama-7b-on-4-a100.json": a name for the plan's file.
    static QString suggestedName(const Plan& plan);

    /// Newest first; missing files are left out.
    QStringList recent() const;

signals:
    void draftFailed(const QString& sentence);  ///< emitted once until saving works again

private:
    void remember(const QString& path);

    PlanModel* model_;
    QTimer timer_;
    bool failing_ = false;
};

}  // namespace plimsoll::ui
