// SPDX-License-Identifier: GPL-3.0-or-later
// The training text as the Data page shows it, read on a thread of its own.
#pragma once

#include <optional>
#include <QObject>
#include <QString>

#include "core/plan/plan.h"
#include "ui/common/background.h"

namespace plimsoll::ui {

struct DataFacts {
    QString problem;  ///< why the text cannot be read; then the other members mean nothing
    QString name;
    qint64 bytes = 0;  ///< also the number of tokens: the tokenizer is byte-level
    qint64 documents = 0;
    qint64 trainBytes = 0;
    qint64 samplesPerEpoch = 0;
    QString beginning;         ///< the first characters
    bool looksBinary = false;  ///< it has characters that no text has
};

class DataPreview : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Reads the text again where path, sequence length, validation share or seed have changed.
    void show(const Data& data, std::uint64_t seed);
    bool isLoading() const { return reading_.isBusy(); }
    const DataFacts& facts() const { return facts_; }

signals:
    void changed();

private:
    Background reading_;
    std::optional<Data> data_;  ///< what was read last
    DataFacts facts_;
};

/// Reads no more of the text than its beginning.
DataFacts readDataFacts(const Data& data, std::uint64_t seed);

}  // namespace plimsoll::ui
