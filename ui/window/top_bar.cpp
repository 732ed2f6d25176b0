// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/top_bar.h"

#include <QAction>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>

#include "ui/plan/plan_model.h"
#include "ui/run/run_controls.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/search_field.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

TopBar::TopBar(PlanModel* model, RunControls* controls, QMenu* menu, QWidget* parent)
    : QWidget(parent),
      model_(model),
      controls_(controls),
      summary_(new ElidedLabel(this)),
      search_(new SearchField(this)) {
    setObjectName(QStringLiteral("TopBar"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Top bar"));
    auto* name = new PlainLabel(QStringLiteral("Plimsoll"), this);
    name->setFont(uiFont(1, true));
    summary_->setProperty("tone", "muted");
    auto* more = new QToolButton(this);
    more->setText(QStringLiteral("☰"));
    more->setProperty("quiet", true);
    more->setAccessibleName(tr("Menu"));
    more->setToolTip(tr("Plan files, theme and help"));
    more->setPopupMode(QToolButton::InstantPopup);
    more->setMenu(menu);
    setTabOrder(more, search_);
    last_ = search_;

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 6, 14, 6);
    row->setSpacing(10);
    row->addWidget(more);
    row->addWidget(name);
    row->addWidget(summary_, 1);
    row->addWidget(search_);
    buttons_ = new QHBoxLayout;
    buttons_->setSpacing(10);
    row->addLayout(buttons_);
    row->addWidget(controls);

    connect(model_, &PlanModel::changed, this, &TopBar::refresh);
    connect(model_, &PlanModel::fileChanged, this, &TopBar::refresh);
    refresh();
}

void TopBar::addButton(QAction* action, const QString& text) {
    auto* button = new QPushButton(text, this);
    button->setAccessibleName(text);
    const auto follow = [button, action] {
        button->setEnabled(action->isEnabled());
        const QString shortcut = action->shortcut().toString(QKeySequence::NativeText);
        button->setToolTip(QStringLiteral("%1 (%2)").arg(action->text(), shortcut));
    };
    follow();
    connect(action, &QAction::changed, button, follow);
    connect(button, &QPushButton::clicked, action, &QAction::trigger);
    buttons_->addWidget(button);
    // Tab follows the reading order: Train comes after the buttons before it.
    setTabOrder(last_, button);
    last_ = button;
    QWidget* before = button;
    for (QWidget* control : controls_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (control->focusPolicy() == Qt::NoFocus) continue;
        setTabOrder(before, control);
        before = control;
    }
}

void TopBar::refresh() {
    const QString file = model_->path().section(QLatin1Char('/'), -1);
    QString text = planSummary(model_->plan());
    if (!file.isEmpty()) text += QStringLiteral(" · ") + file + (model_->isModified() ? tr(", not saved") : QString());
    summary_->setText(text);
    // The label is cut where the window is narrow: its tooltip holds the whole of it.
    const QString place =
        model_->path().isEmpty() ? tr("Not saved to a file yet; the draft is kept by itself") : model_->path();
    summary_->setToolTip(QStringLiteral("%1<br>%2").arg(text.toHtmlEscaped(), place.toHtmlEscaped()));
}

}  // namespace plimsoll::ui
