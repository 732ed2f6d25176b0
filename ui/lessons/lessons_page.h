// SPDX-License-Identifier: GPL-3.0-or-later
// The Lessons page: quoted figures at the left, the chosen lesson at the right, with its plan to open.
#pragma once

#include "ui/lessons/lessons_model.h"
#include "ui/widgets/page.h"

class QLabel;
class QPushButton;
class QTableView;
class QTextBrowser;

namespace plimsoll::ui {

class Card;
class FactTable;
class PlanModel;

class LessonsPage : public Page {
    Q_OBJECT
public:
    explicit LessonsPage(PlanModel* plan, QWidget* parent = nullptr);

    LessonsModel* model() { return &model_; }
    QTableView* list() const;
    QString text() const;  ///< without its markup
    QPushButton* openButton() const { return open_; }

signals:
    void planRequested(const plimsoll::Plan& plan);

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void refresh();

    LessonsModel model_;
    TextTable rows_;
    FactTable* list_;
    Card* card_ = nullptr;
    QLabel* title_ = nullptr;
    QTextBrowser* text_ = nullptr;
    QPushButton* open_ = nullptr;
    const Lesson* shown_ = nullptr;
};

}  // namespace plimsoll::ui
