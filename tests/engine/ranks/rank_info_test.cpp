// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/rank_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace plimsoll::engine {
namespace {

using ::testing::HasSubstr;

class Environment : public ::testing::Test {
protected:
    void TearDown() override { set({}); }
    static void set(const std::map<std::string, std::string>& variables) {
        for (const char* name :
             {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID", "SLURM_LOCALID",
              "SLURM_NTASKS", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_USE_AGENT_STORE"}) {
            ::unsetenv(name);
        }
        for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    }
    static std::string error(const std::map<std::string, std::string>& variables) {
        set(variables);
        const auto info = RankInfo::from_environment();
        return info ? "no error" : info.error().message;
    }
};

using RankInfoFrom = Environment;

TEST_F(RankInfoFrom, NothingIsTheOnlyRank) {
    set({});
    const auto info = RankInfo::from_environment();
    ASSERT_TRUE(info);
    EXPECT_EQ(info->rank, 0);
    EXPECT_EQ(info->world_size, 1);
}

TEST_F(RankInfoFrom, Torchrun) {
    // torch/distributed/elastic/agent/server/local_elastic_agent.py, _start_workers
    set({{"RANK", "5"},
         {"LOCAL_RANK", "1"},
         {"WORLD_SIZE", "8"},
         {"MASTER_ADDR", "node-1"},
         {"MASTER_PORT", "29500"},
         {"TORCHELASTIC_RESTART_COUNT", "2"},
         {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    const auto info = RankInfo::from_environment();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->rank, 5);
    EXPECT_EQ(info->local_rank, 1);
    EXPECT_EQ(info->world_size, 8);
    EXPECT_EQ(info->master_addr, "node-1");
    EXPECT_EQ(info->master_port, 29500);
    EXPECT_EQ(info->attempt, 2);
    EXPECT_FALSE(info->rank0_serves_store);
}

TEST_F(RankInfoFrom, Slurm) {
    set({{"SLURM_PROCID", "3"},
         {"SLURM_LOCALID", "1"},
         {"SLURM_NTASKS", "4"},
         {"MASTER_ADDR", "10.0.0.1"},
         {"MASTER_PORT", "1234"}});
    const auto info = RankInfo::from_environment();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->rank, 3);
    EXPECT_EQ(info->local_rank, 1);
    EXPECT_EQ(info->world_size, 4);
}

TEST_F(RankInfoFrom, TorchrunInsideASlurmJob) {
    set({{"SLURM_PROCID", "0"},
         {"SLURM_LOCALID", "0"},
         {"SLURM_NTASKS", "1"},
         {"RANK", "1"},
         {"LOCAL_RANK", "1"},
         {"WORLD_SIZE", "2"},
         {"MASTER_ADDR", "localhost"},
         {"MASTER_PORT", "1"}});
    const auto info = RankInfo::from_environment();
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->rank, 1);
    EXPECT_EQ(info->world_size, 2);
}

TEST_F(RankInfoFrom, OneRankNeedsNoAddress) {
    set({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "1"}});
    EXPECT_TRUE(RankInfo::from_environment());
}

TEST_F(RankInfoFrom, WrongVariablesAreNamed) {
    EXPECT_THAT(error({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not set"));
    EXPECT_THAT(error({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not set"));
    EXPECT_THAT(error({{"RANK", "2"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}}),
                HasSubstr("RANK is \"2\"; it has to be a whole number from 0 to 1"));
    EXPECT_THAT(error({{"RANK", "-1"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is \"-1\""));
    EXPECT_THAT(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2 "}}), HasSubstr("WORLD_SIZE is \"2 \""));
    EXPECT_THAT(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "99999999999"}}), HasSubstr("WORLD_SIZE is"));
    EXPECT_THAT(error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("LOCAL_RANK is not set"));
    EXPECT_THAT(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_PORT is not set"));
    EXPECT_THAT(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}),
                HasSubstr("MASTER_PORT is \"70000\""));
    EXPECT_THAT(error({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "7000"}}),
                HasSubstr("MASTER_ADDR is not set"));
}

}  // namespace
}  // namespace plimsoll::engine
