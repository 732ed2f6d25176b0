// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/misfit_dialog.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

MisfitDialog::MisfitDialog(const QString& need, QWidget* parent)
    : QDialog(parent),
      remedies_(new QPushButton(tr("How to make it fit"), this)),
      train_(new QPushButton(tr("Train anyway"), this)),
      cancel_(new QPushButton(tr("Cancel"), this)) {
    setWindowTitle(tr("The plan does not fit"));
    setAccessibleName(windowTitle());
    auto* head = new PlainLabel(tr("The plan needs %1 per rank").arg(need), this);
    head->setFont(uiFont(1, true));
    auto* words = new PlainLabel(
        tr("The run will most likely end with an out-of-memory error in its first step, and slow down everything else on "
           "this machine until then."),
        this);
    words->setWordWrap(true);
    remedies_->setProperty("primary", true);
    remedies_->setDefault(true);
    for (QPushButton* button : {remedies_, train_, cancel_}) button->setAccessibleName(button->text());
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(train_);
    buttons->addStretch(1);
    buttons->addWidget(cancel_);
    buttons->addWidget(remedies_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(head);
    column->addWidget(words);
    column->addSpacing(6);
    column->addLayout(buttons);
    setMinimumWidth(460);
    remedies_->setFocus();
    connect(cancel_, &QPushButton::clicked, this, &QDialog::reject);
    connect(remedies_, &QPushButton::clicked, this, [this] {
        accept();
        emit remediesChosen();
    });
    connect(train_, &QPushButton::clicked, this, [this] {
        accept();
        emit trainChosen();
    });
}

}  // namespace plimsoll::ui
