// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/more_steps_dialog.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QRadioButton>
#include <QVBoxLayout>

#include "core/control/lr_extension.h"
#include "core/run/continued_run.h"
#include "ui/common/escaped_text.h"
#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/run/rate_curve.h"
#include "ui/widgets/curve_view.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

struct Way {
    LrExtension how;
    const char* title;
    const char* help;
};

constexpr std::array allWays{
    Way{LrExtension::Constant, QT_TRANSLATE_NOOP("MoreStepsDialog", "Keep the rate that was reached"),
        QT_TRANSLATE_NOOP("MoreStepsDialog", "The added steps have the learning rate of the last planned step")},
    Way{LrExtension::Rewarm, QT_TRANSLATE_NOOP("MoreStepsDialog", "Warm up again, then decay"),
        QT_TRANSLATE_NOOP("MoreStepsDialog", "The schedule runs once more over the added steps")},
    Way{LrExtension::Stretch, QT_TRANSLATE_NOOP("MoreStepsDialog", "Stretch the schedule over all steps"),
        QT_TRANSLATE_NOOP("MoreStepsDialog",
                          "As if all steps had been planned from the start: the rate jumps up now")}};

}  // namespace

MoreStepsDialog::MoreStepsDialog(const QString& runName, const Plan& recorded, std::int64_t done, QWidget* parent)
    : QDialog(parent),
      recorded_(recorded),
      done_(done),
      steps_(new QLineEdit(this)),
      ways_(new QButtonGroup(this)),
      curve_(new CurveView(tr("Learning rate"), this)),
      sentence_(new WrapLabel(this)),
      go_(new QPushButton(tr("Continue the run"), this)) {
    setWindowTitle(tr("Continue with more steps"));
    setAccessibleName(windowTitle());
    auto* head = new PlainLabel(tr("Continue %1 with more steps").arg(runName), this);
    head->setFont(uiFont(1, true));
    auto* label = new PlainLabel(tr("Steps in total"), this);
    steps_->setAccessibleName(label->text());
    steps_->setText(QLocale().toString(qlonglong{2 * recorded.training.steps}));
    steps_->setMaximumWidth(140);
    sentence_->setProperty("tone", "muted");
    curve_->setMinimumHeight(120);
    go_->setProperty("primary", true);
    go_->setDefault(true);
    go_->setAccessibleName(go_->text());
    auto* cancel = new QPushButton(tr("Cancel"), this);
    cancel->setAccessibleName(cancel->text());

    auto* row = new QHBoxLayout;
    row->addWidget(label);
    row->addWidget(steps_);
    row->addStretch(1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(head);
    column->addLayout(row);
    column->addWidget(new PlainLabel(tr("Learning rate"), this));
    for (const Way& each : allWays) {
        auto* button = new QRadioButton(tr(each.title), this);
        button->setAccessibleName(button->text());
        button->setToolTip(plainTip(tr(each.help)));
        ways_->addButton(button, static_cast<int>(each.how));
        column->addWidget(button);
    }
    ways_->button(static_cast<int>(LrExtension::Constant))->setChecked(true);
    column->addWidget(curve_);
    column->addWidget(sentence_);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    buttons->addWidget(go_);
    column->addLayout(buttons);
    setMinimumWidth(460);

    connect(steps_, &QLineEdit::textChanged, this, &MoreStepsDialog::refresh);
    connect(ways_, &QButtonGroup::idClicked, this, &MoreStepsDialog::refresh);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(go_, &QPushButton::clicked, this, [this] {
        accept();
        emit chosen(wantedSteps(), way());
    });
    steps_->selectAll();
    steps_->setFocus();
    refresh();
}

std::int64_t MoreStepsDialog::wantedSteps() const {
    const PlanField* field = findPlanField(QStringLiteral("training.steps"));
    bool read = false;
    const qlonglong steps = (field ? plainText(*field, steps_->text()) : steps_->text()).toLongLong(&read);
    return read && steps <= 1'000'000'000 ? steps : 0;
}

LrExtension MoreStepsDialog::way() const { return static_cast<LrExtension>(ways_->checkedId()); }

void MoreStepsDialog::refresh() {
    const std::int64_t steps = wantedSteps(), before = recorded_.training.steps;
    const bool more = steps > before;
    go_->setEnabled(more);
    if (!more) {
        sentence_->setText(tr("The run was planned for %1 steps: give more than that.").arg(countText(before)));
        return;
    }
    const Plan plan = with_more_steps(recorded_, steps, way());
    const RateCurve curve = rateCurve(plan);
    curve_->setCurve(curve.points, curve.top, curve.bottom, curve.start, curve.end);
    const auto jump = rate_jump(recorded_, plan, done_);
    sentence_->setText(
        jump ? tr("Step %1 gets a learning rate of %2; without more steps it would have been %3.")
                   .arg(countText(done_ + 1), scientific(jump->after, 2), scientific(jump->before, 2))
             : tr("%1 steps are added behind step %2.").arg(countText(steps - before), countText(before)));
}

}  // namespace plimsoll::ui
