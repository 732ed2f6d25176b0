// SPDX-License-Identifier: GPL-3.0-or-later
// The fields and check boxes with which a person restricts a search over layouts on the Planner page.
#pragma once

#include <array>
#include <QString>
#include <QStringList>
#include <vector>

#include "core/planner/request.h"

namespace plimsoll::ui {

/// Fields that are typed: an amount, or the values that a dimension may take ("any", "1, 2, 4").
enum class PlannerField {
    GlobalBatch,
    FitProbability,
    HostMemory,
    Headroom,
    Tokens,
    Price,
    Tp,
    Pp,
    Cp,
    Ep,
    MicroBatch,
    Chunks
};
inline constexpr std::array plannerAmounts{PlannerField::GlobalBatch, PlannerField::FitProbability,
                                           PlannerField::HostMemory,  PlannerField::Headroom,
                                           PlannerField::Tokens,      PlannerField::Price};
inline constexpr std::array plannerDimensions{PlannerField::Tp, PlannerField::Pp,         PlannerField::Cp,
                                              PlannerField::Ep, PlannerField::MicroBatch, PlannerField::Chunks};

QString plannerFieldName(PlannerField field);
QString plannerFieldHelp(PlannerField field);
/// The request's value as text: "256", "any", "1, 2, 4"; "" for a budget or price that was not given.
QString plannerFieldText(const PlanRequest& request, PlannerField field);
/// Reads typed text into the request: numbers in the application's locale, "2T" and "15 B" for tokens. On an error,
/// which says what is allowed, the request stays unchanged.
Result<void> readPlannerField(PlannerField field, const QString& typed, PlanRequest& request);

/// Choices with check boxes.
enum class PlannerSet { Schedule, ZeroStage, Recompute, Offload, SequenceParallel };
inline constexpr std::array plannerSets{PlannerSet::ZeroStage, PlannerSet::Recompute, PlannerSet::Schedule,
                                        PlannerSet::Offload, PlannerSet::SequenceParallel};

QString plannerSetName(PlannerSet set);
QStringList plannerSetOptions(PlannerSet set);
/// Which options the search may take, one entry an option.
std::vector<bool> plannerSetAllowed(const PlanRequest& request, PlannerSet set);
/// On an error, which says why the search would have no layouts left, the request stays unchanged.
Result<void> allowPlannerSet(PlannerSet set, const std::vector<bool>& allowed, PlanRequest& request);

QString objectiveTitle(Objective objective);

}  // namespace plimsoll::ui
