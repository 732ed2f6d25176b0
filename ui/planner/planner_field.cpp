// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/planner/planner_field.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <QCoreApplication>
#include <QLocale>

#include "core/schedule/schedule.h"
#include "ui/common/value_format.h"

namespace plimsoll::ui {

namespace {

struct PlannerWords {
    Q_DECLARE_TR_FUNCTIONS(PlannerField)
};

constexpr double mostBatch = 1e9, mostTokens = 1e18, mostPrice = 1e6, mostHost = 1e6;
constexpr std::int64_t mostValue = 1 << 20;

std::vector<std::int64_t>* valuesOf(Choices& choices, PlannerField field) {
    switch (field) {
        case PlannerField::Tp:
            return &choices.tp;
        case PlannerField::Pp:
            return &choices.pp;
        case PlannerField::Cp:
            return &choices.cp;
        case PlannerField::Ep:
            return &choices.ep;
        case PlannerField::MicroBatch:
            return &choices.micro_batch;
        case PlannerField::Chunks:
            return &choices.chunks;
        default:
            return nullptr;
    }
}

/// The text without spaces and the locale's separators.
QString plainNumber(const QString& typed) {
    QString plain = typed.simplified();
    const QLocale locale;
    plain.remove(QLatin1Char(' ')).remove(QChar(0x202f)).remove(QChar(0x00a0)).remove(locale.groupSeparator());
    return plain.replace(locale.decimalPoint(), QLatin1String("."));
}

/// "15B", "2.5T": the letters that people use for tokens.
std::optional<double> readAmount(const QString& typed) {
    QString plain = plainNumber(typed).toUpper();
    double unit = 1;
    static constexpr std::array<std::pair<char, double>, 5> units{
        {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'G', 1e9}, {'T', 1e12}}};
    for (const auto& [letter, size] : units)
        if (plain.endsWith(QLatin1Char(letter))) {
            unit = size;
            plain.chop(1);
            break;
        }
    bool ok = false;
    const double value = plain.toDouble(&ok);
    return ok && std::isfinite(value) ? std::optional(value * unit) : std::nullopt;
}

bool isAny(const QString& typed) {
    const QString word = typed.simplified();
    return word.isEmpty() || word.compare(PlannerWords::tr("any"), Qt::CaseInsensitive) == 0 ||
           word.compare(QLatin1String("any"), Qt::CaseInsensitive) == 0;
}

Result<std::vector<std::int64_t>> readValues(const QString& name, const QString& typed) {
    std::vector<std::int64_t> values;
    if (isAny(typed)) return values;
    QString list = typed;
    list.replace(QLatin1Char(';'), QLatin1Char(','));
    for (const QString& part : list.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        for (const QString& word : part.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
            bool ok = false;
            const qlonglong value = word.toLongLong(&ok);
            if (!ok || value < 1 || value > mostValue)
                return bad_input("{}: \"{}\" is no whole number of 1 or more; write \"any\" or a list such as 1, 2, 4",
                                 name.toStdString(), word.toStdString());
            values.push_back(value);
        }
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

QString amountText(double value) {
    return value > 0 ? QLocale().toString(value, 'g', QLocale::FloatingPointShortest) : QString();
}

QString tokensText(double tokens) {
    if (tokens <= 0) return {};
    const Unit unit = unitFor(ValueKind::Short, tokens);
    return QLocale().toString(tokens / unit.size, 'g', 6) + QString::fromLatin1(unit.name).toUpper();
}

/// Empty: the default.
Result<void> readProbability(const QString& typed, double& share) {
    QString plain = typed;
    const auto value =
        isAny(typed) ? std::optional(100 * default_fit_probability) : readAmount(plain.remove(QLatin1Char('%')));
    if (!value || *value < 0 || *value > 99.9 || (*value > 0 && *value < 1))
        return bad_input("the chance to fit is 0 (the estimate alone counts) or 1 to 99.9 %, not \"{}\"",
                         typed.toStdString());
    share = *value / 100;
    return {};
}

Result<void> readPercent(const QString& typed, double& share) {
    QString plain = typed;
    const auto value = isAny(typed) ? std::optional(0.0) : readAmount(plain.remove(QLatin1Char('%')));
    if (!value || *value < 0 || *value >= 100)
        return bad_input("headroom is a share of the usable memory: 0 to 99 %, not \"{}\"", typed.toStdString());
    share = *value / 100;
    return {};
}

Result<void> readBatch(const QString& typed, std::int64_t& batch) {
    const auto value = isAny(typed) ? std::optional(0.0) : readAmount(typed);
    const bool whole = value && *value == std::floor(*value);
    if (!whole || *value < 0 || *value > mostBatch || (*value == 0 && !isAny(typed)))
        return bad_input("the global batch is a whole number of sequences per step, 1 or more; empty: the plan's");
    batch = static_cast<std::int64_t>(*value);
    return {};
}

Result<void> readPositive(const QString& typed, const char* what, double most, double& amount) {
    const auto value = isAny(typed) ? std::optional(0.0) : readAmount(typed);
    if (!value || *value < 0 || *value > most)
        return bad_input("{} has to be a positive number, not \"{}\"", what, typed.toStdString());
    amount = *value;
    return {};
}

Result<void> readHostMemory(const QString& typed, Bytes& bytes) {
    double gib = 0;
    QString plain = typed;
    PLIMSOLL_CHECK(readPositive(plain.remove(QLatin1String("GiB"), Qt::CaseInsensitive),
                                "the host memory of a machine, in GiB,", mostHost, gib));
    bytes = static_cast<Bytes>(gib * static_cast<double>(GiB));
    return {};
}

/// The options that an empty list of choices means.
std::vector<bool> standard(PlannerSet set) {
    std::vector<bool> all(static_cast<std::size_t>(plannerSetOptions(set).size()), true);
    if (set == PlannerSet::Schedule)
        for (const Schedule searched : {Schedule::Zb1p, Schedule::Zb2p})
            all[static_cast<std::size_t>(searched)] = false;
    if (set == PlannerSet::Offload) all[static_cast<std::size_t>(Offload::Nvme)] = false;
    return all;
}

template <class Value>
std::vector<bool> marks(const std::vector<Value>& chosen, PlannerSet set) {
    std::vector<bool> all = standard(set);
    if (chosen.empty()) return all;
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = std::find(chosen.begin(), chosen.end(), static_cast<Value>(i)) != chosen.end();
    return all;
}

template <class Value>
void choose(const std::vector<bool>& allowed, PlannerSet set, std::vector<Value>& chosen) {
    chosen.clear();
    if (allowed == standard(set)) return;
    for (std::size_t i = 0; i < allowed.size(); ++i)
        if (allowed[i]) chosen.push_back(static_cast<Value>(i));
}

}  // namespace

QString plannerFieldName(PlannerField field) {
    switch (field) {
        case PlannerField::GlobalBatch:
            return PlannerWords::tr("Global batch");
        case PlannerField::FitProbability:
            return PlannerWords::tr("Chance to fit");
        case PlannerField::HostMemory:
            return PlannerWords::tr("RAM per machine");
        case PlannerField::Headroom:
            return PlannerWords::tr("Headroom");
        case PlannerField::Tokens:
            return PlannerWords::tr("Tokens to train");
        case PlannerField::Price:
            return PlannerWords::tr("Price per GPU-hour");
        case PlannerField::Tp:
            return PlannerWords::tr("Tensor parallel");
        case PlannerField::Pp:
            return PlannerWords::tr("Pipeline stages");
        case PlannerField::Cp:
            return PlannerWords::tr("Context parallel");
        case PlannerField::Ep:
            return PlannerWords::tr("Expert parallel");
        case PlannerField::MicroBatch:
            return PlannerWords::tr("Micro-batch");
        case PlannerField::Chunks:
            return PlannerWords::tr("Virtual stages per rank");
    }
    return {};
}

QString plannerFieldHelp(PlannerField field) {
    switch (field) {
        case PlannerField::GlobalBatch:
            return PlannerWords::tr("Global batch in sequences; empty: the plan's");
        case PlannerField::FitProbability:
            return PlannerWords::tr(
                "Least chance, in percent, that a layout does not run out of memory; 0: its estimate "
                "alone counts");
        case PlannerField::HostMemory:
            return PlannerWords::tr("GiB of host memory that a machine has for what is offloaded; empty: no limit");
        case PlannerField::Headroom:
            return PlannerWords::tr("Share of the usable memory that stays free, in percent");
        case PlannerField::Tokens:
            return PlannerWords::tr("Budget for time, GPU-hours and price: 300B, 2T; empty: none");
        case PlannerField::Price:
            return PlannerWords::tr("In any currency; the objective Cost needs it; empty: none");
        default:
            return PlannerWords::tr("Values that the search may take: any, or a list such as 1, 2, 4");
    }
}

QString plannerFieldText(const PlanRequest& request, PlannerField field) {
    switch (field) {
        case PlannerField::GlobalBatch:
            return request.global_batch > 0 ? QLocale().toString(qlonglong{request.global_batch}) : QString();
        case PlannerField::FitProbability:
            return PlannerWords::tr("%1 %").arg(QLocale().toString(request.fit_probability * 100, 'g', 4));
        case PlannerField::HostMemory:
            return amountText(static_cast<double>(request.host_memory) / static_cast<double>(GiB));
        case PlannerField::Headroom:
            return request.headroom > 0
                       ? PlannerWords::tr("%1 %").arg(QLocale().toString(request.headroom * 100, 'g', 4))
                       : QString();
        case PlannerField::Tokens:
            return tokensText(request.tokens);
        case PlannerField::Price:
            return amountText(request.price_per_gpu_hour);
        default:
            break;
    }
    Choices choices = request.choices;
    QStringList words;
    for (const std::int64_t value : *valuesOf(choices, field)) words << QString::number(value);
    return words.isEmpty() ? PlannerWords::tr("any") : words.join(QStringLiteral(", "));
}

Result<void> readPlannerField(PlannerField field, const QString& typed, PlanRequest& request) {
    switch (field) {
        case PlannerField::GlobalBatch:
            return readBatch(typed, request.global_batch);
        case PlannerField::FitProbability:
            return readProbability(typed, request.fit_probability);
        case PlannerField::HostMemory:
            return readHostMemory(typed, request.host_memory);
        case PlannerField::Headroom:
            return readPercent(typed, request.headroom);
        case PlannerField::Tokens:
            return readPositive(typed, "the budget of tokens", mostTokens, request.tokens);
        case PlannerField::Price:
            return readPositive(typed, "the price of a GPU-hour", mostPrice, request.price_per_gpu_hour);
        default:
            break;
    }
    PLIMSOLL_TRY(std::vector<std::int64_t> values, readValues(plannerFieldName(field), typed));
    *valuesOf(request.choices, field) = std::move(values);
    return {};
}

QString plannerSetName(PlannerSet set) {
    switch (set) {
        case PlannerSet::Schedule:
            return PlannerWords::tr("Schedules");
        case PlannerSet::ZeroStage:
            return PlannerWords::tr("ZeRO stage");
        case PlannerSet::Recompute:
            return PlannerWords::tr("Recomputation");
        case PlannerSet::Offload:
            return PlannerWords::tr("Optimizer on");
        case PlannerSet::SequenceParallel:
            return PlannerWords::tr("Sequence parallel");
    }
    return {};
}

QStringList plannerSetOptions(PlannerSet set) {
    QStringList options;
    switch (set) {
        case PlannerSet::Schedule:
            for (std::size_t i = 0; i < schedule_names.size(); ++i)
                options << QString::fromLatin1(schedule_title(static_cast<Schedule>(i)));
            break;
        case PlannerSet::ZeroStage:
            for (int stage = 0; stage <= 3; ++stage) options << QString::number(stage);
            break;
        case PlannerSet::Recompute:
            for (const std::string_view name : recompute_names)
                options << QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
            break;
        case PlannerSet::Offload:
            options << PlannerWords::tr("GPU") << PlannerWords::tr("host") << PlannerWords::tr("NVMe");
            break;
        case PlannerSet::SequenceParallel:
            options << PlannerWords::tr("off") << PlannerWords::tr("on");
            break;
    }
    return options;
}

std::vector<bool> plannerSetAllowed(const PlanRequest& request, PlannerSet set) {
    const Choices& choices = request.choices;
    switch (set) {
        case PlannerSet::Schedule:
            return marks(choices.schedule, set);
        case PlannerSet::ZeroStage:
            return marks(choices.zero_stage, set);
        case PlannerSet::Recompute:
            return marks(choices.recompute, set);
        case PlannerSet::Offload:
            return marks(choices.offload_optimizer, set);
        case PlannerSet::SequenceParallel:
            return marks(choices.sequence_parallel, set);
    }
    return {};
}

Result<void> allowPlannerSet(PlannerSet set, const std::vector<bool>& allowed, PlanRequest& request) {
    if (std::find(allowed.begin(), allowed.end(), true) == allowed.end())
        return bad_input("{}: the search needs one of them; tick another before this one goes",
                         plannerSetName(set).toStdString());
    Choices& choices = request.choices;
    switch (set) {
        case PlannerSet::Schedule:
            choose(allowed, set, choices.schedule);
            break;
        case PlannerSet::ZeroStage:
            choose(allowed, set, choices.zero_stage);
            break;
        case PlannerSet::Recompute:
            choose(allowed, set, choices.recompute);
            break;
        case PlannerSet::Offload:
            choose(allowed, set, choices.offload_optimizer);
            break;
        case PlannerSet::SequenceParallel:
            choose(allowed, set, choices.sequence_parallel);
            break;
    }
    return {};
}

QString objectiveTitle(Objective objective) {
    switch (objective) {
        case Objective::Time:
            return PlannerWords::tr("shortest step");
        case Objective::Memory:
            return PlannerWords::tr("least memory");
        case Objective::Cost:
            return PlannerWords::tr("lowest cost");
        case Objective::FewestGpus:
            return PlannerWords::tr("fewest GPUs");
    }
    return {};
}

}  // namespace plimsoll::ui
