// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the plan pages' tables: parameters by part, memory by term, rules of thumb, the catalogues.
#pragma once

#include "ui/common/text_table.h"
#include "ui/plan/plan_numbers.h"

namespace plimsoll::ui {

/// Part, parameters, share.
QStringList parameterHeaders();
QList<TextRow> parameterRows(const Model& model, const ParameterCounts& counts);

/// Parameters of a part of the model over all layers; the parts add up to the whole model.
struct ParameterShare {
    enum class Part { Embedding, Attention, Mlp, Norms, Encoder, Head };
    Part part = Part::Embedding;
    QString name;
    std::int64_t count = 0;
};
/// The parts with parameters, in the order of Part.
QList<ParameterShare> parameterShares(const Model& model, const ParameterCounts& counts);

/// Term, bytes, formula, source, for one stage; the total comes last.
QStringList termHeaders();
QList<TextRow> termRows(const RankMemory& stage);

/// Activations of one stage without, with selective, with full recomputation, and the rank's total in each.
QStringList recomputeHeaders();
QList<TextRow> recomputeRows(const RankMemory& stage, Recompute current);

/// Rule, its figure, the exact figure, note.
QStringList ruleHeaders();
QList<TextRow> ruleRows(const MemoryEstimate& memory);

/// Preset, parameters, layers, hidden size, longest sequence; the row's name is the preset's.
QStringList presetHeaders();
QList<TextRow> presetRows();

/// Name, memory, bandwidth, bf16 TFLOP/s, NVLink; the row's name is the GPU's, first "cpu".
QStringList gpuHeaders();
QList<TextRow> gpuRows();

}  // namespace plimsoll::ui
