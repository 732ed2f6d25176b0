// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/data_preview.h"

#include <QMetaObject>

#include "core/data/corpus.h"
#include "core/data/sample_order.h"
#include "ui/common/plan_field.h"

namespace plimsoll::ui {

namespace {

constexpr std::size_t previewBytes = 4000;

}  // namespace

DataFacts readDataFacts(const Data& data, std::uint64_t seed) {
    DataFacts facts;
    const Result<Corpus> corpus = load_corpus(data);
    if (!corpus) {
        facts.problem = inWords(corpus.error().message);
        return facts;
    }
    facts.name = QString::fromStdString(corpus->name);
    facts.bytes = static_cast<qint64>(corpus->text.size());
    facts.documents = static_cast<qint64>(corpus->documents);
    facts.trainBytes = static_cast<qint64>(corpus->train_size);
    facts.samplesPerEpoch =
        static_cast<qint64>(SampleOrder(corpus->train_size, data.sequence_length, seed).samples_per_epoch());
    facts.beginning = QString::fromStdString(corpus->text.substr(0, previewBytes));
    // The cut may fall within a character of several bytes.
    if (corpus->text.size() > previewBytes)
        while (facts.beginning.endsWith(QChar::ReplacementCharacter)) facts.beginning.chop(1);
    return facts;
}

DataPreview::DataPreview(QObject* parent) : QObject(parent) { pool_.setMaxThreadCount(1); }

DataPreview::~DataPreview() {
    pool_.clear();
    pool_.waitForDone();
}

void DataPreview::show(const Data& data, std::uint64_t seed) {
    if (number_ > 0 && data == data_) return;
    data_ = data;
    loading_ = true;
    pool_.clear();  // drops the reading of an older text that has not begun
    const int number = ++number_;
    pool_.start([this, data, seed, number] {
        const DataFacts facts = readDataFacts(data, seed);
        QMetaObject::invokeMethod(
            this, [this, number, facts] { take(number, facts); }, Qt::QueuedConnection);
    });
    emit changed();
}

void DataPreview::take(int number, const DataFacts& facts) {
    if (number != number_) return;
    facts_ = facts;
    loading_ = false;
    emit changed();
}

}  // namespace plimsoll::ui
