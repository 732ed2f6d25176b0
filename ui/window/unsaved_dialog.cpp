// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/unsaved_dialog.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

UnsavedDialog::UnsavedDialog(const QString& plan, QWidget* parent)
    : QDialog(parent),
      save_(new QPushButton(tr("Save…"), this)),
      discard_(new QPushButton(tr("Discard"), this)),
      cancel_(new QPushButton(tr("Cancel"), this)) {
    setWindowTitle(tr("Unsaved changes"));
    setAccessibleName(windowTitle());
    auto* head = new PlainLabel(tr("Save the changes to this plan first?"), this);
    head->setFont(uiFont(1, true));
    auto* words =
        new PlainLabel(tr("%1 has changes that no file holds. Undo brings a discarded plan back until Plimsoll "
                          "is closed.")
                           .arg(plan),
                       this);
    words->setWordWrap(true);
    save_->setProperty("primary", true);
    save_->setDefault(true);
    for (QPushButton* button : {save_, discard_, cancel_}) button->setAccessibleName(button->text());
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(discard_);
    buttons->addStretch(1);
    buttons->addWidget(cancel_);
    buttons->addWidget(save_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(head);
    column->addWidget(words);
    column->addSpacing(6);
    column->addLayout(buttons);
    setMinimumWidth(460);
    save_->setFocus();
    connect(cancel_, &QPushButton::clicked, this, &QDialog::reject);
    connect(save_, &QPushButton::clicked, this, [this] {
        accept();
        emit saveChosen();
    });
    connect(discard_, &QPushButton::clicked, this, [this] {
        accept();
        emit discardChosen();
    });
}

}  // namespace plimsoll::ui
