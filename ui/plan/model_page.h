// SPDX-License-Identifier: GPL-3.0-or-later
// The Model page: a preset or a config.json, its architecture, its parameters by part.
#pragma once

#include "ui/common/text_table.h"
#include "ui/widgets/page.h"

class QPushButton;

namespace plimsoll::ui {

class Card;
class ChoiceTable;
class PlanModel;
class SharePie;

class ModelPage : public Page {
    Q_OBJECT
public:
    explicit ModelPage(PlanModel* model, QWidget* parent = nullptr);

    bool hasField(const QString& key) const override;
    bool focusField(const QString& key) override;
    ChoiceTable* presets() const { return presets_; }
    void importConfig(const QString& path);
    void askForConfig();

signals:
    void failed(const QString& sentence);
    void noted(const QString& sentence);  ///< what an import did not take over

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    Card* makeStart();
    void refresh();

    PlanModel* model_;
    TextTable preset_rows_;
    TextTable parts_;
    ChoiceTable* presets_;
    Card* architecture_;
    Card* parameters_;
    SharePie* shares_;
};

}  // namespace plimsoll::ui
