// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/remedies_panel.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/link_delegate.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int panelHeight = 252;

QLabel* strongLabel(const QString& text, QWidget* parent) {
    auto* label = new PlainLabel(text, parent);
    label->setProperty("strong", true);
    return label;
}

}  // namespace

RemediesPanel::RemediesPanel(PlanModel* plan, QWidget* parent)
    : QFrame(parent),
      plan_(plan),
      model_(plan),
      rows_(remedyHeaders(), {1, 2}),
      why_(new WrapLabel(this)),
      set_title_(strongLabel(tr("The cheapest that makes it fit"), this)),
      set_(new WrapLabel(this)),
      table_title_(strongLabel({}, this)),
      apply_set_(new QPushButton(tr("Apply"), this)),
      table_(new FactTable(tr("Changes that need less memory"), this)) {
    setObjectName(QStringLiteral("Remedies"));
    setAccessibleName(tr("How to make it fit"));
    setFixedHeight(panelHeight);
    table_->setModel(&rows_);
    table_->setStretch(3);
    table_->setColumnLimit(0, 236);
    table_->setColumnLimit(1, 80);
    table_->setColumnLimit(2, 86);
    table_->setColumnLimit(remedyApplyColumn, 60);
    table_->setItemDelegateForColumn(remedyApplyColumn, new LinkDelegate(table_));
    table_->setMouseTracking(true);
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == remedyApplyColumn) applyRow(index.row());
    });
    connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) { applyRow(index.row()); });

    auto* close = new QPushButton(tr("Close"), this);
    close->setProperty("link", true);
    close->setAccessibleName(tr("Close the remedies"));
    connect(close, &QPushButton::clicked, this, &QWidget::hide);
    auto* title = new QHBoxLayout;
    title->addWidget(table_title_);
    title->addStretch(1);
    title->addWidget(close);
    auto* right = new QVBoxLayout;
    right->setSpacing(4);
    right->addLayout(title);
    right->addWidget(table_, 1);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 10, 16, 8);
    row->setSpacing(24);
    row->addWidget(makeWords(), 1);
    row->addLayout(right, 2);
    connect(&model_, &RemediesModel::changed, this, &RemediesPanel::refresh);
    connect(plan_, &PlanModel::changed, this, &RemediesPanel::refresh);
    hide();
}

QWidget* RemediesPanel::makeWords() {
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setAccessibleName(tr("Why"));
    area->setMinimumWidth(300);
    auto* body = new QWidget(area);
    auto* words = new QVBoxLayout(body);
    words->setContentsMargins(0, 0, 8, 0);
    words->setSpacing(4);
    words->addWidget(set_title_);
    words->addWidget(set_);
    apply_set_->setProperty("primary", true);
    apply_set_->setAccessibleName(tr("Apply the cheapest set"));
    connect(apply_set_, &QPushButton::clicked, this, [this] {
        if (const Remedies* found = model_.remedies(); found && found->set) model_.apply(*found->set);
    });
    words->addWidget(apply_set_, 0, Qt::AlignLeft);
    auto* why = strongLabel(tr("Why"), body);
    why->setContentsMargins(0, 6, 0, 0);
    why_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    words->addWidget(why);
    words->addWidget(why_);
    words->addStretch(1);
    area->setWidget(body);
    // setWidget() switches the painted background on.
    body->setAutoFillBackground(false);
    area->viewport()->setAutoFillBackground(false);
    return area;
}

QString RemediesPanel::why() const { return why_->text(); }
QTableView* RemediesPanel::table() const { return table_; }

void RemediesPanel::applyRow(int row) {
    const Remedies* found = model_.remedies();
    if (found && row >= 0 && row < static_cast<int>(found->changes.size()))
        model_.apply(found->changes[static_cast<std::size_t>(row)]);
}

void RemediesPanel::refresh() {
    if (!isVisible()) return;
    const Remedies* found = model_.remedies();
    const bool good = plan_->isGood();
    table_->setEnabled(good);
    apply_set_->setEnabled(good);
    // While the search catches up with the plan, for some milliseconds, the old rows stay and do nothing.
    if (!found) {
        if (!good) why_->setText(tr("The plan is impossible as it stands: the sentence below says what to change."));
        return;
    }
    const bool fits = plan_->numbers().memory->fits();
    why_->setText(QString::fromStdString(found->why));
    table_title_->setText(fits ? tr("What would save more") : tr("What would make it fit"));
    rows_.setRows(remedyRows(*found));
    set_title_->setVisible(!fits);
    set_->setVisible(!fits);
    apply_set_->setVisible(!fits && found->set);
    if (fits) return;
    const Bytes usable = plan_->numbers().memory->usable;
    if (found->set)
        set_->setText(
            QStringLiteral("%1\n%2").arg(QString::fromStdString(found->set->name), remedyWords(*found->set, usable)));
    else
        set_->setText(tr("No set of these makes it fit: with all that helps the fullest rank still needs %1. Take more "
                         "or larger GPUs.")
                          .arg(partOf(found->least, usable)));
}

void RemediesPanel::showEvent(QShowEvent* event) {
    QFrame::showEvent(event);
    model_.setWatched(true);
    refresh();
}

void RemediesPanel::hideEvent(QHideEvent* event) {
    model_.setWatched(false);
    QFrame::hideEvent(event);
}

}  // namespace plimsoll::ui
