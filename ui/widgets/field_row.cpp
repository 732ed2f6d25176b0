// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/field_row.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QStyle>
#include <QVBoxLayout>

#include "ui/common/escaped_text.h"
#include "ui/common/field_use.h"
#include "ui/plan/plan_model.h"
#include "ui/widgets/combo_box.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/switch.h"

namespace plimsoll::ui {

namespace {

constexpr int numberWidth = 92;

/// The few values of ZeRO read better from a list than from a number field.
QStringList listedValues(const PlanField& field) {
    if (field.kind == PlanField::Kind::Choice) return field.choices;
    if (field.key == QLatin1String("layout.zero_stage"))
        return {QStringLiteral("0"), QStringLiteral("1"), QStringLiteral("2"), QStringLiteral("3")};
    return {};
}

QString tipOf(const PlanField& field) {
    QString tip = field.help;
    if (!field.allowed.isEmpty()) tip += FieldRow::tr("\nAllowed: %1").arg(field.allowed);
    return plainTip(tip + QStringLiteral("\n") + field.key);
}

}  // namespace

FieldRow::FieldRow(PlanModel* model, const QString& key, QWidget* parent)
    : QWidget(parent), model_(model), problem_(new PlainLabel(this)) {
    if (const PlanField* field = findPlanField(key)) field_ = *field;
    if (const QStringList values = listedValues(field_); !values.isEmpty())
        makeCombo(values, field_.titles.isEmpty() ? values : field_.titles);
    else if (field_.kind == PlanField::Kind::Flag)
        makeSwitch();
    else
        makeLine();
    editor_->setObjectName(field_.key);
    editor_->setAccessibleName(field_.label);
    editor_->setAccessibleDescription(field_.help);
    editor_->setToolTip(tipOf(field_));
    editor_->installEventFilter(this);

    auto* label = new PlainLabel(field_.label, this);
    label->setBuddy(editor_);
    label->setToolTip(tipOf(field_));
    problem_->setProperty("tone", "bad");
    problem_->setWordWrap(true);
    problem_->setVisible(false);
    problem_->setTextFormat(Qt::PlainText);

    const bool wide = field_.kind == PlanField::Kind::Text;
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(label, wide ? 0 : 1);
    row->addWidget(editor_, wide ? 1 : 0);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addLayout(row);
    column->addWidget(problem_);

    connect(model_, &PlanModel::changed, this, &FieldRow::refresh);
    refresh();
}

void FieldRow::makeLine() {
    line_ = new QLineEdit(this);
    editor_ = line_;
    if (field_.kind != PlanField::Kind::Text) {
        line_->setAlignment(Qt::AlignRight);
        line_->setFixedWidth(numberWidth);
    }
    connect(line_, &QLineEdit::textEdited, this, [this](const QString& text) {
        // The text under the cursor stays as typed; every other field follows.
        typing_ = true;
        model_->setText(field_.key, text);
        typing_ = false;
    });
    connect(line_, &QLineEdit::editingFinished, this, [this] {
        model_->endEdit();
        refresh();
    });
}

void FieldRow::makeCombo(const QStringList& values, const QStringList& titles) {
    combo_ = new ComboBox(this);
    editor_ = combo_;
    for (qsizetype i = 0; i < values.size(); ++i) combo_->addItem(titles[i], values[i]);
    combo_->setMinimumWidth(numberWidth);
    connect(combo_, &QComboBox::activated, this, [this] {
        model_->setText(field_.key, combo_->currentData().toString());
        model_->endEdit();
    });
}

void FieldRow::makeSwitch() {
    switch_ = new Switch(this);
    editor_ = switch_;
    connect(switch_, &QCheckBox::clicked, this, [this](bool on) {
        model_->setText(field_.key, on ? QStringLiteral("true") : QStringLiteral("false"));
        model_->endEdit();
    });
}

void FieldRow::focusEditor() {
    use(true);
    editor_->setFocus(Qt::ShortcutFocusReason);
    if (line_) line_->selectAll();
}

void FieldRow::use(bool used) {
    if (used == used_) return;
    used_ = used;
    setVisible(used);
}

void FieldRow::refresh() {
    const QString text = model_->text(field_.key);
    if (line_ && !typing_ && !model_->holdsUnreadable(field_.key)) {
        // While the cursor is in the line, text that already means the value stays as the person wrote it.
        const QString shown = shownText(field_, text);
        const bool stays = line_->hasFocus() && plainText(field_, line_->text()) == text;
        if (!stays && line_->text() != shown) {
            line_->setText(shown);
            // A long text shows its beginning.
            if (!line_->hasFocus()) line_->setCursorPosition(0);
        }
    }
    if (combo_) combo_->setCurrentIndex(combo_->findData(text));
    if (switch_) switch_->setChecked(text == QLatin1String("true"));

    const QString problem = model_->problemOf(field_.key);
    // A field does not vanish while it is edited.
    use(isUsed(field_.key, model_->plan()) || !problem.isEmpty() || editor_->hasFocus());
    if (problem == problem_->text()) return;
    problem_->setText(problem);
    problem_->setVisible(!problem.isEmpty());
    editor_->setProperty("invalid", !problem.isEmpty());
    editor_->setAccessibleDescription(problem.isEmpty() ? field_.help : problem);
    editor_->style()->unpolish(editor_);
    editor_->style()->polish(editor_);
}

void FieldRow::step(int by) {
    bool ok = false;
    const qlonglong value = plainText(field_, line_->text()).toLongLong(&ok);
    if (!ok) return;
    model_->setText(field_.key, QString::number(value + by));
    refresh();
    line_->selectAll();
}

bool FieldRow::eventFilter(QObject* watched, QEvent* event) {
    if (line_ && watched == line_) {
        if (event->type() == QEvent::ShortcutOverride) {
            // Undo and redo belong to the plan, not to the line.
            auto* key = static_cast<QKeyEvent*>(event);
            if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
                event->ignore();
                return true;
            }
        }
        if (event->type() == QEvent::KeyPress && field_.kind == PlanField::Kind::Integer) {
            const int key = static_cast<QKeyEvent*>(event)->key();
            if (key == Qt::Key_Up || key == Qt::Key_Down) {
                step(key == Qt::Key_Up ? 1 : -1);
                return true;
            }
        }
    }
    return QWidget::eventFilter(watched, event);
}

FieldForm::FieldForm(PlanModel* model, const QStringList& keys, QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    for (const QString& key : keys) column->addWidget(new FieldRow(model, key, this));
}

}  // namespace plimsoll::ui
