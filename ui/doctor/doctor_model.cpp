// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/doctor/doctor_model.h"

#include <algorithm>

#include "core/doctor/examine.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "ui/plan/plan_model.h"
#include "ui/run/run_model.h"

namespace plimsoll::ui {

namespace {

constexpr int afterEdit = 150;       // ms, so that a slider is not followed step by step
constexpr int afterPoints = 10'000;  // a run that goes on

QString qt(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

DoctorModel::DoctorModel(PlanModel* plan, RunModel* run, QObject* parent) : QObject(parent), plan_(plan), run_(run) {
    soon_.setSingleShot(true);
    connect(&soon_, &QTimer::timeout, this, &DoctorModel::examine);
    connect(plan_, &PlanModel::changed, this, [this] {
        if (subject_ == Subject::Plan) examineSoon();
        emit changed();  // what can be applied is another
    });
    connect(run_, &RunModel::opened, this, [this] {
        if (subject_ != Subject::Run) return emit changed();
        diagnosis_.reset();
        if (!hasRun()) subject_ = Subject::Plan;
        examineSoon();
    });
    const auto follow = [this](int ms) {
        if (subject_ == Subject::Run && watched_ && !soon_.isActive()) soon_.start(ms);
    };
    connect(run_, &RunModel::updated, this, [follow] { follow(afterPoints); });
    connect(run_, &RunModel::statusChanged, this, [follow] { follow(afterEdit); });
}

void DoctorModel::setWatched(bool watched) {
    if (watched == watched_) return;
    watched_ = watched;
    const bool failed = hasRun() && run_->state().status == RunStatus::Failed;
    if (watched_ && failed && offered_ != run_->runPath()) {
        offered_ = run_->runPath();
        subject_ = Subject::Run;
        diagnosis_.reset();
    }
    if (watched_) examine();
    if (!watched_) soon_.stop();
}

void DoctorModel::choose(Subject subject) {
    if (subject == subject_ || (subject == Subject::Run && !hasRun())) return;
    subject_ = subject;
    diagnosis_.reset();
    if (watched_) examine();
    emit changed();
}

bool DoctorModel::hasRun() const { return run_->isOpen() && !run_->isVanished(); }
QString DoctorModel::runName() const { return run_->runName(); }

void DoctorModel::examineSoon() {
    if (watched_) soon_.start(afterEdit);
}

void DoctorModel::examine() {
    const bool ofRun = subject_ == Subject::Run;
    examination_.ask(
        [ofRun, plan = plan_->plan(), path = run_->runPath().toStdString()]() -> Result<Diagnosis> {
            if (!ofRun) return examine_plan(plan);
            PLIMSOLL_TRY(const RunFolder folder, RunFolder::open(path));
            return examine_run(folder);
        },
        [this](Result<Diagnosis> answer) { take(std::move(answer)); });
    emit changed();
}

void DoctorModel::take(Result<Diagnosis> answer) {
    problem_ = answer ? QString() : qt(answer.error().message);
    if (answer)
        diagnosis_ = *std::move(answer);
    else
        diagnosis_.reset();
    emit changed();
}

const Plan& DoctorModel::plan() const { return plan_->plan(); }

const Plan& DoctorModel::base() const {
    const bool another = subject_ == Subject::Run && run_->plan() && !(run_->plan()->model == plan().model);
    return another ? *run_->plan() : plan();
}

bool DoctorModel::fits(const FindingChange& change) const {
    const Result<Plan> next = with_settings(base(), change.settings);
    return next && !(*next == plan()) && check_plan(*next).empty();
}

void DoctorModel::apply(const Finding& finding, const FindingChange& change) {
    if (!fits(change)) return;
    plan_->replace(*with_settings(base(), change.settings), tr("cure of %1").arg(qt(finding.kind)));
}

QString severityText(Severity severity) {
    return severity == Severity::Error     ? DoctorModel::tr("Error")
           : severity == Severity::Warning ? DoctorModel::tr("Warning")
                                           : DoctorModel::tr("Advice");
}

QString settingsText(const FindingChange& change) {
    QStringList words;
    for (const std::string& setting : change.settings) words << qt(setting);
    return words.join(QStringLiteral(" · "));
}

QString summaryText(const Diagnosis& diagnosis) {
    if (diagnosis.findings.empty()) return DoctorModel::tr("No problems found.");
    const auto count = [&](Severity severity) {
        return static_cast<int>(std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                              [&](const Finding& each) { return each.severity == severity; }));
    };
    QStringList words;
    if (const int n = count(Severity::Error); n > 0)
        words << (n == 1 ? DoctorModel::tr("1 error") : DoctorModel::tr("%1 errors").arg(n));
    if (const int n = count(Severity::Warning); n > 0)
        words << (n == 1 ? DoctorModel::tr("1 warning") : DoctorModel::tr("%1 warnings").arg(n));
    if (const int n = count(Severity::Advice); n > 0)
        words << (n == 1 ? DoctorModel::tr("1 piece of advice") : DoctorModel::tr("%1 pieces of advice").arg(n));
    return words.join(QStringLiteral(" · "));
}

QString checklistHtml(const Diagnosis& diagnosis, const ChecklistColours& colours) {
    QString text;
    std::string group;
    for (const ChecklistItem& item : diagnosis.checklist) {
        if (item.group != group) {
            if (!group.empty()) text += QStringLiteral("</table>");
            group = item.group;
            text +=
                QStringLiteral("<p style='margin:10px 0 2px 0'><b>%1</b></p><table cellspacing='0' cellpadding='3'>")
                    .arg(qt(group).toHtmlEscaped());
        }
        const bool fine = item.verdict == ItemVerdict::Fine, found = item.verdict == ItemVerdict::Found;
        const QString mark = fine ? QStringLiteral("✓") : found ? QStringLiteral("✗") : QStringLiteral("?");
        text += QStringLiteral(
                    "<tr><td style='color:%1'><b>%2</b></td><td>%3<br><span style='color:%4'>%5</span></td></tr>")
                    .arg(fine    ? colours.good
                         : found ? colours.bad
                                 : colours.muted,
                         mark, qt(item.question).toHtmlEscaped(), colours.muted, qt(item.words).toHtmlEscaped());
    }
    return group.empty() ? text : text + QStringLiteral("</table>");
}

}  // namespace plimsoll::ui
