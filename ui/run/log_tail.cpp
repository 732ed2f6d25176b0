// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/log_tail.h"

#include <algorithm>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>

#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::ui {

namespace {

constexpr int lookEveryMs = 500;

QString withoutTerminalCodes(QString text) {
    static const QRegularExpression codes(QStringLiteral("\x1b\\[[0-9;?]*[A-Za-z]"));
    text.remove(codes);
    return text.remove(QLatin1Char('\r'));
}

}  // namespace

QList<NamedLog> logsOf(const QString& runPath) {
    QList<NamedLog> logs;
    const RunLayout run(runPath.toStdString());
    const auto add = [&](const QString& name, const std::filesystem::path& path) {
        const QString file = QString::fromStdString(path.string());
        if (QFileInfo(file).isFile()) logs.append({name, file});
        return QFileInfo(file).isFile();
    };
    add(LogTail::tr("Supervisor"), run.log(supervisor_rank));
    for (int rank = 0; rank < max_ranks; ++rank)
        if (!add(LogTail::tr("Rank %1").arg(rank), run.log(rank))) break;
    add(LogTail::tr("Store"), run.store_log());
    return logs;
}

LogTail::LogTail(QObject* parent) : QObject(parent) {
    timer_.setInterval(lookEveryMs);
    connect(&timer_, &QTimer::timeout, this, &LogTail::look);
}

void LogTail::open(const QString& path) {
    reading_.cancel();
    path_ = path;
    text_.clear();
    problem_.clear();
    end_ = -1;
    skipped_ = 0;
    emit reset();
    look();
}

void LogTail::setFollowing(bool following) {
    if (following == timer_.isActive()) return;
    if (!following) {
        timer_.stop();
        return;
    }
    timer_.start();
    look();
}

Result<LogTail::Piece> LogTail::read(const std::string& path, qint64 from) {
    QFile file(QString::fromStdString(path));
    if (!file.open(QIODevice::ReadOnly))
        return bad_input("{} cannot be read: {}", path, file.errorString().toStdString());
    const qint64 size = file.size();
    Piece piece;
    piece.from_start = from < 0 || from > size;  // a log that was cut short is another one
    const qint64 begin = piece.from_start ? std::max<qint64>(0, size - mostBytes) : from;
    file.seek(begin);
    QByteArray bytes = file.read(mostBytes);
    piece.end = begin + bytes.size();
    if (piece.from_start && begin > 0) {
        const qsizetype line = bytes.indexOf('\n') + 1;  // the first line may be cut
        piece.skipped = begin + line;
        bytes.remove(0, line);
    }
    piece.text = withoutTerminalCodes(QString::fromUtf8(bytes));
    return piece;
}

void LogTail::look() {
    if (path_.isEmpty() || reading_.isBusy()) return;
    reading_.ask([path = path_.toStdString(), from = end_] { return read(path, from); },
                 [this](const Result<Piece>& piece) { take(piece); });
}

void LogTail::take(const Result<Piece>& piece) {
    const QString problem = piece ? QString() : QString::fromStdString(piece.error().message);
    if (problem != problem_) {
        problem_ = problem;
        emit problemChanged();
    }
    if (!piece) return;
    end_ = piece->end;
    if (piece->from_start) {
        text_ = piece->text;
        skipped_ = piece->skipped;
        emit reset();
    } else if (!piece->text.isEmpty()) {
        text_ += piece->text;
        emit appended(piece->text);
    }
}

}  // namespace plimsoll::ui
