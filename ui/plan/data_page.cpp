// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/data_page.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFontDatabase>
#include <QHeaderView>
#include <QLabel>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStyle>

#include "ui/plan/data_words.h"
#include "ui/plan/plan_model.h"
#include "ui/widgets/card.h"
#include "ui/widgets/fact_table.h"
#include "ui/widgets/field_row.h"
#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr int typingPauseMs = 350;

}  // namespace

DataPage::DataPage(PlanModel* model, QWidget* parent)
    : Page(tr("Data"), parent), model_(model), facts_({tr("What"), tr("Amount")}, {1}) {
    setAcceptDrops(true);
    makeChoice(addColumn(0, 420));
    makePreview(addColumn(1));
    later_.setSingleShot(true);
    later_.setInterval(typingPauseMs);
    connect(&later_, &QTimer::timeout, this, &DataPage::read);
    connect(model_, &PlanModel::changed, this, [this] {
        if (isVisible()) later_.start();
    });
    connect(&preview_, &DataPreview::changed, this, &DataPage::refresh);
    refresh();
}

void DataPage::makeChoice(QVBoxLayout* column) {
    auto* card = new Card(tr("Text"), this);
    card->setFact(tr("bytes are tokens; or drop a file or folder here"));
    card->body()->addWidget(new FieldForm(model_, {QStringLiteral("data.path")}, card));
    const auto button = [card](const QString& text, const QString& tip) {
        auto* push = new QPushButton(text, card);
        push->setAccessibleName(tip);
        push->setToolTip(tip);
        return push;
    };
    QPushButton* file = button(tr("File…"), tr("Choose a text file"));
    QPushButton* folder = button(tr("Folder…"), tr("Choose a folder: every .txt, .md and .text file below it"));
    QPushButton* bundled = button(tr("King James Bible"), tr("Use the bundled corpus bible-kjv: public domain, 4 MB"));
    auto* buttons = new QHBoxLayout;
    for (QPushButton* push : {file, folder, bundled}) buttons->addWidget(push);
    buttons->addStretch(1);
    card->body()->addLayout(buttons);
    card->body()->addWidget(new FieldForm(
        model_, {QStringLiteral("data.sequence_length"), QStringLiteral("data.validation_fraction")}, card));
    column->addWidget(card);

    auto* facts = new Card(tr("Statistics"), this);
    problem_ = new PlainLabel(facts);
    problem_->setWordWrap(true);
    problem_->setProperty("tone", "bad");
    auto* table = new FactTable(tr("Facts of the text"), facts);
    table->setModel(&facts_);
    table->horizontalHeader()->hide();
    table->setStretch(0);
    table->setWholeHeight(true);
    table->setSelectionMode(QAbstractItemView::NoSelection);
    facts->body()->addWidget(problem_);
    facts->body()->addWidget(table);
    column->addWidget(facts);
    column->addStretch(1);

    connect(file, &QPushButton::clicked, this,
            [this] { usePath(QFileDialog::getOpenFileName(this, tr("Choose a text file"))); });
    connect(folder, &QPushButton::clicked, this,
            [this] { usePath(QFileDialog::getExistingDirectory(this, tr("Choose a folder of text files"))); });
    connect(bundled, &QPushButton::clicked, this, [this] { usePath(QStringLiteral("bible-kjv")); });
}

void DataPage::makePreview(QVBoxLayout* column) {
    text_ = new Card(tr("Preview"), this);
    beginning_ = new QPlainTextEdit(text_);
    beginning_->setReadOnly(true);
    beginning_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    beginning_->setAccessibleName(tr("Beginning of the text"));
    text_->body()->addWidget(beginning_, 1);
    column->addWidget(text_, 1);
}

void DataPage::usePath(const QString& path) {
    if (path.isEmpty()) return;
    model_->endEdit();
    model_->setText(QStringLiteral("data.path"), path);
    model_->endEdit();
    read();
}

void DataPage::read() { preview_.show(model_->plan().data, static_cast<std::uint64_t>(model_->plan().training.seed)); }

void DataPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    read();
}

void DataPage::refresh() {
    const DataFacts& facts = preview_.facts();
    const QString doubts = dataDoubts(facts, model_->plan());
    problem_->setText(preview_.isLoading() ? QString() : facts.problem.isEmpty() ? doubts : facts.problem);
    problem_->setProperty("tone", facts.problem.isEmpty() ? "warn" : "bad");
    problem_->style()->unpolish(problem_);
    problem_->style()->polish(problem_);
    problem_->setVisible(!problem_->text().isEmpty());
    facts_.setRows(dataRows(preview_, model_->plan()));
    text_->setFact(preview_.isLoading() ? tr("reading…") : facts.name);
    if (!preview_.isLoading() && beginning_->toPlainText() != facts.beginning)
        beginning_->setPlainText(facts.beginning);
}

void DataPage::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().size() == 1) event->acceptProposedAction();
}

void DataPage::dropEvent(QDropEvent* event) {
    event->acceptProposedAction();
    usePath(event->mimeData()->urls().constFirst().toLocalFile());
}

}  // namespace plimsoll::ui
