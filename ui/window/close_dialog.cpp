// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/close_dialog.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

const QString askKey = QStringLiteral("close/ask");

}  // namespace

bool CloseDialog::wanted() { return QSettings().value(askKey, true).toBool(); }

void CloseDialog::setWanted(bool wanted) { QSettings().setValue(askKey, wanted); }

CloseDialog::CloseDialog(const QString& runName, QWidget* parent)
    : QDialog(parent),
      close_(new QPushButton(tr("Close"), this)),
      stop_(new QPushButton(tr("Stop the run and close"), this)),
      remember_(new QCheckBox(tr("Close without asking from now on"), this)) {
    setWindowTitle(tr("A run is under way"));
    setAccessibleName(windowTitle());
    auto* head = new PlainLabel(tr("The run keeps running in the background."), this);
    head->setFont(uiFont(1, true));
    auto* words = new PlainLabel(
        tr("%1 keeps training and recording. Open Plimsoll again to see it with its whole history.").arg(runName),
        this);
    words->setWordWrap(true);
    words->setTextFormat(Qt::PlainText);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    close_->setProperty("primary", true);
    close_->setDefault(true);
    stop_->setToolTip(tr("The run ends after its current step, with a checkpoint, while the window is closed already"));
    remember_->setToolTip(tr("The menu turns the question on again"));
    for (QAbstractButton* button : {static_cast<QAbstractButton*>(close_), static_cast<QAbstractButton*>(stop_),
                                    static_cast<QAbstractButton*>(cancel), static_cast<QAbstractButton*>(remember_)})
        button->setAccessibleName(button->text());

    auto* buttons = new QHBoxLayout;
    buttons->addWidget(stop_);
    buttons->addStretch(1);
    buttons->addWidget(cancel);
    buttons->addWidget(close_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(head);
    column->addWidget(words);
    column->addWidget(remember_);
    column->addSpacing(6);
    column->addLayout(buttons);
    setMinimumWidth(460);
    close_->setFocus();

    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(close_, &QPushButton::clicked, this, [this] {
        if (remember_->isChecked()) setWanted(false);
        accept();
        emit closeChosen();
    });
    connect(stop_, &QPushButton::clicked, this, [this] {
        accept();
        emit stopChosen();
    });
}

}  // namespace plimsoll::ui
