// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "core/plan/presets.h"
#include "ui/plan/plan_tables.h"

namespace plimsoll::ui {
namespace {

using Part = ParameterShare::Part;

TEST(ParameterShares, MakeUpEveryPresetToTheLastParameter) {
    for (const std::string& name : model_preset_names()) {
        const Model model = *model_preset(name);
        const ParameterCounts counts = count_parameters(model);
        std::int64_t sum = 0;
        QStringList names;
        for (const ParameterShare& share : parameterShares(model, counts)) {
            EXPECT_GT(share.count, 0) << name;
            EXPECT_FALSE(names.contains(share.name)) << "a chart's category needs a name of its own";
            names << share.name;
            sum += share.count;
        }
        EXPECT_EQ(sum, counts.total) << name;
    }
}

std::int64_t of(const QList<ParameterShare>& shares, Part part) {
    for (const ParameterShare& share : shares)
        if (share.part == part) return share.count;
    return 0;
}

TEST(ParameterShares, OfGpt2) {
    const Model model = *model_preset("gpt2");
    const QList<ParameterShare> shares = parameterShares(model, count_parameters(model));
    EXPECT_EQ(of(shares, Part::Embedding), (50'257 + 1'024) * 768) << "positions are embeddings too";
    EXPECT_EQ(of(shares, Part::Attention), 12 * (4 * 768 * 768 + 4 * 768));
    EXPECT_EQ(of(shares, Part::Mlp), 12 * (2 * 768 * 3'072 + 3'072 + 768));
    EXPECT_EQ(of(shares, Part::Norms), 12 * 4 * 768 + 2 * 768);
    EXPECT_EQ(of(shares, Part::Head), 0) << "it is tied";
}

}  // namespace
}  // namespace plimsoll::ui
