// SPDX-License-Identifier: GPL-3.0-or-later
// The checkpoints of one run as a table, and their export; both off the window's thread.
#pragma once

#include <atomic>
#include <memory>
#include <QObject>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/checkpoint_list.h"
#include "ui/common/background.h"
#include "ui/common/text_table.h"

namespace plimsoll::ui {

enum class CheckpointExport { HuggingFace, Peft };

class CheckpointModel : public QObject {
    Q_OBJECT
public:
    explicit CheckpointModel(QObject* parent = nullptr);
    ~CheckpointModel() override;

    /// Lists the checkpoints of this run, now; "" for none.
    void open(const QString& runPath);
    void refresh() { open(run_); }

    QString runPath() const { return run_; }
    /// Step, loss, size, time, state; newest first.
    TextTable* table() { return &rows_; }
    const std::vector<ListedCheckpoint>& checkpoints() const { return checkpoints_; }
    /// nullptr outside the table.
    const ListedCheckpoint* checkpoint(int row) const;
    /// The plan of the run; nothing while it is not read.
    const std::optional<Plan>& plan() const { return plan_; }

    /// Writes the checkpoint of that row into the new folder `out`: for transformers, with an adapter merged into its
    /// model, or the adapter alone for PEFT. Ends with exported() or failed(); one at a time.
    void exportTo(int row, CheckpointExport kind, const QString& out);
    bool isExporting() const { return exporting_.isBusy(); }
    void cancelExport();

signals:
    void listed();
    void exportingChanged();
    void progressed(double share);  ///< 0…1 of the bytes
    void exported(const QString& sentence);
    void failed(const QString& sentence);

private:
    struct Listing {
        std::vector<ListedCheckpoint> checkpoints;
        std::optional<Plan> plan;
    };
    void take(Listing listing);

    QString run_;
    TextTable rows_;
    std::vector<ListedCheckpoint> checkpoints_;
    std::optional<Plan> plan_;
    Background listing_;
    Background exporting_;
};

}  // namespace plimsoll::ui
