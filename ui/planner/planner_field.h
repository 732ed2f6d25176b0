// SPDX-License-Identifier: GPL-3.0-or-later
// What a person may ask of a search over layouts: the fields and check boxes of the Planner page.
#pragma once

#include <array>
#include <QString>
#include <QStringList>
#include <vector>

#include "core/planner/request.h"

namespace plimsoll::ui {

/// Fields that are typed: an amount, or the values that a dimension may take ("any", "1, 2, 4").
enum class PlannerField { GlobalBatch, Headroom, Tokens, Price, Tp, Pp, Cp, Ep, MicroBatch, Chunks };
inline constexpr std::array plannerAmounts{PlannerField::GlobalBatch, PlannerField::Headroom, PlannerField::Tokens,
                                           PlannerField::Price};
inline constexpr std::array plannerDimensions{PlannerField::Tp, PlannerField::Pp,         PlannerField::Cp,
                                              PlannerField::Ep, PlannerField::MicroBatch, PlannerField::Chunks};

QString plannerFieldName(PlannerField field);
QString plannerFieldHelp(PlannerField field);
/// As it stands in the request: "256", "any", "1, 2, 4"; "" for a budget and a price that nobody gave.
QString plannerFieldText(const PlanRequest& request, PlannerField field);
/// Takes what was typed: numbers in the application's locale, "2T" and "15 B" for tokens. The error says what is
/// allowed; the request stays as it was.
Result<void> readPlannerField(PlannerField field, const QString& typed, PlanRequest& request);

/// Choices that are ticked.
enum class PlannerSet { Schedule, ZeroStage, Recompute, Offload, SequenceParallel };
inline constexpr std::array plannerSets{PlannerSet::ZeroStage, PlannerSet::Recompute, PlannerSet::Schedule,
                                        PlannerSet::Offload, PlannerSet::SequenceParallel};

QString plannerSetName(PlannerSet set);
QStringList plannerSetOptions(PlannerSet set);
/// Which options the search may take, one entry an option.
std::vector<bool> plannerSetAllowed(const PlanRequest& request, PlannerSet set);
/// The error says why the search would be left with nothing; the request stays as it was.
Result<void> allowPlannerSet(PlannerSet set, const std::vector<bool>& allowed, PlanRequest& request);

QString objectiveTitle(Objective objective);

}  // namespace plimsoll::ui
