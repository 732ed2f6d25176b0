// SPDX-License-Identifier: Apache-2.0
// Whatever compares plans walks the one list of fields, and the list holds every member.
#include "core/plan/plan_difference.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/plan/plan_schema.h"
#include "core/plan/settings.h"
#include "tests/support/changed_field.h"
#include "tests/support/members.h"

namespace plimsoll {
namespace {

using ::testing::IsEmpty;

std::size_t fields_in(const std::string& section) {
    std::size_t count = 0;
    for (const FieldInfo& field : plan_fields()) count += field.key.starts_with(section + ".") ? 1 : 0;
    return count;
}

struct Three {
    int number = 0;
    std::string text;
    Cluster cluster;
};

TEST(PlanFields, HoldEveryMemberOfThePlan) {
    static_assert(members<Three>() == 3);
    EXPECT_EQ(fields_in("model"), members<Model>());
    EXPECT_EQ(fields_in("cluster"), members<Cluster>());
    EXPECT_EQ(fields_in("layout"), members<Layout>());
    EXPECT_EQ(fields_in("numerics"), members<Numerics>());
    EXPECT_EQ(fields_in("optimizer"), members<Optimizer>());
    EXPECT_EQ(fields_in("lr"), members<LrSchedule>());
    EXPECT_EQ(fields_in("guard"), members<Guard>());
    EXPECT_EQ(fields_in("data"), members<Data>());
    EXPECT_EQ(fields_in("training"), members<Training>());
    EXPECT_EQ(fields_in("adapter"), members<Adapter>());
    EXPECT_EQ(fields_in("export"), members<ExportSettings>());
    std::set<std::string> sections;
    for (const FieldInfo& field : plan_fields()) sections.insert(field.key.substr(0, field.key.find('.')));
    EXPECT_EQ(sections.size() + 1, members<Plan>()) << "the name, the sections and the document that was read";
}

TEST(PlanFields, EachSaysWhetherItMayChangeOnResumeAndWhy) {
    for (const FieldInfo& field : plan_fields()) EXPECT_FALSE(field.resume_reason.empty()) << field.key;
}

TEST(PlanDifference, EqualPlansHaveNone) {
    EXPECT_THAT(differences(Plan(), Plan()), IsEmpty());
    EXPECT_TRUE(Plan() == Plan());
}

TEST(PlanDifference, EachFieldCountsInComparisonDocumentAndSettings) {
    const Plan plan;
    for (const FieldInfo& field : plan_fields()) {
        SCOPED_TRACE(field.key);
        Plan changed = plan;
        FieldChanger changer(field.key);
        visit_fields(changer, changed);
        ASSERT_EQ(changer.changed, 1);
        EXPECT_FALSE(changed == plan);
        const auto found = differences(plan, changed);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].key, field.key);
        EXPECT_NE(found[0].before, found[0].after);
        EXPECT_EQ(found[0].may_change_on_resume, field.may_change_on_resume);
        EXPECT_EQ(found[0].resume_reason, field.resume_reason);

        const auto read = plan_from_json(to_json(changed), "the document");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(read->plan == changed);
        const auto set = with_settings(plan, {field.key + "=" + changer.value});
        ASSERT_TRUE(set) << set.error().message;
        EXPECT_FALSE(*set == plan);
        if (field.key != "model.preset") {  // takes the whole model
            EXPECT_TRUE(*set == changed);
        }
    }
}

TEST(PlanDifference, ValuesAreShown) {
    Plan changed;
    changed.adapter.alpha = 64;
    changed.layout.sequence_parallel = true;
    const auto found = differences(Plan(), changed);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].key, "layout.sequence_parallel");
    EXPECT_EQ(found[0].before, "false");
    EXPECT_EQ(found[0].after, "true");
    EXPECT_EQ(found[1].key, "adapter.alpha");
    EXPECT_EQ(found[1].before, "32.0");
    EXPECT_EQ(found[1].after, "64.0");
    EXPECT_FALSE(found[1].may_change_on_resume);
}

}  // namespace
}  // namespace plimsoll
