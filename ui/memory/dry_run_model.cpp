// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/memory/dry_run_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <QLocale>
#include <tuple>

#include "core/allocator/timeline_file.h"
#include "core/plan/plan_io.h"
#include "core/run/processes/detached.h"
#include "core/run/processes/supervisor.h"
#include "ui/common/value_format.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"

namespace plimsoll::ui {

namespace {

constexpr int patienceMs = 2000;  // for a process that was told to end

QString qt(const std::string& text) { return QString::fromStdString(text); }

/// The last sentence that the program said, without its name.
QString lastSentence(const QByteArray& text) {
    const QStringList lines = QString::fromUtf8(text).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QString last = lines.isEmpty() ? QString() : lines.constLast().trimmed();
    if (last.startsWith(QLatin1String("plimsoll: "))) last.remove(0, 10);
    return last;
}

/// What one op left in one phase, over the layers.
struct StandingKind {
    const StandingBlocks* first = nullptr;
    std::vector<const StandingBlocks*> layers;  ///< in their order
    std::int64_t count = 0;
    Bytes bytes = 0;
};

/// Numbers by value, after what is no number.
int layerOrder(const std::string& layer) {
    return layer.empty() || layer.find_first_not_of("0123456789") != std::string::npos ? -1
                                                                                       : std::stoi(layer.substr(0, 9));
}

std::vector<StandingKind> standingKinds(const std::vector<StandingBlocks>& standing) {
    std::map<std::tuple<MemoryCategory, std::string, std::string>, StandingKind> kinds;
    for (const StandingBlocks& blocks : standing) {
        StandingKind& kind = kinds[{blocks.category, blocks.op, blocks.phase}];
        if (!kind.first) kind.first = &blocks;
        kind.layers.push_back(&blocks);
        kind.count += blocks.count;
        kind.bytes += blocks.bytes;
    }
    std::vector<StandingKind> all;
    for (auto& [key, kind] : kinds) {
        std::stable_sort(kind.layers.begin(), kind.layers.end(), [](const StandingBlocks* a, const StandingBlocks* b) {
            return layerOrder(a->layer) < layerOrder(b->layer);
        });
        all.push_back(std::move(kind));
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return all;
}

QString layersText(const StandingKind& kind) {
    const std::string& first = kind.layers.front()->layer;
    const std::string& last = kind.layers.back()->layer;
    if (kind.layers.size() == 1) return first.empty() ? QStringLiteral("–") : qt(first);
    const int from = layerOrder(first), to = layerOrder(last);
    if (from >= 0 && to - from + 1 == static_cast<int>(kind.layers.size()))
        return DryRunModel::tr("%1–%2").arg(from).arg(to);
    return DryRunModel::tr("%1 places").arg(kind.layers.size());
}

QString layersTip(const StandingKind& kind) {
    constexpr std::size_t most = 24;
    QStringList lines{DryRunModel::tr("%1 bytes in %2 blocks").arg(countText(kind.bytes), countText(kind.count))};
    for (std::size_t i = 0; i < std::min(most, kind.layers.size()); ++i) {
        const StandingBlocks& one = *kind.layers[i];
        lines << DryRunModel::tr("layer %1: %2 in %3 blocks")
                     .arg(one.layer.empty() ? QStringLiteral("–") : qt(one.layer), bytesText(one.bytes),
                          countText(one.count));
    }
    if (kind.layers.size() > most) lines << DryRunModel::tr("and %1 more").arg(kind.layers.size() - most);
    return lines.join(QLatin1Char('\n'));
}

}  // namespace

DryRunModel::DryRunModel(PlanModel* plan, QObject* parent)
    : QObject(parent), plan_(plan), program_(qt((program_folder() / "plimsoll").string())) {}

DryRunModel::~DryRunModel() { giveUp(); }

void DryRunModel::setStage(int stage) {
    if (stage == stage_) return;
    stage_ = stage;
    emit changed();
}

bool DryRunModel::isFresh() const { return timeline_ && shown_stage_ == stage_ && shown_ == plan_->plan(); }

void DryRunModel::startIfStale() {
    const bool asked = asked_stage_ == stage_ && asked_ == plan_->plan();
    if (isFresh() || (asked && (isRunning() || !problem_.isEmpty()))) return;
    start();
}

void DryRunModel::start() {
    giveUp();
    problem_.clear();
    if (!plan_->isGood()) {
        emit changed();
        return;
    }
    asked_ = plan_->plan();
    asked_stage_ = stage_;
    const QString planFile = folder_.filePath(QStringLiteral("plan.json"));
    if (!folder_.isValid()) return fail(tr("There is no room for the dry run's files: %1").arg(folder_.errorString()));
    if (const Result<void> saved = save_plan(planFile.toStdString(), asked_); !saved)
        return fail(qt(saved.error().message));
    const QString timelineFile = folder_.filePath(QStringLiteral("timeline.json"));
    QFile::remove(timelineFile);  // an old one must not be taken for this run's
    process_ = new QProcess(this);
    connect(process_, &QProcess::finished, this, &DryRunModel::finished);
    connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return;
        const QString program = process_->program();
        giveUp();
        fail(tr("%1 cannot be started: build or install the whole of Plimsoll, then try again").arg(program));
    });
    process_->setStandardOutputFile(QProcess::nullDevice());
    process_->start(program_,
                    {QStringLiteral("dry-run"), planFile, QStringLiteral("--rank"),
                     QString::number(firstRankOf(asked_.layout, stage_)), QStringLiteral("--timeline"), timelineFile});
    emit changed();
}

void DryRunModel::cancel() {
    if (!isRunning()) return;
    giveUp();
    fail(tr("The dry run was cancelled."));
}

void DryRunModel::giveUp() {
    if (!process_) return;
    QProcess* process = std::exchange(process_, nullptr);
    process->disconnect(this);
    if (process->state() != QProcess::NotRunning) {
        process->kill();
        process->waitForFinished(patienceMs);
    }
    process->deleteLater();
}

void DryRunModel::fail(const QString& sentence) {
    problem_ = sentence;
    emit changed();
}

void DryRunModel::finished(int code, QProcess::ExitStatus status) {
    const QString said = lastSentence(process_->readAllStandardError());
    giveUp();
    if (status != QProcess::NormalExit)
        return fail(tr("The dry run crashed%1.").arg(said.isEmpty() ? said : QStringLiteral(": ") + said));
    if (code != 0)
        return fail(said.isEmpty() ? tr("The dry run ended with code %1 and said nothing.").arg(code) : said);
    const auto read = read_timeline(folder_.filePath(QStringLiteral("timeline.json")).toStdString());
    if (!read) return fail(qt(read.error().message));
    timeline_ = std::make_shared<const MemoryTimeline>(*read);
    shown_ = asked_;
    shown_stage_ = asked_stage_;
    emit changed();
}

std::int64_t firstRankOf(const Layout& layout, int stage) { return stage * layout.tp * layout.cp * layout.dp; }

QStringList standingHeaders() {
    return {DryRunModel::tr("Layer"), DryRunModel::tr("Op"),     DryRunModel::tr("Category"),
            DryRunModel::tr("From"),  DryRunModel::tr("Blocks"), DryRunModel::tr("Bytes")};
}

QList<TextRow> standingRows(const MemoryTimeline& timeline, int most) {
    std::vector<StandingKind> kinds = standingKinds(timeline.standing);
    QList<TextRow> rows;
    std::int64_t rest_blocks = 0;
    Bytes rest = 0;
    for (const StandingKind& kind : kinds) {
        if (rows.size() >= most) {
            rest_blocks += kind.count;
            rest += kind.bytes;
            continue;
        }
        TextRow row;
        row.cells = {layersText(kind),
                     kind.first->op.empty() ? QStringLiteral("–") : qt(kind.first->op),
                     categoryName(static_cast<Category>(kind.first->category)),
                     qt(kind.first->phase),
                     countText(kind.count),
                     bytesText(kind.bytes)};
        row.tip = layersTip(kind);
        rows.append(row);
    }
    if (rest_blocks > 0) {
        TextRow row;
        row.cells = {DryRunModel::tr("others"), {}, {}, {}, countText(rest_blocks), bytesText(rest)};
        rows.append(row);
    }
    TextRow sum;
    sum.cells = {DryRunModel::tr("Total"), {}, {}, {}, {}, bytesText(timeline.peak)};
    sum.strong = true;
    rows.append(sum);
    return rows;
}

namespace {

/// What the caching allocator makes of the trace. It ends where it fails, so its peak may lie below the tensors'.
QString reservedWords(const MemoryTimeline& timeline, Bytes usable) {
    if (timeline.peak_reserved < timeline.peak)
        return usable > 0 ? DryRunModel::tr("then the caching allocator fails: %1 of live tensors do not fit into %2")
                                .arg(bytesText(timeline.peak), bytesText(usable))
                          : DryRunModel::tr("then the caching allocator fails: the GPU has no more");
    const QString of = DryRunModel::tr("reserved by the caching allocator, %1 of the peak")
                           .arg(percentText(static_cast<double>(timeline.peak_reserved) /
                                            static_cast<double>(std::max<Bytes>(timeline.peak, 1))));
    if (usable <= 0) return of;
    return DryRunModel::tr("%1 · %2 usable").arg(of, bytesText(usable));
}

}  // namespace

QList<Figure> timelineFigures(const MemoryTimeline& timeline, Bytes estimated, Bytes usable) {
    QList<Figure> figures{{DryRunModel::tr("Peak"), bytesText(timeline.peak),
                           DryRunModel::tr("allocated, after event %1 of %2")
                               .arg(countText(timeline.peak_event), countText(timeline.events))}};
    if (timeline.peak_reserved > 0)
        figures.append(
            {DryRunModel::tr("Reserved"), bytesText(timeline.peak_reserved), reservedWords(timeline, usable)});
    if (estimated > 0) {
        const double off = static_cast<double>(estimated) / static_cast<double>(std::max<Bytes>(timeline.peak, 1)) - 1;
        figures.append({DryRunModel::tr("Analytic estimate"), bytesText(estimated),
                        DryRunModel::tr("the same rank without overhead, %1%2 %")
                            .arg(off < 0 ? QStringLiteral("−") : QStringLiteral("+"),
                                 QLocale().toString(std::abs(off) * 100, 'f', 1))});
    }
    return figures;
}

}  // namespace plimsoll::ui
