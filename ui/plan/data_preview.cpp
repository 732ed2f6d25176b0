// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/data_preview.h"

#include "core/data/corpus.h"
#include "core/data/sample_order.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {

namespace {

constexpr Bytes previewBytes = 4000;

/// A NUL, or one in twenty characters that cannot be read as UTF-8 or controls something.
bool looksBinary(const QString& text) {
    qsizetype odd = 0;
    for (const QChar c : text) {
        if (c.isNull()) return true;
        const bool control = c < QLatin1Char(' ') && c != QLatin1Char('\n') && c != QLatin1Char('\r') &&
                             c != QLatin1Char('\t') && c != QLatin1Char('\f');
        if (control || c == QChar::ReplacementCharacter) ++odd;
    }
    return odd * 20 > text.size();
}

}  // namespace

DataFacts readDataFacts(const Data& data, std::uint64_t seed) {
    DataFacts facts;
    const Result<CorpusBeginning> corpus = read_corpus_beginning(data, previewBytes);
    if (!corpus) {
        facts.problem = inWords(corpus.error().message);
        return facts;
    }
    facts.name = QString::fromStdString(corpus->name);
    facts.bytes = corpus->size;
    facts.documents = static_cast<qint64>(corpus->documents);
    facts.trainBytes = static_cast<qint64>(corpus->train_size) * corpus->token_width;
    facts.samplesPerEpoch =
        static_cast<qint64>(SampleOrder(corpus->train_size, data.sequence_length, seed).samples_per_epoch());
    facts.beginning = QString::fromStdString(corpus->text);
    // The cut may fall within a character of several bytes.
    if (corpus->size > previewBytes)
        while (facts.beginning.endsWith(QChar::ReplacementCharacter)) facts.beginning.chop(1);
    facts.looksBinary = looksBinary(facts.beginning);
    return facts;
}

void DataPreview::show(const Data& data, std::uint64_t seed) {
    if (data == data_) return;
    data_ = data;
    reading_.ask([data, seed] { return readDataFacts(data, seed); },
                 [this](const Result<DataFacts>& facts) {
                     facts_ = facts ? *facts : DataFacts();
                     if (!facts) facts_.problem = inWords(facts.error().message);
                     emit changed();
                 });
    emit changed();
}

}  // namespace plimsoll::ui
