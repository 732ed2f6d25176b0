// SPDX-License-Identifier: Apache-2.0
#include "core/engine/memory/memory_counter.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>
#include <thread>

namespace plimsoll::engine {
namespace {

class MemoryCounter : public ::testing::Test {
protected:
    MemoryCounter() {
        install_memory_counter();
        before_ = memory_now();
    }
    Bytes added() const { return memory_now() - before_; }

private:
    Bytes before_ = 0;
};

TEST_F(MemoryCounter, CountsEveryTensorByteAndEveryFree) {
    torch::Tensor a = torch::zeros({1000}, torch::kFloat32);
    EXPECT_EQ(added(), 4000);
    torch::Tensor b = torch::zeros({3, 7}, torch::kFloat16);
    EXPECT_EQ(added(), 4000 + 42);
    const torch::Tensor view = a.narrow(0, 0, 10);
    EXPECT_EQ(added(), 4042);
    a.reset();
    EXPECT_EQ(added(), 4042) << "a view keeps the storage alive";
    b.reset();
    EXPECT_EQ(added(), 4000);
}

TEST_F(MemoryCounter, RemembersThePeakUntilItIsReset) {
    reset_memory_peak();
    const Bytes start = memory_peak();
    torch::zeros({1'000'000}, torch::kUInt8);
    EXPECT_EQ(memory_peak() - start, 1'000'000);
    EXPECT_EQ(added(), 0);
    torch::zeros({1000}, torch::kUInt8);
    EXPECT_EQ(memory_peak() - start, 1'000'000);
    reset_memory_peak();
    EXPECT_EQ(memory_peak(), memory_now());
}

TEST_F(MemoryCounter, CountsEmptyAndResizedTensors) {
    torch::Tensor tensor = torch::empty({0}, torch::kFloat32);
    EXPECT_EQ(added(), 0);
    tensor.resize_({100});
    EXPECT_EQ(added(), 400);
    tensor.reset();
    EXPECT_EQ(added(), 0);
}

TEST_F(MemoryCounter, HandsOutAlignedMemoryAndRawBlocks) {
    for (const std::int64_t size : {1, 63, 64, 65, 4097}) {
        const torch::Tensor tensor = torch::empty({size}, torch::kUInt8);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, 0U) << size;
    }
    auto* allocator = c10::GetAllocator(c10::DeviceType::CPU);
    void* block = allocator->raw_allocate(123);
    EXPECT_EQ(added(), 123);
    allocator->raw_deallocate(block);
    EXPECT_EQ(added(), 0);
}

TEST_F(MemoryCounter, CountsNothingForWhatCannotBeHad) {
    EXPECT_THROW(torch::empty({std::int64_t{1} << 60}, torch::kUInt8), c10::Error);
    EXPECT_EQ(added(), 0);
    auto* allocator = c10::GetAllocator(c10::DeviceType::CPU);
    EXPECT_THROW(allocator->allocate(std::numeric_limits<std::size_t>::max() - 8), c10::Error);
    EXPECT_EQ(added(), 0);
}

TEST_F(MemoryCounter, IsExactWithManyThreads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 2000; ++i) torch::empty({i + 1}, torch::kUInt8);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(added(), 0);
}

}  // namespace
}  // namespace plimsoll::engine
