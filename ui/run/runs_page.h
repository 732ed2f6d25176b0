// SPDX-License-Identifier: GPL-3.0-or-later
// The Runs page: all runs of the store as a table, with notes and checkpoints of the chosen one.
#pragma once

#include <filesystem>
#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;

namespace plimsoll {
struct Plan;
}

namespace plimsoll::ui {

class CheckpointCard;
class FactTable;
class RunListModel;
class RunModel;
class RunNotesCard;

class RunsPage : public QWidget {
    Q_OBJECT
public:
    /// `runs` is the list that the Watch page shows as well; `run` the run that is watched.
    RunsPage(RunListModel* runs, RunModel* run, QWidget* parent = nullptr);

    FactTable* table() const { return table_; }
    QLineEdit* search() const { return search_; }
    CheckpointCard* checkpoints() const { return checkpoints_; }
    RunNotesCard* notes() const { return notes_; }
    QPushButton* watchButton() const { return watch_; }
    QPushButton* resumeButton() const { return resume_; }
    QPushButton* moreStepsButton() const { return more_; }
    QPushButton* deleteButton() const { return delete_; }
    QPushButton* trashButton() const { return trash_; }
    /// The chosen run's folder; "" where none is.
    QString chosen() const;
    /// Chooses that run's row.
    void choose(const QString& runPath);

    void deleteChosen();
    /// Brings back what was deleted last.
    void undoDelete();

signals:
    void watchRequested(const QString& runPath);
    void resumeRequested(const QString& runPath);
    void moreStepsRequested(const QString& runPath);
    void forkRequested(const plimsoll::Plan& plan);
    void deleted(const QString& sentence);  ///< undoDelete() brings it back
    void done(const QString& sentence);
    void failed(const QString& sentence);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void refresh();
    void refreshTrash();
    void emptyTrash();

    RunListModel* runs_;
    RunModel* run_;
    QSortFilterProxyModel* sorted_;
    FactTable* table_;
    QLineEdit* search_;
    QLabel* count_;
    QPushButton* watch_;
    QPushButton* resume_;
    QPushButton* more_;
    QPushButton* delete_;
    QPushButton* trash_;
    RunNotesCard* notes_;
    CheckpointCard* checkpoints_;
    std::filesystem::path trashed_;  ///< what was deleted last
};

}  // namespace plimsoll::ui
