// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/command_list.h"

#include <algorithm>

namespace plimsoll::ui {

namespace {

constexpr int mostShown = 60;

bool beginsWord(const QString& text, const QString& word) {
    for (qsizetype at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
        if (at == 0 || !text[at - 1].isLetterOrNumber()) return true;
    return false;
}

int wordScore(const QString& title, const QString& words, const QString& detail, const QString& word) {
    if (title.startsWith(word)) return 8;
    if (beginsWord(title, word)) return 6;
    if (beginsWord(words, word)) return 5;
    if (title.contains(word)) return 3;
    if (words.contains(word) || beginsWord(detail, word)) return 2;
    return detail.contains(word) ? 1 : 0;
}

}  // namespace

int commandScore(const Command& command, const QStringList& words) {
    const QString title = command.title.toLower();
    const QString others = command.words.toLower();
    const QString detail = command.detail.toLower();
    int score = 1;
    for (const QString& word : words) {
        const int one = wordScore(title, others, detail, word);
        if (one == 0) return 0;
        score += one;
    }
    return score;
}

void CommandList::setCommands(QList<Command> commands) {
    commands_ = std::move(commands);
    setFilter(filter_);
}

void CommandList::setFilter(const QString& text) {
    filter_ = text;
    const QStringList words = text.toLower().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    QList<std::pair<int, int>> found;
    for (int i = 0; i < commands_.size(); ++i)
        if (const int score = commandScore(commands_[i], words)) found.append({score, i});
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    beginResetModel();
    shown_.clear();
    for (const auto& [score, i] : found.mid(0, mostShown)) shown_.append(i);
    endResetModel();
}

void CommandList::run(const QModelIndex& index) const {
    if (!index.isValid() || index.row() >= shown_.size()) return;
    // A copy, since the command may change the list.
    const std::function<void()> chosen = commands_[shown_[index.row()]].run;
    if (chosen) chosen();
}

int CommandList::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant CommandList::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= shown_.size()) return {};
    const Command& command = commands_[shown_[index.row()]];
    switch (role) {
        case Qt::DisplayRole:
            return command.title;
        case Qt::AccessibleTextRole:
            return command.detail.isEmpty() ? command.title
                                            : QStringLiteral("%1, %2").arg(command.title, command.detail);
        case DetailRole:
            return command.detail;
        case ShortcutRole:
            return command.shortcut;
        default:
            return {};
    }
}

}  // namespace plimsoll::ui
