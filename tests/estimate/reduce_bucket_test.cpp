// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/reduce_bucket.h"
#include "core/base/json.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// stage_1_and_2.py, setup_buckets: the second bucket is there under overlap_comm alone.
TEST(ReduceBucket, AnImportedFilesOverlapCommDecides) {
    Plan plan;
    plan.layout.zero_stage = 2;
    EXPECT_EQ(reduce_buckets(plan), 2);
    plan.source = Json{{"deepspeed", {{"zero_optimization", {{"overlap_comm", false}}}}}};
    EXPECT_EQ(reduce_buckets(plan), 1);
    plan.source = Json{{"deepspeed", {{"zero_optimization", {{"overlap_comm", true}}}}}};
    EXPECT_EQ(reduce_buckets(plan), 2);
    plan.source = Json{{"deepspeed", {{"zero_optimization", true}}}};
    EXPECT_EQ(reduce_buckets(plan), 2);
    plan.layout.pp = 2;
    EXPECT_EQ(reduce_buckets(plan), 1) << "DeepSpeed's pipeline engine cannot overlap";
}

}  // namespace
}  // namespace plimsoll
