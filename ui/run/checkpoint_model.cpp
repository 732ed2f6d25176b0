// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/checkpoint_model.h"

#include <QLocale>
#include <utility>

#include "core/interop/model_files/folder_aside.h"
#include "core/interop/model_files/hf_folder.h"
#include "core/plan/adapter.h"
#include "core/run/processes/merge_process.h"
#include "core/run/run_folder.h"
#include "ui/common/escaped_text.h"
#include "ui/common/value_format.h"
#include "ui/run/run_words.h"

namespace plimsoll::ui {

namespace {

Result<QString> exportModel(const Plan& plan, std::filesystem::path checkpoint, const std::filesystem::path& out,
                            const std::function<bool(Bytes, Bytes)>& goOn) {
    // Removed on return: the export is a copy of it.
    std::optional<FolderAside> merging;
    if (adapts(plan)) {
        PLIMSOLL_CHECK(require_free_place(out, 0));
        PLIMSOLL_TRY(auto aside, FolderAside::make(out.string() + "-merging"));
        merging.emplace(std::move(aside));
        PLIMSOLL_CHECK(merge_adapter(plan, checkpoint, merging->path() / "model"));
        checkpoint = merging->path() / "model";
    }
    HfFolderOptions options;
    options.go_on = goOn;
    PLIMSOLL_TRY(const HfFolder written, export_hf_folder(checkpoint, out, options));
    return CheckpointModel::tr("Exported for Hugging Face: %1 (%2 tensors, %3)")
        .arg(QString::fromStdString(out.string()), countText(static_cast<std::int64_t>(written.tensors)),
             bytesText(written.bytes));
}

Result<QString> exportAdapter(const std::filesystem::path& checkpoint, const std::filesystem::path& out) {
    PLIMSOLL_CHECK(export_peft_folder(checkpoint, out));
    return CheckpointModel::tr("Exported for PEFT: %1").arg(QString::fromStdString(out.string()));
}

TextRow rowOf(const ListedCheckpoint& each) {
    TextRow row;
    row.cells = {formatStep(static_cast<double>(each.step)),
                 each.loss ? formatValue(ValueKind::Plain, *each.loss) : QStringLiteral("–"), bytesText(each.bytes),
                 each.saved > 0 ? QLocale().toString(dateTime(each.saved), QLocale::ShortFormat) : QStringLiteral("–")};
    row.tip = plainTip(QString::fromStdString(each.path.string()));
    if (!each.complete) row.tip += CheckpointModel::tr(" (incomplete: it has no readable state.json)");
    row.name = QString::number(each.step);
    row.faint = !each.complete;
    row.sort = {qlonglong{each.step}, each.loss ? *each.loss : 1e300, qlonglong{each.bytes}, each.saved};
    return row;
}

}  // namespace

CheckpointModel::CheckpointModel(QObject* parent)
    : QObject(parent), rows_({tr("Step"), tr("Loss"), tr("Size"), tr("Saved")}, {0, 1, 2}) {}

CheckpointModel::~CheckpointModel() = default;

void CheckpointModel::open(const QString& runPath) {
    if (runPath != run_) take({});
    run_ = runPath;
    if (run_.isEmpty()) {
        listing_.cancel();
        return;
    }
    listing_.ask(
        [path = run_.toStdString()] {
            const RunFolder run{std::filesystem::path(path)};
            Listing listing{list_checkpoints(run.layout()), std::nullopt};
            if (auto plan = run.plan()) listing.plan = *std::move(plan);
            return listing;
        },
        [this](Result<Listing> listing) { take(std::move(listing).value_or(Listing())); });
}

void CheckpointModel::take(Listing listing) {
    checkpoints_ = std::move(listing.checkpoints);
    plan_ = std::move(listing.plan);
    QList<TextRow> rows;
    for (const ListedCheckpoint& each : checkpoints_) rows.append(rowOf(each));
    rows_.setRows(std::move(rows));
    emit listed();
}

const ListedCheckpoint* CheckpointModel::checkpoint(int row) const {
    const auto index = static_cast<std::size_t>(row);
    return row >= 0 && index < checkpoints_.size() ? &checkpoints_[index] : nullptr;
}

void CheckpointModel::exportTo(int row, CheckpointExport kind, const QString& out) {
    const ListedCheckpoint* chosen = checkpoint(row);
    if (!chosen || !plan_ || isExporting()) return;
    exporting_.ask(
        [this, plan = *plan_, path = chosen->path, kind,
         out = std::filesystem::path(out.toStdString())](const Question& question) -> Result<QString> {
            if (kind == CheckpointExport::Peft) return exportAdapter(path, out);
            return exportModel(plan, path, out, [&](Bytes done, Bytes total) {
                const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
                question.tell([this, share] { emit progressed(share); });
                return !question.isCancelled();
            });
        },
        [this](const Result<QString>& written) {
            emit exportingChanged();
            if (written)
                emit exported(*written);
            else
                emit failed(QString::fromStdString(written.error().message));
        });
    emit exportingChanged();
}

void CheckpointModel::cancelExport() {
    exporting_.cancel();
    emit exportingChanged();
}

}  // namespace plimsoll::ui
