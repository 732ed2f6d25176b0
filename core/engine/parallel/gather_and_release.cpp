// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gather_and_release.h"

#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

GatherAndRelease::GatherAndRelease(Buckets& buckets, Collectives& ranks)
    : buckets_(buckets), ranks_(ranks), uses_(buckets.all().size()) {}

void GatherAndRelease::start(std::size_t unit) {
    if (buckets_.options().zero_stage < 3) return;
    for (Bucket& bucket : buckets_.all()) {
        if (bucket.unit != unit || bucket.parameters.present()) continue;
        const MemoryScope scope(MemoryCategory::Buffers);
        if (StateStore* const store = buckets_.options().parameter_store.get()) {
            store->prefetch(bucket.number);
            continue;
        }
        bucket.parameters.take();
        uses_[bucket.number].gathering = ranks_.all_gather(bucket.parameters.tensor(), bucket.parameter_shard);
    }
}

void GatherAndRelease::gather(std::size_t unit) {
    start(unit);
    StateStore* const store = buckets_.options().parameter_store.get();
    for (Bucket& bucket : buckets_.all()) {
        if (bucket.unit != unit) continue;
        Use& use = uses_[bucket.number];
        ++use.count;
        if (store != nullptr && !bucket.parameters.present()) {
            const MemoryScope scope(MemoryCategory::Buffers);
            must(store->acquire(bucket.number));
            bucket.parameters.take();
            must(ranks_.all_gather(bucket.parameters.tensor(), bucket.parameter_shard)->wait());
            store->drop(bucket.number);
        }
        if (!use.gathering) continue;
        must(use.gathering->wait());
        use.gathering = nullptr;
    }
}

void GatherAndRelease::release(std::size_t unit) {
    if (buckets_.options().zero_stage < 3) return;
    for (Bucket& bucket : buckets_.all()) {
        Use& use = uses_[bucket.number];
        if (bucket.unit != unit || use.count == 0 || --use.count > 0) continue;
        bucket.parameters.release();
    }
}

}  // namespace plimsoll::engine
