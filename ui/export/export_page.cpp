// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/export_page.h"

#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStyledItemDelegate>

#include "ui/export/lint_card.h"
#include "ui/plan/plan_model.h"
#include "ui/widgets/card.h"
#include "ui/widgets/field_row.h"
#include "ui/widgets/wrap_label.h"

namespace plimsoll::ui {

namespace {

/// Rows of one height, with room around the name.
class RoomyRows : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        constexpr int room = 8;
        return {QStyledItemDelegate::sizeHint(option, index).width(), option.fontMetrics.height() + room};
    }
};

}  // namespace

ExportPage::ExportPage(PlanModel* model, QWidget* parent)
    : Page(tr("Export"), parent),
      model_(model),
      targets_(new QListView(this)),
      programs_(new QComboBox(this)),
      release_(new FieldForm(model_, {QStringLiteral("export.deepspeed_release")}, this)),
      text_(new QPlainTextEdit(this)),
      notes_(new WrapLabel(this)),
      file_(new Card(tr("Text"), this)),
      lint_(new LintCard(model, this)),
      copy_(new QPushButton(tr("Copy"), this)),
      save_(new QPushButton(tr("Save as…"), this)) {
    build();
    connect(targets_->selectionModel(), &QItemSelectionModel::currentChanged, this, &ExportPage::refresh);
    connect(programs_, &QComboBox::currentIndexChanged, this, &ExportPage::refresh);
    connect(copy_, &QPushButton::clicked, this, &ExportPage::copy);
    connect(save_, &QPushButton::clicked, this, &ExportPage::askAndSave);
    connect(model_, &PlanModel::changed, this, &ExportPage::refresh);
    connect(lint_, &LintCard::failed, this, &ExportPage::failed);
    targets_->setCurrentIndex(titles_.index(0));
    refresh();
}

void ExportPage::build() {
    QStringList titles;
    for (const ExportChoice& each : exportChoices()) titles.push_back(each.title);
    titles_.setStringList(titles);
    targets_->setModel(&titles_);
    targets_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    targets_->setAccessibleName(tr("Tools to export to"));
    targets_->setItemDelegate(new RoomyRows(targets_));
    targets_->setMinimumHeight(300);
    programs_->addItem(tr("Starts train.py"));
    for (const QString& each : exportPrograms()) programs_->addItem(tr("Starts %1").arg(each), each);
    programs_->setAccessibleName(tr("Program that the launcher starts"));
    copy_->setAccessibleName(tr("Copy the export"));
    save_->setAccessibleName(tr("Save the export"));
    save_->setProperty("primary", true);

    auto* card = new Card(tr("For"), this);
    card->body()->addWidget(targets_, 1);
    card->body()->addWidget(programs_);
    card->body()->addWidget(release_);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(copy_);
    buttons->addWidget(save_);
    buttons->addStretch(1);
    card->body()->addLayout(buttons);

    auto* notes = new Card(tr("To know"), this);
    notes->setFact(tr("what it cannot say, and where to say it"));
    notes_->setTextFormat(Qt::RichText);
    notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    notes_->setAccessibleName(tr("Notes on the export"));
    notes->body()->addWidget(notes_);
    QVBoxLayout* left = addColumn(0, 360);
    left->addWidget(card, 1);
    left->addWidget(notes);

    text_->setReadOnly(true);
    text_->setLineWrapMode(QPlainTextEdit::NoWrap);
    text_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text_->setAccessibleName(tr("The export"));
    file_->body()->addWidget(text_, 1);
    QVBoxLayout* right = addColumn(1);
    right->addWidget(file_, 3);
    right->addWidget(lint_, 2);
}

const ExportChoice& ExportPage::choice() const {
    return exportChoices().at(std::max(targets_->currentIndex().row(), 0));
}

QString ExportPage::program() const { return choice().startsProgram ? programs_->currentData().toString() : QString(); }

QString ExportPage::text() const { return text_->toPlainText(); }

QString ExportPage::notes() const { return notes_->text(); }

void ExportPage::copy() {
    QGuiApplication::clipboard()->setText(text());
    emit done(tr("The export for %1 is on the clipboard.").arg(choice().title));
}

void ExportPage::askAndSave() {
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save the export for %1").arg(choice().title), choice().fileName);
    if (!path.isEmpty()) saveTo(path);
}

bool ExportPage::saveTo(const QString& path) {
    const Result<void> saved = saveExport(*model_, choice(), path, program());
    if (saved)
        emit done(tr("Saved as %1.").arg(path));
    else
        emit failed(QString::fromStdString(saved.error().message));
    return saved.has_value();
}

void ExportPage::refresh() {
    const ExportText exported = exportText(*model_, choice(), program());
    if (text_->toPlainText() != exported.text) text_->setPlainText(exported.text);
    notes_->setText(exported.notes);
    file_->setFact(tr("%1, %2").arg(choice().fileName, exported.fact));
    programs_->setVisible(choice().startsProgram);
    release_->setVisible(choice().name == QStringLiteral("deepspeed"));
    text_->setEnabled(exported.good);
    copy_->setEnabled(exported.good);
    save_->setEnabled(exported.good);
}

}  // namespace plimsoll::ui
