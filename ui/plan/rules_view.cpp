// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/rules_view.h"

#include <QGridLayout>
#include <QLabel>

#include "ui/plan/plan_model.h"
#include "ui/plan/plan_tables.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

enum Column { Name, Rule, Exact, OffBy, Note };

QLabel* labelAt(QGridLayout* grid, int row, int column) {
    QLayoutItem* item = grid->itemAtPosition(row, column);
    return item ? qobject_cast<QLabel*>(item->widget()) : nullptr;
}

}  // namespace

RulesView::RulesView(PlanModel* model, QWidget* parent) : QWidget(parent), model_(model), grid_(new QGridLayout(this)) {
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setHorizontalSpacing(14);
    grid_->setVerticalSpacing(4);
    grid_->setColumnStretch(Name, 1);
    connect(model_, &PlanModel::changed, this, &RulesView::refresh);
    refresh();
}

void RulesView::refresh() {
    const std::optional<MemoryEstimate>& memory = model_->lastGood().memory;
    const QList<TextRow> rules = memory ? ruleRows(*memory) : QList<TextRow>();
    if (rules.size() != shown_) {
        while (QLayoutItem* item = grid_->takeAt(0)) {
            delete item->widget();
            delete item;
        }
        const QStringList headers = ruleHeaders();
        for (int column = Name; column <= OffBy; ++column) {
            auto* header = new PlainLabel(headers.value(column), this);
            header->setProperty("tone", "muted");
            header->setAlignment((column == Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
            grid_->addWidget(header, 0, column);
        }
        for (int i = 0; i < rules.size(); ++i) {
            for (int column = Name; column <= OffBy; ++column) {
                QLabel* label = nullptr;
                if (column == Name)
                    label = new WrapLabel(this);
                else
                    label = new PlainLabel(this);
                label->setAlignment((column == Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignTop);
                grid_->addWidget(label, 1 + 2 * i, column);
            }
            auto* note = new WrapLabel(this);
            note->setProperty("tone", "muted");
            grid_->addWidget(note, 2 + 2 * i, 0, 1, OffBy + 1);
        }
        shown_ = static_cast<int>(rules.size());
    }
    for (int i = 0; i < rules.size(); ++i) {
        const TextRow& rule = rules[i];
        for (int column = Name; column <= OffBy; ++column) {
            QLabel* label = labelAt(grid_, 1 + 2 * i, column);
            label->setText(rule.cells.value(column));
            label->setToolTip(rule.tip);
        }
        QLabel* note = labelAt(grid_, 2 + 2 * i, 0);
        note->setText(rule.cells.value(Note));
        note->setVisible(!note->text().isEmpty());
    }
}

}  // namespace plimsoll::ui
