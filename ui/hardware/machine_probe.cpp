// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/hardware/machine_probe.h"

#include <algorithm>
#include <QLocale>

#include "core/plan/gpu.h"
#include "core/plan/machine.h"
#include "ui/common/escaped_text.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

TextRow factRow(const QString& what, const QString& amount) {
    TextRow row;
    row.cells = {what, amount};
    return row;
}

QString qt(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

void MachineProbe::start() {
    probing_.ask(probe_machine, [this](const Result<Machine>& machine) {
        machine_ = machine ? *machine : Machine();
        if (!machine) machine_->gpu_note = machine.error().message;
        emit found();
    });
}

QList<TextRow> MachineProbe::rows() const {
    if (!machine_) return {factRow(tr("Looking…"), QString())};
    QList<TextRow> rows{factRow(tr("CPU cores"), countText(machine_->cores)),
                        factRow(tr("RAM"), bytesText(machine_->ram)),
                        factRow(tr("RAM free now"), bytesText(machine_->ram_available))};
    for (const LocalGpu& gpu : machine_->gpus) rows.append(factRow(qt(gpu.name), bytesText(gpu.memory)));
    if (machine_->gpus.empty()) {
        TextRow none = factRow(tr("GPUs"), tr("none found"));
        none.tip = qt(machine_->gpu_note);
        rows.append(none);
    }
    return rows;
}

QString MachineProbe::planName() const {
    if (machine_ && !machine_->gpus.empty() && !machine_->gpus.front().catalogue_name.empty())
        return tr("Plan for this machine's GPUs");
    return tr("Plan for this machine's CPU");
}

void MachineProbe::planFor(PlanModel& model) const {
    Plan plan = model.plan();
    Cluster cluster;
    if (machine_ && !machine_->gpus.empty() && !machine_->gpus.front().catalogue_name.empty()) {
        const std::string& name = machine_->gpus.front().catalogue_name;
        cluster.gpu = name;
        cluster.gpus_per_node = std::count_if(machine_->gpus.begin(), machine_->gpus.end(),
                                              [&name](const LocalGpu& gpu) { return gpu.catalogue_name == name; });
    } else if (machine_ && machine_->cores == 1) {
        cluster.gpus_per_node = 1;
    }
    plan.cluster = cluster;
    Layout layout;
    layout.dp = cluster.gpus_per_node;
    layout.micro_batch = plan.layout.micro_batch;
    layout.accumulation = plan.layout.accumulation;
    plan.layout = layout;
    model.replace(plan, planName());
}

QList<TextRow> chosenGpuRows(const Cluster& cluster) {
    if (cluster.on_cpu()) {
        const Result<Bytes> usable = usable_bytes(cluster);
        return {factRow(MachineProbe::tr("Each rank"), MachineProbe::tr("a process on this machine")),
                factRow(MachineProbe::tr("Usable memory per rank"),
                        usable ? bytesText(*usable) : QString::fromStdString(usable.error().message))};
    }
    const Result<Gpu> found = find_gpu(cluster.gpu);
    if (!found) return {factRow(MachineProbe::tr("Not in the catalogue"), qt(found.error().message))};
    const QLocale locale;
    const auto number = [&locale](double value, const QString& unit) {
        return value > 0 ? QStringLiteral("%1 %2").arg(locale.toString(value, 'f', value < 100 ? 1 : 0), unit)
                         : MachineProbe::tr("none");
    };
    const auto flops = QStringLiteral("TFLOP/s");
    QList<TextRow> rows{
        factRow(MachineProbe::tr("Memory"), number(found->memory_gb, QStringLiteral("GB"))),
        factRow(MachineProbe::tr("Usable"),
                bytesText(static_cast<Bytes>(found->usable_gib * static_cast<double>(GiB)))),
        factRow(MachineProbe::tr("Bandwidth"), number(found->memory_gbs, QStringLiteral("GB/s"))),
        factRow(MachineProbe::tr("bf16"), number(found->bf16_tflops, flops)),
        factRow(MachineProbe::tr("fp16"), number(found->fp16_tflops, flops)),
        factRow(MachineProbe::tr("fp8"), number(found->fp8_tflops, flops)),
        factRow(MachineProbe::tr("fp32"), number(found->fp32_tflops, flops)),
        factRow(MachineProbe::tr("NVLink"), number(found->nvlink_gbs, MachineProbe::tr("GB/s bidirectional"))),
        factRow(MachineProbe::tr("Power"), number(found->tdp_watts, QStringLiteral("W")))};
    // A long note would push the figures out of the card: its words are the row's tip.
    if (!found->note.empty()) {
        TextRow note = factRow(MachineProbe::tr("Note"), qt(found->note));
        note.tip = plainTip(qt(found->note));
        rows.append(note);
    }
    return rows;
}

}  // namespace plimsoll::ui
