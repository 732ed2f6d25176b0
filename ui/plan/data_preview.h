// SPDX-License-Identifier: GPL-3.0-or-later
// The training text as the Data page shows it, read on a thread of its own.
#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>

#include "core/plan/plan.h"

namespace plimsoll::ui {

struct DataFacts {
    QString problem;  ///< why the text cannot be read; then the other members mean nothing
    QString name;
    qint64 bytes = 0;  ///< also the number of tokens: the tokenizer is byte-level
    qint64 documents = 0;
    qint64 trainBytes = 0;
    qint64 samplesPerEpoch = 0;
    QString beginning;  ///< the first characters
};

class DataPreview : public QObject {
    Q_OBJECT
public:
    explicit DataPreview(QObject* parent = nullptr);
    ~DataPreview() override;

    /// Reads the text again where path, sequence length, validation share or seed have changed.
    void show(const Data& data, std::uint64_t seed);
    bool isLoading() const { return loading_; }
    const DataFacts& facts() const { return facts_; }

signals:
    void changed();

private:
    void take(int number, const DataFacts& facts);

    QThreadPool pool_;
    Data data_;
    DataFacts facts_;
    int number_ = 0;
    bool loading_ = false;
};

DataFacts readDataFacts(const Data& data, std::uint64_t seed);

}  // namespace plimsoll::ui
