// SPDX-License-Identifier: GPL-3.0-or-later
// A DeepSpeed config, pasted or opened, beside the problems found in it.
#pragma once

#include "ui/widgets/card.h"

class QPlainTextEdit;
class QTextBrowser;

namespace plimsoll::ui {

class PlanModel;

class LintCard : public Card {
    Q_OBJECT
public:
    explicit LintCard(PlanModel* model, QWidget* parent = nullptr);

    QPlainTextEdit* config() const { return config_; }
    /// The shown findings as plain text.
    QString findings() const;
    bool open(const QString& path);

signals:
    void failed(const QString& sentence);

private:
    void askAndOpen();
    void refresh();

    PlanModel* model_;
    QPlainTextEdit* config_;
    QTextBrowser* findings_;
};

}  // namespace plimsoll::ui
