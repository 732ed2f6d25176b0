// SPDX-License-Identifier: Apache-2.0
// The steps of a training run, from wherever the checkpoint left off to the end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/control/loss_scaler.h"
#include "core/engine/accelerator.h"
#include "core/engine/adamw.h"
#include "core/engine/batch.h"
#include "core/engine/checkpoint.h"
#include "core/engine/data_parallel.h"
#include "core/engine/decoder.h"
#include "core/engine/gradient_norms.h"
#include "core/engine/recorder.h"
#include "core/engine/trainer.h"

namespace plimsoll::engine {

class TrainLoop {
public:
    /// What it works with has to outlive it. `accelerator` is null on CPUs.
    TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, Collectives& collectives,
              Recorder& recorder, Accelerator* accelerator, torch::Device device);

    /// Same weights everywhere, then the newest checkpoint that rank 0 finds, if there is one.
    Result<void> restore();
    Result<TrainOutcome> run();

private:
    struct Step {
        double loss = 0;      ///< mean over the global batch
        bool stop = false;    ///< some rank was asked to stop
        GradientNorms norms;  ///< before clipping
        double lr = 0;
        double scale = 1;
        bool applied = false;
        Seconds seconds = 0;
    };

    // One step (train_loop.cpp).
    Result<Step> step();
    Result<void> forward_backward(Step& step);
    void update(Step& step);
    Result<void> judge_skipped(const Step& step);

    // What happens beside the steps (train_duties.cpp).
    Result<void> load(const std::filesystem::path& checkpoint);
    Result<void> announce(std::int64_t resumed_from, const std::vector<std::string>& damaged);
    Result<void> record(const Step& step);
    Result<void> periodic();
    Result<void> validate();
    Result<void> sample();
    Result<void> save();
    /// An event of the whole run: rank 0 tells it.
    Result<void> tell(const char* kind, const std::string& sentence, Json details = Json::object());
    /// Rank 0 alone does something that may take long; the others wait and learn whether it worked.
    Result<void> on_first_rank(const char* what, const std::function<Result<void>()>& work);
    bool first_rank() const { return collectives_.rank() == 0; }
    Bytes memory(bool peak) const;

    const Plan& plan_;
    const TrainerOptions& options_;
    const Corpus& corpus_;
    Collectives& collectives_;
    Recorder& recorder_;
    Accelerator* accelerator_;
    torch::Device device_;
    BatchSource batches_;
    std::shared_ptr<Decoder> model_;
    std::vector<std::pair<std::string, torch::Tensor>> parameters_;
    LossScaler scaler_;
    std::unique_ptr<DataParallel> data_parallel_;
    std::unique_ptr<AdamW> optimizer_;  ///< made when the weights are final: it may copy them as masters
    std::int64_t updates_ = 0;          ///< made
    std::uint64_t samples_ = 0;         ///< sequences consumed, over all ranks
    std::int64_t skipped_in_a_row_ = 0;
    std::int64_t saved_at_ = -1;  ///< updates of the newest checkpoint
    double last_loss_ = 0;
};

}  // namespace plimsoll::engine
