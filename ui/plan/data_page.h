// SPDX-License-Identifier: GPL-3.0-or-later
// The Data page: the training text, how it is divided, and its beginning.
#pragma once

#include <QTimer>

#include "ui/common/text_table.h"
#include "ui/plan/data_preview.h"
#include "ui/widgets/page.h"

class QLabel;
class QPlainTextEdit;

namespace plimsoll::ui {

class Card;
class PlanModel;

class DataPage : public Page {
    Q_OBJECT
public:
    explicit DataPage(PlanModel* model, QWidget* parent = nullptr);

    DataPreview* preview() { return &preview_; }
    const TextTable& facts() const { return facts_; }

protected:
    void showEvent(QShowEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeChoice(QVBoxLayout* column);
    void makePreview(QVBoxLayout* column);
    void usePath(const QString& path);
    void read();
    void refresh();

    PlanModel* model_;
    DataPreview preview_;
    QTimer later_;  ///< reading waits until the typing pauses
    TextTable facts_;
    Card* text_ = nullptr;
    QLabel* problem_ = nullptr;
    QPlainTextEdit* beginning_ = nullptr;
};

}  // namespace plimsoll::ui
