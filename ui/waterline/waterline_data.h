// SPDX-License-Identifier: GPL-3.0-or-later
// The waterline's content in figures and words, without widgets.
#pragma once

#include <array>
#include <QString>
#include <QStringList>
#include <vector>

#include "ui/plan/plan_numbers.h"

namespace plimsoll::ui {

struct WaterlineBar {
    QString label;  ///< "Stages 1–2"
    QString ranks;  ///< "8 ranks"
    std::array<Bytes, 6> bytes{};
    std::array<QString, 6> details;  ///< rich text: the terms with formula and source
    std::array<QString, 6> spoken;   ///< plain: "Stage 0, parameters, 12.6 GiB"
    Bytes total = 0;
};

/// One bar for each group of equal neighbouring stages, in order. Of more than `most` groups the fullest are kept;
/// `hidden` is the number of the others.
struct WaterlineBars {
    std::vector<WaterlineBar> bars;
    int hidden = 0;
};
WaterlineBars waterlineBars(const MemoryEstimate& memory, int most);

struct Verdict {
    bool fits = false;
    bool risky = false;  ///< fits, but runs out of memory more often than a planned layout may (error_model.h)
    QString headline;    ///< "Fits: 62.8 of 79.2 GiB", "May not fit: 77.1 of 79.1 GiB"
    QString detail;      ///< the dominant terms where the plan does not fit; the headroom where it does
    QString range;       ///< "95 % range 21.2–33.3 GiB · OOM risk 0.4 %"
};
/// The range is that of `framework` on a GPU or on CPU ranks.
Verdict verdictOf(const MemoryEstimate& memory, Framework framework = Framework::Plimsoll, bool onGpu = false);
/// "Plimsoll", "Megatron-LM", …
QString frameworkTitle(Framework framework);

/// Rich text: "step <b>6.42 s</b> · <b>163 k</b> tokens/s · MFU <b>44.1 %</b> · bubble <b>8.6 %</b>".
QString figuresOf(const PlanNumbers& numbers, const Plan& plan);
/// "6,738,415,616 parameters · 1.05 M tokens per step".
QString sizesOf(const PlanNumbers& numbers, const Plan& plan);
/// "model states 100 GiB in total · host RAM 41 GiB per node".
QString statesOf(const MemoryEstimate& memory, const Plan& plan);

/// Settings that the figures do not follow, and what is doubtful about the plan though it fits; a sentence each.
QStringList notesOf(const MemoryEstimate& memory, const Plan& plan);
/// "2 notes"; empty without any.
QString notesTitle(const QStringList& notes);
/// Rich text: the notes, a paragraph each.
QString notesDetails(const QStringList& notes);

QString categoryName(Category category);
/// "Every rank", "Stage 2", "Stages 1–2".
QString stagesLabel(std::size_t first, std::size_t last, std::size_t count);

}  // namespace plimsoll::ui
