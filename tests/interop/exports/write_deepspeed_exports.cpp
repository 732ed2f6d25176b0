// SPDX-License-Identifier: Apache-2.0
// write-deepspeed-exports FOLDER: exports many plans to FOLDER/NAME.json, and to FOLDER/cases.json what the plans say
// in their own words, for check_deepspeed.py to compare with what the real DeepSpeed reads.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/exports/export_target.h"
#include "core/plan/adapter.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/schedule/stage_times.h"
#include "tests/support/random_plans.h"
#include "tests/support/uneven_plans.h"

namespace plimsoll {
namespace {

class Writer {
public:
    Writer(std::filesystem::path folder, std::string release)
        : folder_(std::move(folder)), release_(std::move(release)) {}

    /// `change` is applied to the base plan: llama-7b on eight H100, bf16, cosine.
    void add(const std::string& name, const std::function<void(Plan&)>& change) {
        Plan plan;
        plan.model = must(model_preset("llama-7b"));
        plan.cluster.gpu = "H100 SXM";
        plan.cluster.gpus_per_node = 8;
        plan.layout.dp = 8;
        plan.layout.micro_batch = 2;
        plan.layout.accumulation = 4;
        plan.numerics.dtype = Dtype::Bf16;
        plan.optimizer.lr = 3e-4;
        plan.data.sequence_length = 1024;
        change(plan);
        write(name, plan);
    }

    /// One of presets/plans, as it is.
    void add_preset(const std::string& name) { write("preset-" + name, must(plan_preset(name))); }

    /// One at random: its rates are compared where they are DeepSpeed's own, and every twelfth goes to all other
    /// targets.
    void add_random(int number, const Plan& plan) {
        write(fmt::format("random-{}", number), plan);
        const bool exact = plan.lr.kind >= LrKind::DeepSpeedWarmup && plan.lr.kind <= LrKind::DeepSpeedWarmupCosine &&
                           cases_.back().at("optimizer") != nullptr;
        cases_.back()["rates"] = exact ? "equal" : "any";
        if (number % 12 == 0) write_others(fmt::format("random-{}", number), plan);
    }

    /// One whose sizes do not come out even: it goes to all targets.
    void add_uneven(int number, const Plan& plan) {
        write(fmt::format("uneven-{}", number), plan);
        cases_.back()["rates"] = "any";
        write_others(fmt::format("uneven-{}", number), plan);
    }

    void finish() {
        must(write_json(folder_ / "cases.json", cases_));
        must(write_json(folder_ / "others.json", others_));
    }

    static Model model(const std::string& name) { return must(model_preset(name)); }

private:
    template <class T>
    static T must(Result<T> result) {
        if (!result) {
            fmt::print(stderr, "{}\n", result.error().message);
            std::exit(1);
        }
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }

    /// The function of check_exports.py that reads a target's files; empty: none.
    static std::string_view check_of(std::string_view target) {
        constexpr std::array<std::array<std::string_view, 2>, 8> checks{{{"accelerate", "accelerate"},
                                                                         {"accelerate-fsdp", "accelerate"},
                                                                         {"transformers", "trainargs"},
                                                                         {"megatron", "megatron"},
                                                                         {"torchtitan", "torchtitan"},
                                                                         {"torchrun", "torchrun"},
                                                                         {"env", "env"},
                                                                         {"sbatch", "sbatch"}}};
        for (const auto& [name, check] : checks) {
            if (name == target) return check;
        }
        return "";
    }

    /// Every other target, and what the plan says of itself.
    void write_others(const std::string& name, const Plan& plan) {
        const Layout& layout = plan.layout;
        const auto named = [](const auto& names, auto value) { return names[static_cast<std::size_t>(value)]; };
        for (const ExportTarget& target : export_targets()) {
            const auto text = target.name == "deepspeed" ? Result<ExportedText>(bad_input("written by write()"))
                                                         : export_plan(plan, target.name);
            if (!text) continue;  // the tool would refuse it
            const std::string file = fmt::format("{}.{}", name, target.name);
            must(write_file_atomic(folder_ / file, text->text));
            others_.push_back(
                {{"file", file},
                 {"deepspeed", name + ".json"},
                 {"check", check_of(target.name)},
                 {"target", target.name},
                 {"world_size", layout.world_size()},
                 {"nodes", plan.cluster.nodes},
                 {"gpus_per_node", plan.cluster.gpus_per_node},
                 {"dp", layout.dp},
                 {"tp", layout.tp},
                 {"pp", layout.pp},
                 {"cp", layout.cp},
                 {"ep", layout.ep},
                 {"moe", plan.model.moe()},
                 {"micro_batch", layout.micro_batch},
                 {"accumulation", layout.accumulation},
                 {"global_batch", layout.global_batch()},
                 {"sequence_length", plan.data.sequence_length},
                 {"hidden_size", plan.model.hidden_size},
                 {"layers", plan.model.num_layers},
                 {"kv_heads", plan.model.num_kv_heads},
                 {"stage_layers", layers_per_stage(plan)},
                 {"steps", plan.training.steps},
                 {"seed", plan.training.seed},
                 {"dtype", named(dtype_names, plan.numerics.dtype)},
                 {"optimizer", named(optimizer_names, plan.optimizer.kind)},
                 {"learning_rate", peak_learning_rate(plan)},
                 {"weight_decay", plan.optimizer.weight_decay},
                 {"clip", plan.optimizer.clip},
                 {"recompute", named(recompute_names, layout.recompute)},
                 {"zero_stage", plan.numerics.dtype != Dtype::Fp32 ? std::max<std::int64_t>(layout.zero_stage, 1)
                                                                   : layout.zero_stage},
                 {"plan_zero_stage", layout.zero_stage},
                 {"adapter_rank", plan.adapter.rank},
                 {"adapter_alpha", plan.adapter.alpha},
                 {"adapter_rank_stabilized", plan.adapter.rank_stabilized},
                 {"adapter_targets", target_modules(plan)}});
        }
    }

    /// In DeepSpeed's own words; null where the file cannot have it.
    static Json optimizer_of(const Plan& plan) {
        const Optimizer& optimizer = plan.optimizer;
        const Numerics& numerics = plan.numerics;
        const bool lamb = numerics.dtype == Dtype::Fp16 && numerics.loss_scale == 0;
        switch (optimizer.kind) {
            case OptimizerKind::AdamW:
                return {{"name", "adamw"}, {"lr", optimizer.lr}, {"betas", {optimizer.beta1, optimizer.beta2}}};
            case OptimizerKind::Lamb:
                if (lamb)
                    return {{"name", "lamb"}, {"lr", optimizer.lr}, {"betas", {optimizer.beta1, optimizer.beta2}}};
                return nullptr;
            case OptimizerKind::Sgd:
                return {{"name", "SGD"}, {"lr", optimizer.lr}, {"momentum", optimizer.momentum}};
            case OptimizerKind::AdamW8bit:
            case OptimizerKind::Adafactor:
                break;
        }
        return nullptr;
    }

    void write(const std::string& name, Plan plan) {
        if (!release_.empty()) plan.exports.deepspeed_release = release_;
        const DeepSpeedExport exported = must(export_deepspeed(plan));
        must(write_json(folder_ / (name + ".json"), exported.json));
        const Layout& layout = plan.layout;
        const bool half = plan.numerics.dtype != Dtype::Fp32;
        const auto named = [](const auto& names, auto value) { return names[static_cast<std::size_t>(value)]; };
        Json rates = Json::array();
        for (std::int64_t step = 0; step < plan.training.steps; ++step) {
            rates.push_back(learning_rate(plan.lr, plan.optimizer.lr, step, plan.training.steps));
        }
        cases_.push_back(
            {{"file", name + ".json"},
             {"world_size", layout.world_size()},
             {"tp", layout.tp},
             {"pp", layout.pp},
             {"sp", layout.cp},
             {"train_batch_size", layout.global_batch()},
             {"train_micro_batch_size_per_gpu", layout.micro_batch},
             {"gradient_accumulation_steps", layout.accumulation},
             {"zero_stage", half && layout.zero_stage == 0 ? 1 : layout.zero_stage},
             {"gradient_clipping", plan.optimizer.clip},
             {"dtype", named(dtype_names, plan.numerics.dtype)},
             {"gradient_dtype", plan.numerics.fp32_gradients ? "fp32" : named(dtype_names, plan.numerics.dtype)},
             {"offload_optimizer", named(offload_names, layout.offload_optimizer)},
             {"offload_param", named(offload_names, layout.offload_parameters)},
             {"loss_scale", plan.numerics.dtype == Dtype::Fp16 ? plan.numerics.loss_scale : 0},
             {"optimizer", optimizer_of(plan)},
             {"rates", "near"},
             {"peak", plan.optimizer.lr},
             {"linear_floor", plan.lr.kind == LrKind::Linear ? plan.optimizer.lr * plan.lr.min_ratio : 0},
             {"learning_rates", rates}});
    }

    std::filesystem::path folder_;
    std::string release_;
    Json cases_ = Json::array();
    Json others_ = Json::array();
};

void add_stages_and_dtypes(Writer& writer) {
    for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16, Dtype::Fp16}) {
        for (const std::int64_t stage : {0, 1, 2, 3}) {
            writer.add(fmt::format("{}-zero{}", name_of(dtype), stage), [&](Plan& plan) {
                plan.numerics.dtype = dtype;
                plan.layout.zero_stage = stage;
            });
        }
    }
    for (const std::int64_t stage : {1, 2, 3}) {
        writer.add(fmt::format("bf16-fp32-gradients-zero{}", stage), [&](Plan& plan) {
            plan.layout.zero_stage = stage;
            plan.numerics.fp32_gradients = true;
        });
    }
    writer.add("fp16-fp32-gradients-zero2", [](Plan& plan) {
        plan.layout.zero_stage = 2;
        plan.numerics.dtype = Dtype::Fp16;
        plan.numerics.fp32_gradients = true;
    });
    writer.add("fp16-static-scale", [](Plan& plan) {
        plan.numerics.dtype = Dtype::Fp16;
        plan.numerics.loss_scale = 1024;
    });
    writer.add("fp16-odd-scaler", [](Plan& plan) {
        plan.numerics.dtype = Dtype::Fp16;
        plan.numerics.initial_scale_power = 12;
        plan.numerics.loss_scale_window = 100;
        plan.numerics.hysteresis = 4;
        plan.numerics.min_loss_scale = 0.5;
    });
}

void add_offloads(Writer& writer) {
    for (const std::int64_t stage : {1, 2, 3}) {
        writer.add(fmt::format("offload-optimizer-cpu-zero{}", stage), [&](Plan& plan) {
            plan.layout.zero_stage = stage;
            plan.layout.offload_optimizer = Offload::Cpu;
        });
    }
    writer.add("offload-both-cpu", [](Plan& plan) {
        plan.layout.zero_stage = 3;
        plan.layout.offload_optimizer = Offload::Cpu;
        plan.layout.offload_parameters = Offload::Cpu;
    });
    writer.add("offload-both-nvme", [](Plan& plan) {
        plan.model = Writer::model("llama-3-405b");
        plan.layout.zero_stage = 3;
        plan.layout.offload_optimizer = Offload::Nvme;
        plan.layout.offload_parameters = Offload::Nvme;
        plan.layout.nvme_path = "/mnt/nvme \"fast\"";
    });
    writer.add("offload-mixed", [](Plan& plan) {
        plan.numerics.dtype = Dtype::Fp16;
        plan.layout.zero_stage = 3;
        plan.layout.offload_optimizer = Offload::Cpu;
        plan.layout.offload_parameters = Offload::Nvme;
        plan.layout.nvme_path = "/mnt/nvme";
    });
}

void add_optimizers(Writer& writer) {
    for (std::size_t kind = 0; kind < optimizer_names.size(); ++kind) {
        for (const Dtype dtype : {Dtype::Fp32, Dtype::Bf16, Dtype::Fp16}) {
            const auto named = fmt::format("{}-{}", optimizer_names[kind], name_of(dtype));
            writer.add(named, [&](Plan& plan) {
                plan.optimizer.kind = static_cast<OptimizerKind>(kind);
                plan.numerics.dtype = dtype;
                plan.layout.zero_stage = dtype == Dtype::Fp32 ? 0 : 2;
            });
        }
        writer.add(fmt::format("{}-offload", optimizer_names[kind]), [&](Plan& plan) {
            plan.optimizer.kind = static_cast<OptimizerKind>(kind);
            plan.layout.zero_stage = 2;
            plan.layout.offload_optimizer = Offload::Cpu;
        });
    }
    writer.add("reduced-in-fp32", [](Plan& plan) {
        plan.numerics.reduce_dtype = ReduceDtype::Fp32;
        plan.layout.zero_stage = 2;
    });
}

void add_schedules(Writer& writer) {
    for (const LrKind kind : {LrKind::Constant, LrKind::Linear, LrKind::Cosine}) {
        for (const std::int64_t warmup : {0, 1, 2, 20}) {
            for (const double floor : {0.0, 0.1}) {
                if (kind == LrKind::Constant && floor > 0) continue;
                const std::string name =
                    fmt::format("{}-warmup{}-floor{}", name_of(kind), warmup, floor > 0 ? "10" : "0");
                writer.add(name, [&](Plan& plan) {
                    plan.lr.kind = kind;
                    plan.lr.warmup_steps = warmup;
                    plan.lr.min_ratio = floor;
                });
            }
        }
    }
    writer.add("linear-floor100", [](Plan& plan) {
        plan.lr.kind = LrKind::Linear;
        plan.lr.min_ratio = 1;
    });
    writer.add("warmup-only", [](Plan& plan) { plan.lr.warmup_steps = plan.training.steps = 50; });
}

void add_layouts(Writer& writer) {
    const auto wide = [](Plan& plan) { plan.cluster.nodes = 2; };  // 16 ranks
    writer.add("tp2-zero1", [&](Plan& plan) {
        wide(plan);
        plan.layout.tp = 2;
        plan.layout.zero_stage = 1;
        plan.layout.sequence_parallel = true;
    });
    writer.add("tp2-zero3", [&](Plan& plan) {
        wide(plan);
        plan.layout.tp = 2;
        plan.layout.zero_stage = 3;
    });
    writer.add("pp2-1f1b", [&](Plan& plan) {
        wide(plan);
        plan.layout.pp = 2;
        plan.layout.zero_stage = 1;
    });
    writer.add("tp2-pp2-gpipe", [](Plan& plan) {
        plan.cluster.nodes = 4;
        plan.layout.tp = 2;
        plan.layout.pp = 2;
        plan.layout.schedule = Schedule::GPipe;
        plan.numerics.dtype = Dtype::Fp32;
    });
    writer.add("cp2", [&](Plan& plan) {
        wide(plan);
        plan.layout.cp = 2;
        plan.layout.zero_stage = 2;
    });
    writer.add("mixtral-ep8", [](Plan& plan) {
        plan.model = Writer::model("mixtral-8x7b");
        plan.layout.ep = 8;
        plan.layout.zero_stage = 2;
    });
    for (const Recompute recompute : {Recompute::Selective, Recompute::Full}) {
        writer.add(fmt::format("recompute-{}", name_of(recompute)), [&](Plan& plan) {
            plan.layout.recompute = recompute;
            plan.layout.zero_stage = 3;
        });
    }
    writer.add("model-below-a-bucket", [](Plan& plan) {
        plan.model = Writer::model("gpt2-tiny");
        plan.layout.zero_stage = 2;
        plan.data.sequence_length = 64;
    });
    writer.add("no-clipping-no-decay", [](Plan& plan) {
        plan.optimizer.clip = 0;
        plan.optimizer.weight_decay = 0;
        plan.layout.micro_batch = 1;
        plan.layout.accumulation = 1;
    });
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        fmt::print(stderr, "usage: write-deepspeed-exports FOLDER [RELEASE]\n");
        return 2;
    }
    plimsoll::Writer writer(argv[1], argc == 3 ? argv[2] : "");
    plimsoll::add_stages_and_dtypes(writer);
    plimsoll::add_offloads(writer);
    plimsoll::add_optimizers(writer);
    plimsoll::add_schedules(writer);
    plimsoll::add_layouts(writer);
    for (const std::string& name : plimsoll::plan_preset_names()) writer.add_preset(name);
    plimsoll::RandomPlans plans(20261130);
    for (int i = 0; i < 500; ++i) writer.add_random(i, plans.next());
    plimsoll::UnevenPlans uneven(20261201);
    for (int i = 0; i < 60; ++i) writer.add_uneven(i, uneven.next());
    writer.finish();
}
