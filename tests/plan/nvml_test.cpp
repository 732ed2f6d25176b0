// SPDX-License-Identifier: Apache-2.0
// Runs with fake_nvml.cpp in the place of the driver's library.
#include <gtest/gtest.h>

#include "core/plan/machine.h"

namespace plimsoll {
namespace {

TEST(Nvml, GpusAreListedWithTheirCatalogueEntryAndALostOneIsPassedOver) {
    const Machine machine = probe_machine();
    EXPECT_EQ(machine.gpu_note, "");
    ASSERT_EQ(machine.gpus.size(), 3U);
    EXPECT_EQ(machine.gpus[0].name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(machine.gpus[0].memory, 85'520'809'984);
    EXPECT_EQ(machine.gpus[0].catalogue_name, "H100 SXM5 80GB");
    EXPECT_EQ(machine.gpus[1].catalogue_name, "A100 SXM4 80GB");
    EXPECT_EQ(machine.gpus[2].name, "NVIDIA Future X1");
    EXPECT_EQ(machine.gpus[2].catalogue_name, "");
}

}  // namespace
}  // namespace plimsoll
