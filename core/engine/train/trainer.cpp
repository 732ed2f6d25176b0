// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "core/engine/base/failure.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/ranks/same_plan.h"
#include "core/engine/train/run_inputs.h"
#include "core/engine/train/train_loop.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/trainable.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::engine {

namespace {

/// The supervisor has refused such plans already; torchrun and srun come here directly.
Result<void> require_supported(const Plan& plan, const RankInfo& info) {
    if (auto possible = require_possible(plan); !possible) return possible;
    if (auto trainable = require_trainable(plan); !trainable) return trainable;
    const Layout& layout = plan.layout;
    if (layout.world_size() != info.world_size) {
        return bad_input(
            "the layout takes dp {} x tp {} x pp {} x cp {} = {} ranks, and {} {} started: start as many ranks, or set layout.dp",
            layout.dp, layout.tp, layout.pp, layout.cp, layout.world_size(), info.world_size,
            info.world_size == 1 ? "rank was" : "ranks were");
    }
    return {};
}

/// Null on CPUs.
Result<Accelerator*> accelerator_for(const Plan& plan, const RankInfo& info) {
    if (plan.cluster.on_cpu()) return nullptr;
    const auto accelerator = load_accelerator();
    if (!accelerator) {
        return bad_input("the plan trains on {}, but {}", plan.cluster.gpu, accelerator.error().message);
    }
    PLIMSOLL_CHECK((*accelerator)->select(info.local_rank));
    return *accelerator;
}

Result<TrainOutcome> train_plan(const Plan& plan, const RankInfo& info, const TrainerOptions& options,
                                Recorder& recorder) {
    at::set_num_threads(static_cast<int>(plan.training.threads));
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    at::globalContext().setDeterministicFillUninitializedMemory(
        false);  // a debugging aid that costs a pass over memory

    PLIMSOLL_TRY(const auto accelerator, accelerator_for(plan, info));
    const torch::Device device = accelerator == nullptr
                                     ? torch::Device(torch::kCPU)
                                     : torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(info.local_rank));
    // Should it fail, the other ranks are told before this one ends.
    const auto corpus = load_corpus(plan.data);
    PLIMSOLL_TRY(const auto schedule, plan_schedule(plan));
    PLIMSOLL_TRY(auto collectives, make_collectives(info, options.timeout, accelerator));
    if (auto same = require_same_plan(plan, *collectives); !same) {
        static_cast<void>(collectives.release());
        return tl::unexpected(same.error());
    }
    const auto inputs = agree_on_inputs(corpus, plan, *collectives);
    if (!inputs) {
        static_cast<void>(collectives.release());
        return tl::unexpected(inputs.error());
    }
    auto mesh = Mesh::make(plan, *collectives);
    if (!mesh) {
        static_cast<void>(collectives.release());
        return tl::unexpected(mesh.error());
    }

    std::unique_ptr<TrainLoop> loop;
    auto outcome = [&]() -> Result<TrainOutcome> {
        try {
            PLIMSOLL_TRY(const auto codec, TextCodec::of(*corpus, plan.model.vocab_size));
            loop = std::make_unique<TrainLoop>(plan, options, *corpus, codec, **mesh, schedule, recorder, accelerator,
                                               device, *inputs);
            PLIMSOLL_CHECK(loop->restore());
            return loop->run();
        } catch (const std::exception& error) {
            return failed("{}", sentence_of(error));
        }
    }();
    // After an error the process is about to end: messages on their way still write into the loop's tensors, and a
    // group's destructor waits for what is queued, though a peer that hangs never answers.
    if (!outcome) {
        static_cast<void>(loop.release());
        static_cast<void>(mesh->release());
        static_cast<void>(collectives.release());
    }
    return outcome;
}

}  // namespace

Result<TrainOutcome> train(const Plan& plan, const RankInfo& info, const TrainerOptions& options) {
    PLIMSOLL_CHECK(require_supported(plan, info));
    PLIMSOLL_TRY(auto recorder, Recorder::open(options.run, info.rank));
    auto outcome = [&]() -> Result<TrainOutcome> {
        try {
            return train_plan(plan, info, options, recorder);
        } catch (const std::exception& error) {
            return failed("{}", sentence_of(error));
        }
    }();
    if (!outcome) {
        const auto sentence = fmt::format("Rank {}: {}", info.rank, outcome.error().message);
        static_cast<void>(recorder.event(0, EventKind::Error, sentence));  // the same error ends the program
    }
    return outcome;
}

}  // namespace plimsoll::engine
