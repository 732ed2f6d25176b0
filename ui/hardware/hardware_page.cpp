// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/hardware/hardware_page.h"

#include <QHeaderView>
#include <QPushButton>

#include "ui/common/value_format.h"
#include "ui/plan/choice_table.h"
#include "ui/plan/plan_model.h"
#include "ui/plan/plan_tables.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/field_row.h"

namespace plimsoll::ui {

HardwarePage::HardwarePage(PlanModel* model, QWidget* parent)
    : Page(tr("Hardware"), parent),
      model_(model),
      gpu_rows_(gpuHeaders(), {1, 2, 3, 4, 5}),
      chosen_rows_({tr("Fact"), tr("Figure")}, {1}),
      machine_rows_({tr("Part"), tr("Amount")}, {1}),
      cluster_(new Card(tr("Cluster"), this)) {
    gpu_rows_.setRows(gpuRows());
    auto* catalogue = new Card(tr("GPUs"), this);
    catalogue->setFact(tr("datasheet figures, dense TFLOP/s"));
    gpus_ = new ChoiceTable(tr("GPU catalogue"), tr("Find a GPU"), &gpu_rows_, catalogue);
    catalogue->body()->addWidget(gpus_, 1);
    addColumn(1)->addWidget(catalogue, 1);

    cluster_->body()->addWidget(
        new FieldForm(model_,
                      {QStringLiteral("cluster.gpus_per_node"), QStringLiteral("cluster.nodes"),
                       QStringLiteral("cluster.usable_gib"), QStringLiteral("cluster.internode_gbs")},
                      cluster_));
    chosen_ = factCard(tr("Selected GPU"), &chosen_rows_);
    Card* machine = factCard(tr("This machine"), &machine_rows_);
    here_ = new QPushButton(probe_.planName(), machine);
    here_->setAccessibleName(here_->text());
    here_->setToolTip(tr("Plain data parallel on what this machine has; model and recipe stay"));
    machine->body()->addWidget(here_, 0, Qt::AlignLeft);
    QVBoxLayout* right = addColumn(0, 360);
    right->addWidget(cluster_);
    right->addWidget(chosen_);
    right->addWidget(machine);
    right->addStretch(1);

    connect(gpus_, &ChoiceTable::chosen, this, [this](const QString& name) {
        model_->endEdit();
        model_->setText(QStringLiteral("cluster.gpu"), name);
        model_->endEdit();
    });
    connect(here_, &QPushButton::clicked, this, [this] { probe_.planFor(*model_); });
    connect(&probe_, &MachineProbe::found, this, [this] {
        machine_rows_.setRows(probe_.rows());
        here_->setText(probe_.planName());
        here_->setAccessibleName(here_->text());
    });
    connect(model_, &PlanModel::changed, this, &HardwarePage::refresh);
    machine_rows_.setRows(probe_.rows());
    probe_.start();
    refresh();
}

Card* HardwarePage::factCard(const QString& title, TextTable* rows) {
    auto* card = new Card(title, this);
    auto* table = new FactTable(title, card);
    table->setModel(rows);
    table->horizontalHeader()->hide();
    table->setStretch(1, 120);
    table->setColumnLimit(0, 128);
    table->setWholeHeight(true);
    table->setSelectionMode(QAbstractItemView::NoSelection);
    card->body()->addWidget(table);
    return card;
}

void HardwarePage::refresh() {
    const Cluster& cluster = model_->plan().cluster;
    cluster_->setFact(cluster.world_size() == 1 ? tr("1 rank")
                      : cluster.nodes == 1      ? tr("%1 ranks").arg(countText(cluster.world_size()))
                                                : tr("%1 × %2 = %3 ranks")
                                                 .arg(countText(cluster.nodes), countText(cluster.gpus_per_node),
                                                      countText(cluster.world_size())));
    chosen_->setFact(QString::fromStdString(cluster.gpu));
    chosen_rows_.setRows(chosenGpuRows(cluster));
    gpus_->setCurrent(QString::fromStdString(cluster.gpu));
}

bool HardwarePage::hasField(const QString& key) const {
    return key == QLatin1String("cluster.gpu") || Page::hasField(key);
}

bool HardwarePage::focusField(const QString& key) {
    if (key != QLatin1String("cluster.gpu")) return Page::focusField(key);
    gpus_->search()->setFocus(Qt::ShortcutFocusReason);
    return true;
}

}  // namespace plimsoll::ui
