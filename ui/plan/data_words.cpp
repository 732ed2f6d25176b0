// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/data_words.h"

#include <QCoreApplication>
#include <QLocale>

#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct DataWords {
    Q_DECLARE_TR_FUNCTIONS(DataWords)
};

}  // namespace

QList<TextRow> dataRows(const DataPreview& preview, const Plan& plan) {
    const DataFacts& facts = preview.facts();
    if (preview.isLoading() || !facts.problem.isEmpty() || facts.bytes == 0) return {};
    QList<TextRow> rows;
    const auto add = [&rows](const QString& what, const QString& amount, const QString& tip = {}) {
        TextRow row;
        row.cells = {what, amount};
        row.tip = tip;
        rows.append(row);
    };
    const std::int64_t batch = plan.layout.global_batch();
    add(DataWords::tr("Documents"), countText(facts.documents));
    add(DataWords::tr("Tokens"), countText(facts.bytes), bytesText(facts.bytes));
    add(DataWords::tr("Tokens for training"), countText(facts.trainBytes));
    add(DataWords::tr("Tokens for validation"), countText(facts.bytes - facts.trainBytes));
    add(DataWords::tr("Sequences an epoch"), countText(facts.samplesPerEpoch));
    if (batch > 0 && facts.samplesPerEpoch > 0) {
        const double steps = static_cast<double>(facts.samplesPerEpoch) / static_cast<double>(batch);
        add(DataWords::tr("Steps an epoch"), QLocale().toString(steps, 'f', steps < 100 ? 1 : 0));
        const double epochs = static_cast<double>(plan.training.steps) / steps;
        add(DataWords::tr("Epochs in the run"),
            QLocale().toString(epochs, 'f', epochs < 10 ? 2 : (epochs < 100 ? 1 : 0)),
            DataWords::tr("%1 steps × %2 sequences a step").arg(countText(plan.training.steps), countText(batch)));
    }
    return rows;
}

}  // namespace plimsoll::ui
