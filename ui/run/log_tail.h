// SPDX-License-Identifier: GPL-3.0-or-later
// The log of one process of a run, followed as it grows; read on another thread.
#pragma once

#include <filesystem>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "ui/common/background.h"

namespace plimsoll::ui {

/// The logs that a run folder holds, as names for a person and paths: the supervisor's, each rank's in order, the
/// store's. Empty where there is none.
struct NamedLog {
    QString name;
    QString path;
};
QList<NamedLog> logsOf(const QString& runPath);

class LogTail : public QObject {
    Q_OBJECT
public:
    /// Of a longer log the end is shown, this much of it.
    static constexpr qint64 mostBytes = 4 << 20;

    explicit LogTail(QObject* parent = nullptr);

    /// Follows this file from its end backwards; "" closes.
    void open(const QString& path);
    QString path() const { return path_; }
    /// What has been read, without the codes that colour a terminal.
    QString text() const { return text_; }
    /// Bytes at the beginning of the file that are not shown.
    qint64 skipped() const { return skipped_; }
    /// Why the file cannot be read; "" when all is well.
    QString problem() const { return problem_; }
    /// Looks for new text at each interval while this is on.
    void setFollowing(bool following);

signals:
    void reset();                        ///< another file: text() is new
    void appended(const QString& text);  ///< behind what was there
    void problemChanged();

private:
    struct Piece {
        QString text;
        qint64 end = 0;
        qint64 skipped = 0;
        bool from_start = false;  ///< replaces what was shown
    };
    static Result<Piece> read(const std::string& path, qint64 from);
    void look();
    void take(const Result<Piece>& piece);

    QString path_;
    QString text_;
    QString problem_;
    qint64 end_ = -1;  ///< read up to here; -1: not yet
    qint64 skipped_ = 0;
    QTimer timer_;
    Background reading_;
};

}  // namespace plimsoll::ui
