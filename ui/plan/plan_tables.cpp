// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_tables.h"

#include <QCoreApplication>
#include <QLocale>

#include <cmath>

#include "core/base/units.h"
#include "core/plan/gpu.h"
#include "core/plan/presets.h"
#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct PlanTables {
    Q_DECLARE_TR_FUNCTIONS(PlanTables)
};

QString qt(const std::string& text) { return QString::fromStdString(text); }
QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

TextRow countRow(const QString& name, std::int64_t count, std::int64_t total, const QString& tip = {}) {
    TextRow row;
    const double share = total > 0 ? static_cast<double>(count) / static_cast<double>(total) : 0;
    row.cells = {name, countText(count), percentText(share)};
    row.tip = tip;
    return row;
}

}  // namespace

QStringList parameterHeaders() {
    return {PlanTables::tr("Part"), PlanTables::tr("Parameters"), PlanTables::tr("Share")};
}

QList<TextRow> parameterRows(const Model& model, const ParameterCounts& counts) {
    QList<TextRow> rows;
    const std::int64_t layers = model.num_layers;
    const auto add = [&](const QString& name, std::int64_t count, const QString& tip = {}) {
        if (count > 0) rows.append(countRow(name, count, counts.total, tip));
    };
    add(PlanTables::tr("Input embedding"), counts.input_embedding, PlanTables::tr("vocabulary × hidden size"));
    add(PlanTables::tr("Positions"), counts.positions);
    const QString times = PlanTables::tr("%1 layers × %2");
    const auto tip = [&](std::int64_t one) { return times.arg(countText(layers), countText(one)); };
    add(PlanTables::tr("Attention, %1 layers").arg(countText(layers)), counts.attention * layers,
        tip(counts.attention));
    add(model.moe() ? PlanTables::tr("Experts and routers, %1 layers").arg(countText(layers))
                    : PlanTables::tr("MLP, %1 layers").arg(countText(layers)),
        counts.mlp * layers, tip(counts.mlp));
    add(PlanTables::tr("Norms, %1 layers").arg(countText(layers)), counts.norms * layers, tip(counts.norms));
    add(PlanTables::tr("Cross-attention, %1 layers").arg(countText(layers)), counts.cross_attention * layers,
        tip(counts.cross_attention));
    add(PlanTables::tr("Encoder, %1 layers").arg(countText(layers)), counts.encoder_layer * layers,
        tip(counts.encoder_layer));
    add(PlanTables::tr("Final norm"), counts.final_norm);
    if (model.tied_head)
        rows.append({{PlanTables::tr("Output head"), PlanTables::tr("tied"), QStringLiteral("–")},
                     PlanTables::tr("The head shares the input embedding and is counted once."),
                     {},
                     false,
                     {}});
    add(PlanTables::tr("Output head"), counts.output_head, PlanTables::tr("vocabulary × hidden size"));
    TextRow total = countRow(PlanTables::tr("Total"), counts.total, counts.total);
    total.strong = true;
    rows.append(total);
    return rows;
}

QList<ParameterShare> parameterShares(const Model& model, const ParameterCounts& counts) {
    using Part = ParameterShare::Part;
    const std::int64_t layers = model.num_layers;
    QList<ParameterShare> shares;
    const auto add = [&](Part part, const QString& name, std::int64_t count) {
        if (count > 0) shares.append({part, name, count});
    };
    add(Part::Embedding, PlanTables::tr("Embedding"), counts.input_embedding + counts.positions);
    add(Part::Attention, PlanTables::tr("Attention"), (counts.attention + counts.cross_attention) * layers);
    add(Part::Mlp, model.moe() ? PlanTables::tr("Experts and routers") : PlanTables::tr("MLP"), counts.mlp * layers);
    add(Part::Norms, PlanTables::tr("Norms"), counts.norms * layers + counts.final_norm);
    add(Part::Encoder, PlanTables::tr("Encoder"), counts.encoder_layer * layers);
    add(Part::Head, PlanTables::tr("Output head"), counts.output_head);
    return shares;
}

QStringList termHeaders() {
    return {PlanTables::tr("Term"), PlanTables::tr("Bytes"), PlanTables::tr("Formula"), PlanTables::tr("Source")};
}

QList<TextRow> termRows(const RankMemory& stage) {
    QList<TextRow> rows;
    const auto total = static_cast<double>(stage.total());
    for (const Term& term : stage.terms) {
        TextRow row;
        const double share = total > 0 ? static_cast<double>(term.bytes) / total : 0;
        row.cells = {qt(term.name), bytesText(term.bytes), qt(term.formula), qt(term.source)};
        row.tip =
            QStringLiteral("<p style='margin:0'><b>%1</b> · %2 · %3</p><p style='margin:4px 0 0 0'>%4<br><i>%5</i></p>")
                .arg(qt(term.name).toHtmlEscaped(), PlanTables::tr("%1 bytes").arg(countText(term.bytes)),
                     percentText(share), qt(term.formula).toHtmlEscaped(), qt(term.source).toHtmlEscaped());
        row.name = qt(term.key);
        rows.append(row);
    }
    TextRow sum;
    sum.cells = {PlanTables::tr("Total"), bytesText(stage.total()), QString(), QString()};
    sum.tip = PlanTables::tr("%1 bytes").arg(countText(stage.total()));
    sum.strong = true;
    rows.append(sum);
    return rows;
}

QStringList recomputeHeaders() {
    return {PlanTables::tr("Recompute"), PlanTables::tr("Activations"), PlanTables::tr("Total per rank")};
}

QList<TextRow> recomputeRows(const RankMemory& stage, Recompute current) {
    QList<TextRow> rows;
    const auto now = static_cast<std::size_t>(current);
    const Bytes others = stage.total() - stage.activations_by_recompute[now];
    for (std::size_t i = 0; i < recompute_names.size(); ++i) {
        const Bytes activations = stage.activations_by_recompute[i];
        TextRow row;
        row.cells = {qt(recompute_names[i]), bytesText(activations), bytesText(others + activations)};
        row.name = qt(recompute_names[i]);
        row.strong = i == now;
        row.tip = i == now ? PlanTables::tr("As planned") : PlanTables::tr("Double-click to plan it");
        rows.append(row);
    }
    return rows;
}

QStringList ruleHeaders() {
    return {PlanTables::tr("Rule of thumb"), PlanTables::tr("Rule"), PlanTables::tr("Exact"), PlanTables::tr("Error"),
            PlanTables::tr("Where it misleads")};
}

QList<TextRow> ruleRows(const MemoryEstimate& memory) {
    QList<TextRow> rows;
    for (const RuleOfThumb& rule : memory.rules) {
        TextRow row;
        QString off = QStringLiteral("–");
        if (rule.exact > 0) {
            const double share = static_cast<double>(rule.rule - rule.exact) / static_cast<double>(rule.exact);
            off = (share >= 0 ? QStringLiteral("+") : QStringLiteral("−")) + percentText(std::abs(share));
        }
        row.cells = {qt(rule.name), bytesText(rule.rule), bytesText(rule.exact), off, qt(rule.note)};
        row.tip =
            QStringLiteral(
                "<p style='margin:0'><b>%1</b></p><p style='margin:4px 0 0 0'>%2</p><p style='margin:4px 0 0 0'>%3</p>")
                .arg(qt(rule.name).toHtmlEscaped(), qt(rule.formula).toHtmlEscaped(), qt(rule.note).toHtmlEscaped());
        rows.append(row);
    }
    return rows;
}

QStringList presetHeaders() {
    return {PlanTables::tr("Preset"), PlanTables::tr("Parameters"), PlanTables::tr("Layers"), PlanTables::tr("Hidden"),
            PlanTables::tr("Sequence")};
}

QList<TextRow> presetRows() {
    QList<TextRow> rows;
    for (const std::string& name : model_preset_names()) {
        const Result<Model> model = model_preset(name);
        if (!model) continue;
        const std::int64_t total = count_parameters(*model).total;
        TextRow row;
        row.cells = {qt(name), QString::fromStdString(format_short(static_cast<double>(total))),
                     countText(model->num_layers), countText(model->hidden_size), countText(model->max_position)};
        row.tip = PlanTables::tr("%1: %2 parameters").arg(qt(model->name), countText(total));
        row.name = qt(name);
        row.sort = {QVariant(), qlonglong{total}, qlonglong{model->num_layers}, qlonglong{model->hidden_size},
                    qlonglong{model->max_position}};
        rows.append(row);
    }
    return rows;
}

QStringList gpuHeaders() {
    return {PlanTables::tr("GPU"),  PlanTables::tr("Memory"),       PlanTables::tr("Usable"),
            PlanTables::tr("GB/s"), PlanTables::tr("bf16 TFLOP/s"), PlanTables::tr("NVLink GB/s")};
}

QList<TextRow> gpuRows() {
    QList<TextRow> rows;
    TextRow cpu;
    cpu.cells = {PlanTables::tr("CPU ranks on this machine"),
                 QStringLiteral("–"),
                 QStringLiteral("–"),
                 QStringLiteral("–"),
                 QStringLiteral("–"),
                 QStringLiteral("–")};
    cpu.name = QStringLiteral("cpu");
    cpu.tip = PlanTables::tr("Each rank is a process here; they share the machine's RAM.");
    cpu.sort = {QStringLiteral(" cpu"), 0.0, 0.0, 0.0, 0.0, 0.0};
    rows.append(cpu);
    const QLocale locale;
    const auto number = [&locale](double value, int digits) {
        return value > 0 ? locale.toString(value, 'f', digits) : QStringLiteral("–");
    };
    for (const Gpu& gpu : gpu_catalogue()) {
        TextRow row;
        row.cells = {qt(gpu.name),
                     PlanTables::tr("%1 GB").arg(number(gpu.memory_gb, 0)),
                     bytesText(static_cast<Bytes>(gpu.usable_gib * static_cast<double>(GiB))),
                     number(gpu.memory_gbs, 0),
                     number(gpu.bf16_tflops, 0),
                     number(gpu.nvlink_gbs, 0)};
        row.tip = gpu.note.empty() ? qt(gpu.vendor) : qt(gpu.vendor + ": " + gpu.note);
        row.name = qt(gpu.name);
        row.sort = {QVariant(), gpu.memory_gb, gpu.usable_gib, gpu.memory_gbs, gpu.bf16_tflops, gpu.nvlink_gbs};
        rows.append(row);
    }
    return rows;
}

}  // namespace plimsoll::ui
