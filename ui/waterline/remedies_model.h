// SPDX-License-Identifier: GPL-3.0-or-later
// Why the plan does or does not fit, and changes that need less memory: searched on another thread after each edit,
// while a panel shows them.
#pragma once

#include <optional>
#include <QObject>

#include "core/remedies/remedies.h"
#include "ui/common/background.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

class PlanModel;

class RemediesModel : public QObject {
    Q_OBJECT
public:
    explicit RemediesModel(PlanModel* plan, QObject* parent = nullptr);

    /// Nothing is searched while no panel shows the result.
    void setWatched(bool watched);
    /// Remedies of the current plan; nothing during a search or while the plan is impossible.
    const Remedies* remedies() const;
    /// Changes the plan as one step that can be undone. Nothing happens when the plan has changed since the remedies
    /// were found.
    void apply(const Remedy& remedy);

signals:
    void changed();

private:
    void seek();

    PlanModel* plan_;
    Background search_;
    std::optional<Remedies> found_;
    Plan of_;  ///< the plan that the remedies are for
    bool watched_ = false;
};

/// Change, saves, step time, then, and a word to click.
QStringList remedyHeaders();
QList<TextRow> remedyRows(const Remedies& remedies);
/// "+32.4 %", "none", "−1.2 %".
QString stepTimeText(double slowdown);
/// "saves 80 GiB, step time +0.9 %, then 73.5 of 79.1 GiB".
QString remedyWords(const Remedy& remedy, Bytes usable);
inline constexpr int remedyApplyColumn = 4;

}  // namespace plimsoll::ui
