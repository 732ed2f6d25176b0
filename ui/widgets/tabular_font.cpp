// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/tabular_font.h"

#include <QDirIterator>
#include <QFile>
#include <QFontDatabase>
#include <QStandardPaths>
#include <QtEndian>

namespace plimsoll::ui {

namespace {

struct Table {
    qsizetype offset = 0;
    qsizetype length = 0;
};

quint16 read16(const QByteArray& font, qsizetype at) {
    return at >= 0 && at + 2 <= font.size() ? qFromBigEndian<quint16>(font.constData() + at) : quint16{0};
}

quint32 read32(const QByteArray& font, qsizetype at) {
    return at >= 0 && at + 4 <= font.size() ? qFromBigEndian<quint32>(font.constData() + at) : quint32{0};
}

Table findTable(const QByteArray& font, const char* tag) {
    const int count = read16(font, 4);
    for (int i = 0; i < count; ++i) {
        const qsizetype record = 12 + 16 * i;
        if (font.mid(record, 4) != tag) continue;
        const Table table{read32(font, record + 8), read32(font, record + 12)};
        if (table.offset + table.length <= font.size()) return table;
    }
    return {};
}

/// GSUB's feature list: u16 count, then records of a four-letter tag and an offset.
bool switchFeatureOn(QByteArray& font, const char* tag) {
    const Table gsub = findTable(font, "GSUB");
    if (gsub.length < 10) return false;
    const qsizetype list = gsub.offset + read16(font, gsub.offset + 6);
    const int count = read16(font, list);
    bool found = false;
    for (int i = 0; i < count; ++i) {
        const qsizetype record = list + 2 + 6 * i;
        if (font.mid(record, 4) != tag) continue;
        font.replace(record, 4, "rlig");
        found = true;
    }
    return found;
}

QByteArray utf16(const QString& text) {
    QByteArray bytes;
    for (const QChar c : text) {
        bytes.append(static_cast<char>(c.unicode() >> 8));
        bytes.append(static_cast<char>(c.unicode() & 0xff));
    }
    return bytes;
}

}  // namespace

QByteArray withTabularFigures(QByteArray font, const QString& family, const QString& newFamily) {
    // The new name must take the same room: offsets stay as they are.
    if (family.size() != newFamily.size() || !switchFeatureOn(font, "tnum")) return {};
    const Table names = findTable(font, "name");
    if (names.length == 0) return {};
    QByteArray table = font.mid(names.offset, names.length);
    table.replace(utf16(family), utf16(newFamily));
    table.replace(family.toLatin1(), newFamily.toLatin1());
    font.replace(names.offset, names.length, table);
    return font;
}

QString loadTabularInter() {
    static const QString loaded = [] {
        bool regular = false;
        QStringList folders = QStandardPaths::standardLocations(QStandardPaths::FontsLocation);
        folders << QStringLiteral("/usr/share/fonts") << QStringLiteral("/usr/local/share/fonts");
        const QStringList styles{QStringLiteral("Inter-Regular.otf"), QStringLiteral("Inter-SemiBold.otf"),
                                 QStringLiteral("Inter-Bold.otf"), QStringLiteral("Inter-Italic.otf")};
        for (const QString& folder : std::as_const(folders)) {
            if (regular) break;
            QDirIterator files(folder, styles, QDir::Files, QDirIterator::Subdirectories);
            while (files.hasNext()) {
                QFile file(files.next());
                if (file.size() > 16 * 1024 * 1024 || !file.open(QIODevice::ReadOnly)) continue;
                const QByteArray font =
                    withTabularFigures(file.readAll(), QStringLiteral("Inter"), QStringLiteral("Intab"));
                if (font.isEmpty()) continue;
                if (QFontDatabase::addApplicationFontFromData(font) < 0) continue;
                regular = regular || file.fileName().endsWith(QLatin1String("Inter-Regular.otf"));
            }
        }
        return regular ? QStringLiteral("Intab") : QString();
    }();
    return loaded;
}

}  // namespace plimsoll::ui
