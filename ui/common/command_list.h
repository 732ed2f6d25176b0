// SPDX-License-Identifier: GPL-3.0-or-later
// The entries of the search field: actions, settings, presets.
#pragma once

#include <functional>
#include <QAbstractListModel>
#include <QList>

namespace plimsoll::ui {

struct Command {
    QString title;     ///< "Data parallel"
    QString detail;    ///< "Layout · Data-parallel ranks: each takes …"
    QString shortcut;  ///< at the right end
    QString words;     ///< further words that find the entry: "layout.dp dp"
    std::function<void()> run;
};

class CommandList : public QAbstractListModel {
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;

    void setCommands(QList<Command> commands);
    const QList<Command>& commands() const { return commands_; }
    /// Keeps commands that hold every word of `text`, best first: first titles that begin with the words, then words
    /// within titles, then the rest.
    void setFilter(const QString& text);
    void run(const QModelIndex& index) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

    static constexpr int DetailRole = Qt::UserRole;
    static constexpr int ShortcutRole = Qt::UserRole + 1;

private:
    QList<Command> commands_;
    QList<int> shown_;
    QString filter_;
};

/// How well a command matches the words (all lower case); 0: not at all.
int commandScore(const Command& command, const QStringList& words);

}  // namespace plimsoll::ui
