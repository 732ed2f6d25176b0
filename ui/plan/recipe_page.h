// SPDX-License-Identifier: GPL-3.0-or-later
// The Recipe page: precision, optimizer, learning rate with its curve, the run's length and records.
#pragma once

#include "ui/widgets/page.h"

namespace plimsoll::ui {

class Card;
class CurveView;
class PlanModel;

class RecipePage : public Page {
    Q_OBJECT
public:
    explicit RecipePage(PlanModel* model, QWidget* parent = nullptr);

    CurveView* curve() const { return curve_; }

private:
    Card* form(const QString& title, const QStringList& keys);
    void refresh();

    PlanModel* model_;
    CurveView* curve_;
    Card* rate_;
    Card* precision_;
    Card* adapters_;
    Card* scaling_;
};

}  // namespace plimsoll::ui
