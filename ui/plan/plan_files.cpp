// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/plan_files.h"

#include <optional>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/estimate/estimate_json.h"
#include "core/plan/plan_io.h"

namespace plimsoll::ui {

namespace {

constexpr int draftDelayMs = 400;
constexpr qsizetype mostRecent = 10;
constexpr Bytes draftLimit = 8 * MiB;

std::filesystem::path inState(const char* name) { return std::filesystem::path(stateFolder().toStdString()) / name; }

Result<void> makeStateFolder() {
    if (QDir().mkpath(stateFolder())) return {};
    return failed("cannot create the folder {}: check its permissions and the free space", stateFolder().toStdString());
}

}  // namespace

QString stateFolder() {
    const QString state = qEnvironmentVariable("XDG_STATE_HOME");
    const QString base = QDir::isAbsolutePath(state) ? state : QDir::homePath() + QStringLiteral("/.local/state");
    return base + QStringLiteral("/plimsoll");
}

PlanFiles::PlanFiles(PlanModel* model, QObject* parent) : QObject(parent), model_(model) {
    timer_.setSingleShot(true);
    timer_.setInterval(draftDelayMs);
    connect(&timer_, &QTimer::timeout, this, [this] { (void)saveDraft(); });
    connect(model_, &PlanModel::changed, this, [this] { timer_.start(); });
    connect(model_, &PlanModel::fileChanged, this, [this] { timer_.start(); });
}

PlanFiles::~PlanFiles() {
    if (timer_.isActive()) (void)saveDraft();
}

Result<void> PlanFiles::saveDraft() {
    timer_.stop();
    Json draft = Json::object();
    draft["path"] = model_->path().toStdString();
    draft["plan"] = to_json(model_->plan());
    if (model_->state().saved) draft["saved"] = to_json(*model_->state().saved);
    if (model_->state().opened) draft["opened"] = to_json(*model_->state().opened);
    Result<void> saved = makeStateFolder();
    if (saved) saved = write_json(inState("draft.json"), draft);
    if (!saved && !failing_) emit draftFailed(QString::fromStdString(saved.error().message));
    failing_ = !saved;
    return saved;
}

namespace {

/// The draft of the last session; nothing where there is none.
Result<std::optional<PlanState>> readDraft() {
    const std::filesystem::path path = inState("draft.json");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::nullopt;
    PLIMSOLL_TRY(const auto draft, read_json(path, draftLimit));
    if (!draft.is_object() || !draft.contains("plan")) return bad_input("it holds no plan");
    PLIMSOLL_TRY(auto plan, plan_from_json(draft["plan"], "draft.json"));
    const auto kept = [&](const char* key) -> std::shared_ptr<const Plan> {
        if (!draft.contains(key)) return nullptr;
        Result<LoadedPlan> loaded = plan_from_json(draft[key], "draft.json");
        return loaded ? std::make_shared<const Plan>(std::move(loaded->plan)) : nullptr;
    };
    PlanState state;
    state.plan = std::move(plan.plan);
    if (draft.contains("path") && draft["path"].is_string())
        state.path = QString::fromStdString(draft["path"].get<std::string>());
    state.saved = kept("saved");
    state.opened = kept("opened");
    return std::optional(std::move(state));
}

}  // namespace

Result<bool> PlanFiles::restoreDraft() {
    const std::filesystem::path path = inState("draft.json");
    const auto setAside = [&path](const std::string& reason) -> Result<bool> {
        std::filesystem::path aside = path;
        aside += ".unreadable";
        std::error_code error;
        std::filesystem::rename(path, aside, error);
        return bad_input("the draft of the last session cannot be read ({}); it is kept as {}", reason, aside.string());
    };
    Result<std::optional<PlanState>> draft = readDraft();
    if (!draft) return setAside(draft.error().message);
    if (!*draft) return false;
    model_->restore(**draft);
    return true;
}

QString PlanFiles::keepDraftAside() {
    const Result<std::optional<PlanState>> draft = readDraft();
    if (!draft || !*draft) return {};
    const PlanState& state = **draft;
    const bool saved = state.saved && *state.saved == state.plan;
    if (saved || (state.opened && *state.opened == state.plan)) return {};
    if (!makeStateFolder()) return {};
    const QDir folder(stateFolder());
    if (!folder.mkpath(QStringLiteral("kept"))) return {};
    const QString stem = suggestedName(state.plan).chopped(5);
    QString path = folder.filePath(QStringLiteral("kept/%1.json").arg(stem));
    for (int number = 2; QFile::exists(path); ++number)
        path = folder.filePath(QStringLiteral("kept/%1-%2.json").arg(stem).arg(number));
    if (!save_plan(path.toStdString(), state.plan)) return {};
    remember(path);
    return path;
}

QString PlanFiles::suggestedName(const Plan& plan) {
    const QString text = plan.name.empty() ? planSummary(plan) : QString::fromStdString(plan.name);
    QString name;
    for (const QChar letter : text.left(60).toLower()) {
        if (letter.isLetterOrNumber())
            name += letter;
        else if (!name.isEmpty() && !name.endsWith(QLatin1Char('-')))
            name += QLatin1Char('-');
    }
    while (name.endsWith(QLatin1Char('-'))) name.chop(1);
    return (name.isEmpty() ? QStringLiteral("plan") : name) + QStringLiteral(".json");
}

Result<void> PlanFiles::open(const QString& pathOrPreset) {
    // Absolute, so that the draft and the list of recent files mean the same file in any working folder.
    const QFileInfo file(pathOrPreset);
    Result<void> opened = model_->open(file.isFile() ? file.absoluteFilePath() : pathOrPreset);
    if (opened && !model_->path().isEmpty()) remember(model_->path());
    return opened;
}

Result<void> PlanFiles::save(const QString& path) {
    const QFileInfo file(path);
    const QString ending = file.suffix().isEmpty() ? QStringLiteral(".json") : QString();
    Result<void> saved = model_->saveTo(file.absoluteFilePath() + ending);
    if (saved) remember(model_->path());
    return saved;
}

QStringList PlanFiles::recent() const {
    QStringList paths;
    const Result<Json> list = read_json(inState("recent.json"), draftLimit);
    if (!list || !list->is_array()) return paths;
    for (const Json& entry : *list) {
        if (!entry.is_string() || paths.size() >= mostRecent) continue;
        const QString path = QString::fromStdString(entry.get<std::string>());
        if (QFileInfo(path).isFile()) paths.append(path);
    }
    return paths;
}

void PlanFiles::remember(const QString& path) {
    QStringList paths = recent();
    paths.removeAll(path);
    paths.prepend(path);
    Json list = Json::array();
    for (const QString& entry : paths.mid(0, mostRecent)) list.push_back(entry.toStdString());
    // The list is a convenience: a full disk here must not disturb the save that it follows.
    if (makeStateFolder()) (void)write_json(inState("recent.json"), list);
}

}  // namespace plimsoll::ui
