// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/lint_card.h"

#include <QFileDialog>
#include <QFontDatabase>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextBrowser>

#include "ui/export/lint_text.h"
#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

LintCard::LintCard(PlanModel* model, QWidget* parent)
    : Card(tr("Check a DeepSpeed config"), parent),
      model_(model),
      config_(new QPlainTextEdit(this)),
      findings_(new QTextBrowser(this)) {
    auto* open = new QPushButton(tr("Open…"), this);
    open->setAccessibleName(tr("Open a DeepSpeed config to check"));
    addToTitle(open);
    config_->setPlaceholderText(tr("Paste a DeepSpeed config here, or open one."));
    config_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    config_->setLineWrapMode(QPlainTextEdit::NoWrap);
    config_->setTabChangesFocus(true);
    config_->setAccessibleName(tr("DeepSpeed config to check"));
    findings_->setAccessibleName(tr("What is wrong with the config"));
    findings_->setOpenLinks(false);
    auto* sides = new QHBoxLayout;
    sides->addWidget(config_, 1);
    sides->addWidget(findings_, 1);
    body()->addLayout(sides, 1);

    connect(open, &QPushButton::clicked, this, &LintCard::askAndOpen);
    connect(config_, &QPlainTextEdit::textChanged, this, &LintCard::refresh);
    connect(model_, &PlanModel::changed, this, &LintCard::refresh);
    refresh();
}

QString LintCard::findings() const { return findings_->toPlainText(); }

void LintCard::askAndOpen() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a DeepSpeed config"), QString(),
                                                      tr("JSON (*.json);;All files (*)"));
    if (!path.isEmpty()) open(path);
}

bool LintCard::open(const QString& path) {
    const Result<QString> text = readConfig(path);
    if (text)
        config_->setPlainText(*text);
    else
        emit failed(QString::fromStdString(text.error().message));
    return text.has_value();
}

void LintCard::refresh() {
    const LintText lint = lintText(config_->toPlainText(), model_->plan());
    findings_->setHtml(lint.findings);
    setFact(lint.verdict.isEmpty() ? tr("before it is launched, on the plan's ranks") : lint.verdict);
}

}  // namespace plimsoll::ui
