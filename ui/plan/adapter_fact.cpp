// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/adapter_fact.h"

#include <QCoreApplication>

#include "core/base/units.h"
#include "core/plan/adapter.h"
#include "core/plan/parameters.h"

namespace plimsoll::ui {

QString adapterFact(const Plan& plan) {
    if (!adapts(plan)) return QCoreApplication::translate("AdapterFact", "off: all weights train");
    const auto all = static_cast<double>(count_parameters(plan.model).total);
    const auto own = static_cast<double>(adapter_parameters(plan));
    return QCoreApplication::translate("AdapterFact", "%1 of %2 train (%3 %)")
        .arg(QString::fromStdString(format_short(own)), QString::fromStdString(format_short(all)))
        .arg(100 * own / all, 0, 'g', 2);
}

}  // namespace plimsoll::ui
