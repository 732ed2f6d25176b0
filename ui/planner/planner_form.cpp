// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_form.h"

#include <QGridLayout>
#include <QStyle>

#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/planner/planner_model.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/card.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/switch.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

constexpr int numberWidth = 92;

WrapLabel* problemLabel(QWidget* parent) {
    auto* label = new WrapLabel(parent);
    label->setProperty("tone", "bad");
    label->hide();
    return label;
}

void addRow(const QString& name, QWidget* editor, Card* card) {
    auto* label = new PlainLabel(name, card);
    label->setBuddy(editor);
    label->setToolTip(editor->toolTip());
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(label, 1);
    row->addWidget(editor);
    card->body()->addLayout(row);
}

/// The number of check boxes side by side for which their texts leave room.
int columnsOf(PlannerSet set) {
    switch (set) {
        case PlannerSet::ZeroStage:
            return 4;
        case PlannerSet::Offload:
            return 3;
        default:
            return 2;
    }
}

}  // namespace

PlannerForm::PlannerForm(PlannerModel* model, QWidget* parent)
    : QWidget(parent),
      model_(model),
      objective_(new ComboBox(this)),
      fewer_(new Switch(this)),
      sequence_(new PlainLabel(this)),
      set_problem_(problemLabel(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(12);
    auto* goal = new Card(tr("Goal"), this);
    makeGoal(goal);
    auto* dimensions = new Card(tr("Search space"), this);
    for (const PlannerField field : plannerDimensions) addField(field, dimensions);
    auto* sets = new Card(tr("Allowed features"), this);
    for (const PlannerSet set : plannerSets) addSet(set, sets);
    sets->body()->addWidget(set_problem_);
    for (Card* card : {goal, dimensions, sets}) column->addWidget(card);
    connect(model_, &PlannerModel::requestChanged, this, &PlannerForm::refresh);
    connect(model_, &PlannerModel::changed, this, &PlannerForm::refresh);
    refresh();
}

void PlannerForm::makeGoal(Card* card) {
    objective_->setAccessibleName(tr("Objective"));
    objective_->setToolTip(tr("What the best layout is best in"));
    for (std::size_t i = 0; i < objective_names.size(); ++i)
        objective_->addItem(objectiveTitle(static_cast<Objective>(i)));
    connect(objective_, &QComboBox::activated, this, [this](int index) {
        (void)model_->ask([index](PlanRequest& request) {
            request.objective = static_cast<Objective>(index);
            return Result<void>();
        });
    });
    addRow(tr("Objective"), objective_, card);
    for (const PlannerField field : plannerAmounts) addField(field, card);
    sequence_->setProperty("tone", "muted");
    sequence_->setToolTip(tr("Of the Recipe page: a longer one needs more memory and fewer steps"));
    addRow(tr("Sequence length"), sequence_, card);
    fewer_->setAccessibleName(tr("Also fewer GPUs"));
    fewer_->setToolTip(tr("Plans for parts of the cluster as well; fewest GPUs and lowest cost always do"));
    connect(fewer_, &QCheckBox::clicked, this, [this](bool on) {
        (void)model_->ask([on](PlanRequest& request) {
            request.fewer_gpus = on;
            return Result<void>();
        });
    });
    addRow(tr("Also fewer GPUs"), fewer_, card);
}

void PlannerForm::addField(PlannerField field, Card* card) {
    auto* line = new QLineEdit(this);
    line->setAlignment(Qt::AlignRight);
    line->setFixedWidth(numberWidth);
    line->setAccessibleName(plannerFieldName(field));
    line->setToolTip(plannerFieldHelp(field));
    if (field == PlannerField::Tokens || field == PlannerField::Price) line->setPlaceholderText(tr("none"));
    if (field == PlannerField::HostMemory) line->setPlaceholderText(tr("no limit"));
    if (field == PlannerField::Headroom) line->setPlaceholderText(tr("0 %"));
    addRow(plannerFieldName(field), line, card);
    QLabel* problem = problemLabel(this);
    card->body()->addWidget(problem);
    lines_.insert(field, {line, problem});
    connect(line, &QLineEdit::textEdited, this, [this, field](const QString& typed) { read(field, typed); });
    connect(line, &QLineEdit::editingFinished, this, &PlannerForm::refresh);
}

void PlannerForm::addSet(PlannerSet set, Card* card) {
    auto* name = new PlainLabel(plannerSetName(set), card);
    name->setProperty("tone", "muted");
    card->body()->addWidget(name);
    auto* grid = new QGridLayout;
    grid->setContentsMargins(0, 0, 0, 4);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    const QStringList options = plannerSetOptions(set);
    const int columns = columnsOf(set);
    for (int i = 0; i < options.size(); ++i) {
        auto* box = new QCheckBox(options[i], card);
        box->setAccessibleName(QStringLiteral("%1: %2").arg(plannerSetName(set), options[i]));
        connect(box, &QCheckBox::clicked, this, [this, set] { allow(set); });
        grid->addWidget(box, i / columns, i % columns);
        options_[set].append(box);
    }
    for (int i = 0; i < columns; ++i) grid->setColumnStretch(i, 1);
    card->body()->addLayout(grid);
}

QString PlannerForm::problem(PlannerField field) const { return lines_.value(field).problem->text(); }
void PlannerForm::read(PlannerField field, const QString& typed) {
    const Result<void> done =
        model_->ask([field, &typed](PlanRequest& request) { return readPlannerField(field, typed, request); });
    const Line& line = lines_[field];
    line.problem->setText(done ? QString() : inWords(done.error().message));
    line.problem->setVisible(!done);
    line.line->setProperty("invalid", !done);
    line.line->style()->unpolish(line.line);
    line.line->style()->polish(line.line);
}

void PlannerForm::allow(PlannerSet set) {
    std::vector<bool> allowed;
    for (const QCheckBox* box : std::as_const(options_[set])) allowed.push_back(box->isChecked());
    const Result<void> done =
        model_->ask([set, &allowed](PlanRequest& request) { return allowPlannerSet(set, allowed, request); });
    set_problem_->setText(done ? QString() : inWords(done.error().message));
    set_problem_->setVisible(!done);
    if (!done) refresh();
}

void PlannerForm::refresh() {
    const PlanRequest request = model_->request();
    objective_->setCurrentIndex(static_cast<int>(request.objective));
    fewer_->setChecked(request.fewer_gpus);
    sequence_->setText(countText(request.plan.data.sequence_length));
    for (auto it = lines_.cbegin(); it != lines_.cend(); ++it) {
        // Text that is being typed, or that could not be read, stays as the person wrote it.
        if (it->line->hasFocus() || !it->problem->text().isEmpty()) continue;
        const QString text = plannerFieldText(request, it.key());
        if (it->line->text() != text) it->line->setText(text);
    }
    lines_[PlannerField::GlobalBatch].line->setPlaceholderText(countText(request.plan.layout.global_batch()));
    for (auto it = options_.cbegin(); it != options_.cend(); ++it) {
        const std::vector<bool> allowed = plannerSetAllowed(request, it.key());
        for (int i = 0; i < it->size(); ++i) (*it)[i]->setChecked(allowed[static_cast<std::size_t>(i)]);
    }
}

}  // namespace plimsoll::ui
