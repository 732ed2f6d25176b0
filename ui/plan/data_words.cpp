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

constexpr double manyEpochs = 40;

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
    add(DataWords::tr("Sequences per epoch"), countText(facts.samplesPerEpoch));
    if (batch > 0 && facts.samplesPerEpoch > 0) {
        const double steps = static_cast<double>(facts.samplesPerEpoch) / static_cast<double>(batch);
        add(DataWords::tr("Steps per epoch"), QLocale().toString(steps, 'f', steps < 100 ? 1 : 0));
        const double epochs = static_cast<double>(plan.training.steps) / steps;
        add(DataWords::tr("Epochs in the run"),
            QLocale().toString(epochs, 'f', epochs < 10 ? 2 : (epochs < 100 ? 1 : 0)),
            DataWords::tr("%1 steps × %2 sequences per step").arg(countText(plan.training.steps), countText(batch)));
    }
    return rows;
}

QString dataDoubts(const DataFacts& facts, const Plan& plan) {
    if (!facts.problem.isEmpty() || facts.bytes == 0) return {};
    QStringList doubts;
    if (facts.looksBinary)
        doubts << DataWords::tr("The file does not look like text: the model would learn its bytes.");
    const std::int64_t batch = plan.layout.global_batch();
    if (facts.samplesPerEpoch < batch)
        doubts << DataWords::tr("The text is shorter than one global batch of %1 sequences.").arg(countText(batch));
    const double epochs = facts.samplesPerEpoch > 0 ? static_cast<double>(plan.training.steps * batch) /
                                                          static_cast<double>(facts.samplesPerEpoch)
                                                    : 0;
    // Muennighoff et al. 2023: up to four epochs repeated text is nearly as good as new text, from forty on it adds
    // nothing.
    if (epochs > manyEpochs)
        doubts << DataWords::tr("The run reads the text %1 times: beyond about 40 epochs more steps teach nothing new.")
                      .arg(countText(static_cast<std::int64_t>(epochs)));
    return doubts.join(QLatin1Char(' '));
}

}  // namespace plimsoll::ui
