// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_model.h"

#include <algorithm>
#include <QLocale>
#include <QUndoCommand>
#include <utility>

#include "core/estimate/training_plan.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {

namespace {

constexpr int undoLimit = 500;

bool changesRanks(const QString& key) {
    static const QStringList keys{QStringLiteral("cluster.gpus_per_node"), QStringLiteral("cluster.nodes"),
                                  QStringLiteral("layout.tp"), QStringLiteral("layout.pp"),
                                  QStringLiteral("layout.cp")};
    return keys.contains(key);
}

/// Data parallel takes the ranks that the other degrees leave.
void takeDataParallelAlong(Plan& plan) {
    Layout& layout = plan.layout;
    const std::int64_t ranks = plan.cluster.world_size();
    const std::int64_t others = layout.tp * layout.pp * layout.cp;
    if (others > 0 && ranks >= others && ranks % others == 0) layout.dp = ranks / others;
}

/// Accumulation makes up for another number of data-parallel ranks, where it divides.
void keepGlobalBatch(Plan& plan, std::int64_t batch) {
    Layout& layout = plan.layout;
    const std::int64_t at_once = layout.dp * layout.micro_batch;
    if (at_once > 0 && batch > 0 && batch % at_once == 0) layout.accumulation = batch / at_once;
}

/// Whether the plan's name only says what a program knew of it: a preset's name, or its model's and hardware's.
bool isDescription(const Plan& plan) {
    const auto named = [&](const Result<Plan>& preset) { return preset && preset->name == plan.name; };
    if (plan.name.empty()) return false;
    if (plan.name == plan.model.name || plan.name == planSummary(plan).toStdString()) return true;
    const std::vector<std::string>& presets = plan_preset_names();
    return std::any_of(presets.begin(), presets.end(), [&](const auto& each) { return named(plan_preset(each)); });
}

/// A name that described the plan describes the next one.
void nameAlong(const Plan& before, Plan& next) {
    if (next.name == before.name && planSummary(next) != planSummary(before) && isDescription(before))
        next.name = planSummary(next).toStdString();
}

QString trainingWords(const Plan& plan) {
    const Layout& layout = plan.layout;
    const QString dtype = QString::fromUtf8(name_of(plan.numerics.dtype).data());
    QString words = PlanModel::tr("Planned to train %1: %2, ZeRO-%3, sequence %4")
                        .arg(planSummary(plan), dtype)
                        .arg(layout.zero_stage)
                        .arg(QLocale().toString(qlonglong{plan.data.sequence_length}));
    if (layout.recompute != Recompute::None)
        words += PlanModel::tr(", %1 activation checkpointing")
                     .arg(QString::fromUtf8(recompute_names[static_cast<std::size_t>(layout.recompute)].data()));
    return words + QLatin1Char('.');
}

}  // namespace

class PlanEdit final : public QUndoCommand {
public:
    /// `file`: the step goes to another file, so that undoing it must not save over that one.
    PlanEdit(PlanModel* model, PlanState before, PlanState after, const QString& what, QString mergeKey, bool file)
        : QUndoCommand(what),
          model_(model),
          before_(std::move(before)),
          after_(std::move(after)),
          merge_key_(std::move(mergeKey)),
          file_(file) {}
    void undo() override {
        model_->forgetTyped();
        model_->apply(before_, file_);
    }
    void redo() override {
        if (!std::exchange(first_, false)) model_->forgetTyped();
        model_->apply(after_, file_);
    }
    int id() const override { return 1; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* edit = static_cast<const PlanEdit*>(other);
        if (merge_key_.isEmpty() || edit->merge_key_ != merge_key_) return false;
        after_ = edit->after_;
        setText(edit->text());
        // Typed there and back again: nothing to undo.
        setObsolete(after_.plan == before_.plan);
        return true;
    }

private:
    PlanModel* model_;
    PlanState before_;
    PlanState after_;
    QString merge_key_;
    bool file_;
    bool first_ = true;
};

PlanModel::PlanModel(QObject* parent) : QObject(parent) {
    undo_.setUndoLimit(undoLimit);
    if (Result<Plan> demo = plan_preset("cpu-demo")) state_.plan = *std::move(demo);
    state_.opened = std::make_shared<const Plan>(state_.plan);
    automatic_.append(state_.plan);
    recompute();
    gatherProblems();
}

void PlanModel::setText(const QString& key, const QString& typed) {
    const PlanField* field = findPlanField(key);
    if (!field) return;
    const QString plain = plainText(*field, typed);
    const std::string setting = (key + QLatin1Char('=') + plain).toStdString();
    const bool empty = plain.isEmpty() && field->kind != PlanField::Kind::Text;
    const Result<Plan> next =
        empty ? Result<Plan>(bad_input("{} is empty; allowed: {}", key.toStdString(), field->allowed.toStdString()))
              : with_settings(plan(), {setting});
    if (!next) {
        typed_.insert(key, inWords(next.error().message));
        announce();
        return;
    }
    const bool wasUnreadable = typed_.remove(key) > 0;
    Plan edited = *next;
    const bool along = planAlong(edited, key);
    if (!along && changesRanks(key)) beginRanks(key, edited);
    const std::int64_t batch = ranks_from_.layout.global_batch();
    if (edited == plan()) {
        if (wasUnreadable) announce();
        return;
    }
    const QString merge = QStringLiteral("%1#%2").arg(key).arg(edit_);
    push(std::move(edited), tr("%1 to %2").arg(field->label, shownText(*field, plain)), merge);
    if (along)
        emit planned(trainingWords(plan()));
    else if (const std::int64_t now = plan().layout.global_batch(); changesRanks(key))
        emit noticed(
            now == batch
                ? QString()
                : tr("The global batch is %1 sequences now, not %2: %3 data-parallel ranks cannot share %2. Set the "
                     "micro-batch or gradient accumulation to change it.")
                      .arg(QLocale().toString(qlonglong{now}), QLocale().toString(qlonglong{batch}),
                           QLocale().toString(qlonglong{plan().layout.dp})));
}

bool PlanModel::planAlong(Plan& edited, const QString& key) {
    static const QStringList hardware{QStringLiteral("cluster.gpu"), QStringLiteral("cluster.gpus_per_node"),
                                      QStringLiteral("cluster.nodes")};
    const bool model = key == QLatin1String("model.preset");
    if (!model && !hardware.contains(key)) return false;
    const bool untouched =
        std::any_of(automatic_.cbegin(), automatic_.cend(), [this](const Plan& each) { return each == plan(); });
    if (!untouched) return false;
    const Plan start = starting_plan(edited.model);
    // Models for which the demo's recipe is right stay with it.
    if (start.cluster.on_cpu()) {
        if (changesRanks(key)) beginRanks(key, edited);
        nameAlong(plan(), edited);
        automatic_.append(edited);
        return false;
    }
    const Cluster cluster = model && edited.cluster.on_cpu() ? start.cluster : edited.cluster;
    Plan next = training_plan(edited.model, cluster);
    next.name = planSummary(next).toStdString();
    next.data = edited.data;
    next.data.sequence_length = start.data.sequence_length;
    next.exports = edited.exports;
    edited = std::move(next);
    automatic_.append(edited);
    return true;
}

void PlanModel::beginRanks(const QString& key, Plan& edited) {
    // While a number is typed ("1", then "16"), each value counts from the plan before the first digit.
    if (ranks_key_ != key || ranks_edit_ != edit_) ranks_from_ = plan();
    ranks_key_ = key;
    ranks_edit_ = edit_;
    edited.name = ranks_from_.name;
    edited.layout.dp = ranks_from_.layout.dp;
    edited.layout.accumulation = ranks_from_.layout.accumulation;
    takeDataParallelAlong(edited);
    keepGlobalBatch(edited, ranks_from_.layout.global_batch());
    nameAlong(ranks_from_, edited);
}

void PlanModel::endEdit() { ++edit_; }

void PlanModel::replace(const Plan& plan, const QString& what) {
    forgetTyped();
    push(plan, what);
}

void PlanModel::relayout(Plan plan, const QString& what) {
    takeDataParallelAlong(plan);
    replace(plan, what);
}

void PlanModel::usePreset(const QString& name) {
    endEdit();
    for (const PlanField& field : planFields())
        if (field.key.startsWith(QLatin1String("model."))) typed_.remove(field.key);
    setText(QStringLiteral("model.preset"), name);
    endEdit();
}

void PlanModel::push(Plan next, const QString& what, const QString& mergeKey) {
    nameAlong(plan(), next);
    PlanState state = state_;
    state.plan = std::move(next);
    undo_.push(new PlanEdit(this, state_, std::move(state), what, mergeKey, false));
}

void PlanModel::forgetTyped() {
    typed_.clear();
    endEdit();
}

void PlanModel::apply(const PlanState& state, bool file) {
    const bool wasModified = isModified();
    state_.plan = state.plan;
    if (file) {
        state_.path = state.path;
        state_.saved = state.saved;
        state_.opened = state.opened;
    }
    recompute();
    announce();
    if (file || wasModified != isModified()) emit fileChanged();
}

void PlanModel::recompute() {
    texts_ = planTexts(plan());
    numbers_ = computeNumbers(plan(), framework_);
    if (numbers_.possible()) last_good_ = numbers_;
}

void PlanModel::setFramework(Framework framework) {
    if (framework == framework_) return;
    framework_ = framework;
    recompute();
    announce();
}

void PlanModel::announce() {
    gatherProblems();
    emit changed();
}

void PlanModel::gatherProblems() {
    QList<FieldProblem> all;
    for (auto it = typed_.cbegin(); it != typed_.cend(); ++it) all.append({it.key(), it.value()});
    for (const Problem& problem : numbers_.problems)
        all.append({QString::fromStdString(problem.key), inWords(problem.sentence)});
    if (numbers_.problems.empty() && !numbers_.memory) {
        const QString key =
            numbers_.memoryProblem.contains(QLatin1String("GPU")) ? QStringLiteral("cluster.gpu") : QString();
        all.append({key, numbers_.memoryProblem});
    }
    problems_ = std::move(all);
}

QString PlanModel::problemOf(const QString& key) const {
    for (const FieldProblem& problem : problems_)
        if (problem.key == key) return problem.sentence;
    return {};
}

bool PlanModel::isModified() const { return !state_.saved || !(*state_.saved == state_.plan); }

bool PlanModel::hasEdits() const {
    if (!typed_.isEmpty()) return true;
    if (state_.saved && *state_.saved == state_.plan) return false;
    return !state_.opened || !(*state_.opened == state_.plan);
}

Result<void> PlanModel::open(const QString& pathOrPreset) {
    Result<LoadedPlan> loaded = plan_from_argument(pathOrPreset.toStdString());
    if (!loaded) return tl::unexpected(loaded.error());
    forgetTyped();
    notes_.clear();
    for (const std::string& note : loaded->notes) notes_.append(QString::fromStdString(note));
    PlanState state;
    state.plan = std::move(loaded->plan);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(pathOrPreset.toStdString(), ignored)) {
        state.path = pathOrPreset;
        state.saved = std::make_shared<const Plan>(state.plan);
    }
    pushOpened(std::move(state), tr("Open %1").arg(pathOrPreset.section(QLatin1Char('/'), -1)));
    return {};
}

void PlanModel::openNew(const Plan& plan, const QString& what) {
    forgetTyped();
    notes_.clear();
    PlanState state;
    state.plan = plan;
    pushOpened(std::move(state), what);
}

void PlanModel::pushOpened(PlanState state, const QString& what) {
    state.opened = std::make_shared<const Plan>(state.plan);
    // Of another plan nothing is shown, not even pale, should this one be impossible.
    last_good_ = {};
    undo_.push(new PlanEdit(this, state_, std::move(state), what, {}, true));
    emit planOpened();
}

Result<void> PlanModel::saveTo(const QString& path) {
    if (const Result<void> saved = save_plan(path.toStdString(), plan()); !saved) return saved;
    state_.path = path;
    state_.saved = std::make_shared<const Plan>(plan());
    state_.opened = state_.saved;
    endEdit();
    emit fileChanged();
    return {};
}

void PlanModel::restore(const PlanState& state) {
    undo_.clear();
    forgetTyped();
    last_good_ = {};
    apply(state, true);
}

QString planSummary(const Plan& plan) {
    const QString model =
        plan.model.preset.empty() ? QString::fromStdString(plan.model.name) : QString::fromStdString(plan.model.preset);
    const QString shown = model.isEmpty() ? PlanModel::tr("unnamed model") : model;
    if (plan.cluster.on_cpu() && plan.cluster.world_size() == 1) return PlanModel::tr("%1 on 1 CPU rank").arg(shown);
    if (plan.cluster.on_cpu())
        return PlanModel::tr("%1 on %2 CPU ranks").arg(shown, QLocale().toString(qlonglong{plan.cluster.world_size()}));
    return PlanModel::tr("%1 on %2 × %3")
        .arg(shown, QLocale().toString(qlonglong{plan.cluster.world_size()}), QString::fromStdString(plan.cluster.gpu));
}

}  // namespace plimsoll::ui
