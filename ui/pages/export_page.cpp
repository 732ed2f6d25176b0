// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/export_page.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>

#include "ui/models/export_text.h"
#include "ui/models/plan_model.h"
#include "ui/widgets/card.h"
#include "ui/widgets/field_row.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

ExportPage::ExportPage(PlanModel* model, QWidget* parent)
    : Page(tr("Export"), parent),
      model_(model),
      text_(new QPlainTextEdit(this)),
      notes_(new WrapLabel(this)),
      file_(new Card(tr("ds.json"), this)),
      copy_(new QPushButton(tr("Copy"), this)),
      save_(new QPushButton(tr("Save…"), this)) {
    auto* card = new Card(tr("DeepSpeed"), this);
    card->body()->addWidget(new FieldForm(model_, {QStringLiteral("export.deepspeed_release")}, card));
    copy_->setAccessibleName(tr("Copy the DeepSpeed config"));
    save_->setAccessibleName(tr("Save the DeepSpeed config"));
    save_->setProperty("primary", true);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(copy_);
    buttons->addWidget(save_);
    buttons->addStretch(1);
    card->body()->addLayout(buttons);

    auto* notes = new Card(tr("To know"), this);
    notes->setFact(tr("what the file cannot say"));
    notes_->setTextFormat(Qt::RichText);
    notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    notes_->setAccessibleName(tr("Notes on the export"));
    notes->body()->addWidget(notes_);
    QVBoxLayout* left = addColumn(0, 420);
    left->addWidget(card);
    left->addWidget(notes);
    left->addStretch(1);

    text_->setReadOnly(true);
    text_->setLineWrapMode(QPlainTextEdit::NoWrap);
    text_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text_->setAccessibleName(tr("DeepSpeed config"));
    file_->body()->addWidget(text_, 1);
    addColumn(1)->addWidget(file_, 1);

    connect(copy_, &QPushButton::clicked, this, &ExportPage::copy);
    connect(save_, &QPushButton::clicked, this, &ExportPage::askAndSave);
    connect(model_, &PlanModel::changed, this, &ExportPage::refresh);
    refresh();
}

QString ExportPage::text() const { return text_->toPlainText(); }

void ExportPage::copy() {
    QGuiApplication::clipboard()->setText(text());
    emit done(tr("The DeepSpeed config is on the clipboard."));
}

void ExportPage::askAndSave() {
    const QString path = QFileDialog::getSaveFileName(this, tr("Save the DeepSpeed config"), QStringLiteral("ds.json"),
                                                      tr("JSON (*.json)"));
    if (!path.isEmpty()) saveTo(path);
}

bool ExportPage::saveTo(const QString& path) {
    const Result<void> saved = saveDeepSpeed(*model_, path);
    if (saved)
        emit done(tr("Saved as %1.").arg(path));
    else
        emit failed(QString::fromStdString(saved.error().message));
    return saved.has_value();
}

void ExportPage::refresh() {
    const ExportText exported = exportText(*model_);
    if (text_->toPlainText() != exported.json) text_->setPlainText(exported.json);
    notes_->setText(exported.notes);
    file_->setFact(exported.fact);
    text_->setEnabled(exported.good);
    copy_->setEnabled(exported.good);
    save_->setEnabled(exported.good);
}

}  // namespace plimsoll::ui
