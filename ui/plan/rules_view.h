// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of thumb beside the exact figures; each with a note where it misleads.
#pragma once

#include <QWidget>

class QGridLayout;

namespace plimsoll::ui {

class PlanModel;

class RulesView : public QWidget {
    Q_OBJECT
public:
    explicit RulesView(PlanModel* model, QWidget* parent = nullptr);

private:
    void refresh();

    PlanModel* model_;
    QGridLayout* grid_;
    int shown_ = -1;
};

}  // namespace plimsoll::ui
