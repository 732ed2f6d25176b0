// SPDX-License-Identifier: Apache-2.0
// What a stranger can do in the store of a run.
#include "core/engine/ranks/sealed_store.h"

#include <gmock/gmock.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "core/engine/ranks/rendezvous.h"

namespace plimsoll::engine {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

struct SealedStoreTest : ::testing::Test {
    c10::intrusive_ptr<c10d::Store> under = c10::make_intrusive<c10d::HashStore>();
    SealedStore own{under, "secret"};

    static std::string text_of(c10d::Store& store, const std::string& key) {
        const Bytes8 bytes = store.get(key);
        return {bytes.begin(), bytes.end()};
    }
    static void put(c10d::Store& store, const std::string& key, const std::string& text) {
        store.set(key, Bytes8(text.begin(), text.end()));
    }
    static void expect_refused(c10d::Store& store, const std::string& key) {
        try {
            store.get(key);
            ADD_FAILURE() << key << " was believed";
        } catch (const std::exception& error) {
            EXPECT_THAT(first_line(error), ::testing::HasSubstr("no rank of this run wrote"));
        }
    }
};

TEST_F(SealedStoreTest, RanksWithTheSecretReadEachOther) {
    SealedStore other(under, "secret");
    put(own, "a", "one");
    put(own, "empty", "");
    EXPECT_EQ(text_of(other, "a"), "one");
    EXPECT_EQ(text_of(other, "empty"), "");
    EXPECT_EQ(text_of(*other.clone(), "a"), "one");
    put(other, "a", "two");
    EXPECT_EQ(text_of(own, "a"), "two");
    EXPECT_TRUE(own.check({"a"}));
    EXPECT_TRUE(own.deleteKey("a"));
    EXPECT_FALSE(own.check({"a"}));
    EXPECT_EQ(own.add("count", 2), 2);
    EXPECT_EQ(other.add("count", 3), 5);
}

TEST_F(SealedStoreTest, WhatAStrangerWritesIsNotBelieved) {
    put(own, "shared/address", "/proc/1/fd/3");
    put(*under, "shared/address", "/somewhere/file");
    expect_refused(own, "shared/address");
    for (const std::size_t size : {0, 1, 31, 32, 33, 100}) {
        put(*under, "k", std::string(size, 'x'));
        expect_refused(own, "k");
    }
    SealedStore stranger(under, "another secret");
    put(stranger, "k", "value");
    expect_refused(own, "k");
    SealedStore guess(under, "");
    put(guess, "k", "value");
    expect_refused(own, "k");
}

TEST_F(SealedStoreTest, AValueBelongsToItsKeyAlone) {
    put(own, "a", "value");
    under->set("b", under->get("a"));
    expect_refused(own, "b");
    // Key and value cut at another place.
    put(own, "ke", "yvalue");
    under->set("key", under->get("ke"));
    expect_refused(own, "key");
    Bytes8 changed = under->get("a");
    for (std::size_t i = 0; i < changed.size(); ++i) {
        Bytes8 one = changed;
        one[i] ^= 1;
        under->set("a", one);
        expect_refused(own, "a");
    }
    under->set("a", changed);
    EXPECT_EQ(text_of(own, "a"), "value");
}

TEST_F(SealedStoreTest, ValuesAreBounded) {
    EXPECT_THROW(own.set("k", Bytes8(SealedStore::most_bytes + 1)), c10::Error);
    under->set("k", Bytes8(SealedStore::most_bytes + 100));
    expect_refused(own, "k");
}

TEST(ConnectStore, NeedsASecret) {
    RankInfo info;
    info.world_size = 2;
    info.master_port = 1;
    const auto store = connect_store(info, 1);
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message, ::testing::HasSubstr("PLIMSOLL_SECRET"));
}

}  // namespace
}  // namespace plimsoll::engine
