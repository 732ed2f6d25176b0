// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/plan/machine.h"

namespace plimsoll {
namespace {

TEST(Machine, MemoryAndCoresAreWithinWhatTheKernelReports) {
    const Machine machine = probe_machine();
    const Bytes physical = Bytes{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
    EXPECT_GT(machine.ram, 64 * MiB);
    EXPECT_LE(machine.ram, physical);
    EXPECT_GT(machine.ram_available, 0);
    EXPECT_LE(machine.ram_available, machine.ram);
    EXPECT_GE(machine.cores, 1);
    EXPECT_LE(machine.cores, static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Machine, NoGpuHasAReason) {
    const Machine machine = probe_machine();
    EXPECT_EQ(machine.gpus.empty(), !machine.gpu_note.empty());
    for (const LocalGpu& gpu : machine.gpus) {
        EXPECT_FALSE(gpu.name.empty());
        EXPECT_GT(gpu.memory, 0);
    }
}

TEST(UsableBytes, AreTheCataloguesFigure) {
    Cluster cluster;
    cluster.gpu = "A100 SXM4 80GB";
    EXPECT_EQ(usable_bytes(cluster), static_cast<Bytes>(79.15 * double(GiB)));
}

TEST(UsableBytes, TheUsersOwnFigureWins) {
    Cluster cluster;
    cluster.usable_gib = 1.5;
    EXPECT_EQ(usable_bytes(cluster), GiB + GiB / 2);
    cluster.gpu = "H100 SXM5 80GB";
    EXPECT_EQ(usable_bytes(cluster), GiB + GiB / 2);
}

TEST(UsableBytes, RanksOnThisMachineShareNineTenthsOfItsMemory) {
    Cluster cluster;
    cluster.gpus_per_node = 1;
    const Bytes one = usable_bytes(cluster).value();
    EXPECT_NEAR(static_cast<double>(one), 0.9 * static_cast<double>(probe_machine().ram), 100.0);
    cluster.gpus_per_node = 4;
    EXPECT_EQ(usable_bytes(cluster), one / 4);
}

TEST(UsableBytes, AnUnknownGpuIsAnError) {
    Cluster cluster;
    cluster.gpu = "H1000";
    EXPECT_FALSE(usable_bytes(cluster));
}

}  // namespace
}  // namespace plimsoll
