// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/waterline/remedies_model.h"

#include <cmath>
#include <QLocale>

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/remedies/find_remedies.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

QString qt(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

RemediesModel::RemediesModel(PlanModel* plan, QObject* parent) : QObject(parent), plan_(plan) {
    connect(plan_, &PlanModel::changed, this, [this] {
        if (watched_) seek();
    });
}

void RemediesModel::setWatched(bool watched) {
    watched_ = watched;
    if (watched_) seek();
}

const Remedies* RemediesModel::remedies() const {
    return found_ && plan_->isGood() && of_ == plan_->plan() ? &*found_ : nullptr;
}

void RemediesModel::seek() {
    if (!plan_->isGood()) {
        search_.cancel();
        found_.reset();
        emit changed();
        return;
    }
    search_.ask([plan = plan_->plan(), memory = *plan_->numbers().memory] { return find_remedies(plan, memory); },
                [this, plan = plan_->plan()](Result<Remedies> found) {
                    of_ = plan;
                    found_.reset();
                    if (found) found_ = *std::move(found);
                    emit changed();
                });
}

void RemediesModel::apply(const Remedy& remedy) {
    if (!remedies()) return;
    const std::string name = remedy.name;
    if (const Result<Plan> next = with_settings(plan_->plan(), remedy.settings)) plan_->replace(*next, qt(name));
}

QStringList remedyHeaders() {
    return {RemediesModel::tr("Change"), RemediesModel::tr("Saves"), RemediesModel::tr("Step time"),
            RemediesModel::tr("Then"), QString()};
}

QString stepTimeText(double slowdown) {
    if (std::abs(slowdown) < 0.0005) return RemediesModel::tr("none");
    const QString amount = QLocale().toString(std::abs(slowdown) * 100, 'f', std::abs(slowdown) < 0.0995 ? 1 : 0);
    return (slowdown > 0 ? RemediesModel::tr("+%1 %") : RemediesModel::tr("−%1 %")).arg(amount);
}

QList<TextRow> remedyRows(const Remedies& remedies) {
    QList<TextRow> rows;
    for (const Remedy& remedy : remedies.changes) {
        TextRow row;
        QString then =
            remedy.fits ? RemediesModel::tr("fits, %1").arg(bytesText(remedy.total)) : bytesText(remedy.total);
        if (remedy.host > 0) then += RemediesModel::tr(" · +%1 host").arg(bytesText(remedy.host));
        if (!remedy.exact)
            then += remedy.adapters ? RemediesModel::tr(" · trains adapters alone")
                                    : RemediesModel::tr(" · changes numerics");
        row.cells = {qt(remedy.name), bytesText(remedy.saves), stepTimeText(remedy.slowdown), then,
                     RemediesModel::tr("Apply")};
        QStringList settings;
        for (const std::string& setting : remedy.settings) settings << qt(setting);
        row.tip =
            QStringLiteral("<p style='margin:0'><b>%1</b><br>%2</p><p style='margin:6px 0 0 0'>%3<br><i>%4</i></p>")
                .arg(qt(remedy.name).toHtmlEscaped(), settings.join(QStringLiteral(" · ")).toHtmlEscaped(),
                     qt(remedy.reason).toHtmlEscaped(), qt(remedy.source).toHtmlEscaped());
        if (remedy.host > 0)
            row.tip += RemediesModel::tr("<p style='margin:6px 0 0 0'>%1 more host memory per rank</p>")
                           .arg(bytesText(remedy.host));
        row.name = qt(remedy.name);
        row.strong = remedy.fits;
        rows.append(row);
    }
    return rows;
}

QString remedyWords(const Remedy& remedy, Bytes usable) {
    QString words = RemediesModel::tr("saves %1 · step time %2 · then %3")
                        .arg(bytesText(remedy.saves), stepTimeText(remedy.slowdown), partOf(remedy.total, usable));
    if (remedy.host > 0) words += RemediesModel::tr(" · %1 more host memory per rank").arg(bytesText(remedy.host));
    return words;
}

}  // namespace plimsoll::ui
