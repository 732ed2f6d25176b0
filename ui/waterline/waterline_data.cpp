// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/waterline_data.h"

#include <algorithm>
#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "core/frameworks/error_model.h"
#include "ui/common/escaped_text.h"
#include "ui/common/mid_sentence.h"
#include "ui/common/value_format.h"
#include "ui/waterline/time_parts.h"

namespace plimsoll::ui {

namespace {

struct Waterline {
    Q_DECLARE_TR_FUNCTIONS(Waterline)
};

bool alike(const RankMemory& a, const RankMemory& b) {
    if (a.terms.size() != b.terms.size()) return false;
    return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), [](const Term& x, const Term& y) {
        return x.bytes == y.bytes && x.category == y.category && x.key == y.key;
    });
}

QString detailsOf(const RankMemory& stage, Category category, const QString& label) {
    QString text = QStringLiteral("<p style='margin:0'><b>%1</b> · %2 · %3</p>")
                       .arg(categoryName(category).toHtmlEscaped(), bytesText(stage.of(category)), label);
    for (const Term& term : stage.terms) {
        if (term.category != category || term.bytes == 0) continue;
        text += QStringLiteral("<p style='margin:6px 0 0 0'>%1 · %2<br>%3<br><i>%4</i></p>")
                    .arg(escapedText(term.name), bytesText(term.bytes), escapedText(term.formula),
                         escapedText(term.source));
    }
    return text;
}

WaterlineBar barOf(const RankMemory& stage, std::int64_t ranks, const QString& label) {
    WaterlineBar bar;
    bar.label = label;
    bar.ranks = ranks == 1 ? Waterline::tr("1 rank") : Waterline::tr("%1 ranks").arg(countText(ranks));
    bar.total = stage.total();
    for (std::size_t i = 0; i < bar.bytes.size(); ++i) {
        const auto category = static_cast<Category>(i);
        bar.bytes[i] = stage.of(category);
        bar.details[i] = detailsOf(stage, category, label);
        bar.spoken[i] = Waterline::tr("%1, %2: %3").arg(label, categoryName(category), bytesText(bar.bytes[i]));
    }
    return bar;
}

}  // namespace

QString categoryName(Category category) {
    switch (category) {
        case Category::Parameters:
            return Waterline::tr("Parameters");
        case Category::Gradients:
            return Waterline::tr("Gradients");
        case Category::Optimizer:
            return Waterline::tr("Optimizer states + fp32 weights");
        case Category::Activations:
            return Waterline::tr("Activations");
        case Category::Buffers:
            return Waterline::tr("Buffers, logits");
        case Category::Overhead:
            return Waterline::tr("CUDA, NCCL, fragmentation");
    }
    return {};
}

QString stagesLabel(std::size_t first, std::size_t last, std::size_t count) {
    if (count == 1) return Waterline::tr("Every rank");
    if (first == 0 && last + 1 == count) return Waterline::tr("All %1 stages").arg(count);
    if (first == last) return Waterline::tr("Stage %1").arg(first);
    return Waterline::tr("Stages %1–%2").arg(first).arg(last);
}

WaterlineBars waterlineBars(const MemoryEstimate& memory, int most) {
    WaterlineBars all;
    for (std::size_t first = 0; first < memory.stages.size();) {
        std::size_t last = first;
        std::int64_t ranks = memory.stages[first].ranks;
        while (last + 1 < memory.stages.size() && alike(memory.stages[first], memory.stages[last + 1]))
            ranks += memory.stages[++last].ranks;
        all.bars.push_back(barOf(memory.stages[first], ranks, stagesLabel(first, last, memory.stages.size())));
        first = last + 1;
    }
    const auto limit = static_cast<std::size_t>(std::max(most, 1));
    if (all.bars.size() <= limit) return all;

    std::vector<Bytes> totals;
    for (const WaterlineBar& bar : all.bars) totals.push_back(bar.total);
    std::nth_element(totals.begin(), totals.begin() + static_cast<std::ptrdiff_t>(limit - 1), totals.end(),
                     std::greater<>());
    const Bytes least = totals[limit - 1];
    WaterlineBars kept;
    for (WaterlineBar& bar : all.bars)
        if (bar.total >= least && kept.bars.size() < limit) kept.bars.push_back(std::move(bar));
    kept.hidden = static_cast<int>(totals.size() - kept.bars.size());
    return kept;
}

QString frameworkTitle(Framework framework) {
    const std::string_view title = profile_of(framework).title;
    return QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size()));
}

namespace {

QString rangeText(Bytes low, Bytes high) { return Waterline::tr("%1–%2").arg(inUnitOf(low, high), bytesText(high)); }

QString rangeOf(Bytes total, Bytes usable, Framework framework, bool onGpu) {
    const Interval interval = interval_of(framework, total, onGpu);
    const double probability = out_of_memory_probability(framework, total, usable, onGpu);
    const QString odds = probability < 0.001   ? Waterline::tr("under 0.1 %")
                         : probability > 0.999 ? Waterline::tr("over 99.9 %")
                                               : percentText(probability);
    return Waterline::tr("95 % range %1 · OOM risk %2").arg(rangeText(interval.low, interval.high), odds);
}

}  // namespace

Verdict verdictOf(const MemoryEstimate& memory, Framework framework, bool onGpu) {
    const RankMemory& fullest = memory.fullest();
    const Bytes total = fullest.total();
    Verdict verdict;
    verdict.fits = memory.fits();
    verdict.range = rangeOf(total, memory.usable, framework, onGpu);
    const QString amount = partOf(total, memory.usable);
    if (verdict.fits) {
        const double risk = out_of_memory_probability(framework, total, memory.usable, onGpu);
        verdict.risky = risk > 1 - default_fit_probability;
        verdict.headline =
            verdict.risky ? Waterline::tr("May not fit: %1").arg(amount) : Waterline::tr("Fits: %1").arg(amount);
        verdict.detail = Waterline::tr("%1 of headroom on the most loaded rank").arg(bytesText(memory.usable - total));
        return verdict;
    }
    verdict.headline = Waterline::tr("Does not fit: %1").arg(amount);
    std::size_t largest = 0;
    for (std::size_t i = 1; i < category_names.size(); ++i)
        if (fullest.of(static_cast<Category>(i)) > fullest.of(static_cast<Category>(largest))) largest = i;
    const auto category = static_cast<Category>(largest);
    const double share = static_cast<double>(fullest.of(category)) / static_cast<double>(total);
    verdict.detail =
        Waterline::tr("over by %1 · mostly %2, %3")
            .arg(bytesText(total - memory.usable), midSentence(categoryName(category)), percentText(share));
    return verdict;
}

QString figuresOf(const PlanNumbers& numbers, const Plan& plan) {
    QStringList parts;
    if (numbers.step) parts << stepWords(*numbers.step);
    if (plan.layout.pp > 1 && numbers.pipeline)
        parts << Waterline::tr("bubble <b>%1</b> (simulated)").arg(percentText(numbers.pipeline->timeline.bubble));
    return parts.join(QStringLiteral(" · "));
}

QString sizesOf(const PlanNumbers& numbers, const Plan& plan) {
    const std::int64_t tokens = plan.layout.global_batch() * plan.data.sequence_length;
    return Waterline::tr("%1 parameters · %2 tokens per step")
        .arg(countText(numbers.counts.total), formatValue(ValueKind::Short, static_cast<double>(tokens)));
}

QString statesOf(const MemoryEstimate& memory, const Plan& plan) {
    Bytes states = 0;
    for (const RankMemory& stage : memory.stages)
        states += stage.ranks *
                  (stage.of(Category::Parameters) + stage.of(Category::Gradients) + stage.of(Category::Optimizer));
    QString text = Waterline::tr("model states %1 in total").arg(bytesText(states));
    if (memory.host > 0)
        text += Waterline::tr(" · host RAM %1 per node").arg(bytesText(memory.host * plan.cluster.gpus_per_node));
    return text;
}

QStringList notesOf(const MemoryEstimate& memory, const Plan& plan) {
    QStringList notes;
    for (const std::string& note : memory.notes) notes.append(QString::fromStdString(note));
    if (plan.data.sequence_length > plan.model.max_position)
        notes.append(Waterline::tr("The sequence of %1 tokens is longer than the %2 positions of %3: rotary positions "
                                   "beyond them were never trained.")
                         .arg(countText(plan.data.sequence_length), countText(plan.model.max_position),
                              QString::fromStdString(plan.model.name)));
    return notes;
}

QString notesTitle(const QStringList& notes) {
    if (notes.isEmpty()) return {};
    return notes.size() == 1 ? Waterline::tr("1 note") : Waterline::tr("%1 notes").arg(notes.size());
}

QString notesDetails(const QStringList& notes) {
    QString text;
    for (const QString& note : notes)
        text += QStringLiteral("<p style='margin:0 0 6px 0'>%1</p>").arg(note.toHtmlEscaped());
    return text;
}

}  // namespace plimsoll::ui
