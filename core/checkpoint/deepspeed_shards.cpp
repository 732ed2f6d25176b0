// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed's save_checkpoint writes: each rank's part of the flat fp32 groups, put together as DeepSpeed's
// utils/zero_to_fp32.py does.
#include <algorithm>
#include <array>
#include <set>

#include "core/base/json.h"
#include "core/checkpoint/checkpoint_kinds.h"
#include "core/checkpoint/torch_file.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view model_ending = "_model_states.pt", optimizer_ending = "_optim_states.pt";

/// A row of flat tensors as one.
class FlatRow {
public:
    void add(StoredTensor flat) {
        elements_ += flat.elements();
        flats_.push_back(std::move(flat));
    }
    std::int64_t elements() const { return elements_; }
    const std::vector<StoredTensor>& flats() const { return flats_; }

    /// Elements [from, from + count) as the run of `tensor` that begins at `place`.
    void put(std::int64_t from, std::int64_t count, std::int64_t place, StoredTensor& tensor) const {
        std::int64_t begin = 0;
        for (const StoredTensor& flat : flats_) {
            const std::int64_t end = begin + flat.elements();
            const std::int64_t low = std::max(from, begin), high = std::min(from + count, end);
            if (low < high) {
                StoredPart part = flat.parts.front();
                part.offsets = {place + low - from};
                part.sizes = {high - low};
                part.first += (low - begin) * part.strides[0];
                tensor.parts.push_back(std::move(part));
            }
            begin = end;
        }
    }

private:
    std::vector<StoredTensor> flats_;
    std::int64_t elements_ = 0;
};

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

class ZeroReader {
public:
    explicit ZeroReader(const fs::path& folder) : folder_(folder) {}

    Result<StoredCheckpoint> read() {
        checkpoint_.kind = CheckpointKind::DeepSpeedZero;
        checkpoint_.path = folder_;
        PLIMSOLL_CHECK(refuse_other_parts());
        PLIMSOLL_CHECK(open_files());
        checkpoint_.files = models_.size() + optimizers_.size();
        const Pickle& model = models_.front().pickle();
        if (const auto step = model.find(model.root(), "global_steps"))
            checkpoint_.step = models_.front().number(*step);
        PLIMSOLL_CHECK(optimizers_.empty() ? read_module(false) : read_flat());
        add_shared();
        return std::move(checkpoint_);
    }

private:
    template <class... Args>
    tl::unexpected<Error> damaged(fmt::format_string<Args...> format, Args&&... args) const {
        return bad_input("{}: {}; the checkpoint is damaged", folder_.string(),
                         fmt::format(format, std::forward<Args>(args)...));
    }

    /// Whole parameters of several tensor-parallel ranks, pipeline stages or experts need rules that only the model's
    /// own code has.
    Result<void> refuse_other_parts() const {
        const bool tensor_parallel = !files_named(folder_, "mp_rank_01", model_ending).empty() ||
                                     !files_named(folder_, "zero_pp_rank_0_mp_rank_01", model_ending).empty();
        if (!tensor_parallel && files_named(folder_, "layer_", model_ending).empty()) return {};
        return bad_input(
            "{} is a DeepSpeed checkpoint of {}; make it a universal one first, with "
            "deepspeed/checkpoint/ds_to_universal.py",
            folder_.string(), tensor_parallel ? "several tensor-parallel ranks" : "pipeline stages or experts");
    }

    Result<void> open_files() {
        std::vector<std::string> models = files_named(folder_, "zero_pp_rank_", model_ending);
        if (models.empty()) models = files_named(folder_, "mp_rank_", model_ending);
        std::vector<std::string> optimizers = files_named(folder_, "zero_pp_rank_", optimizer_ending);
        for (const char* begin : {"bf16_zero_pp_rank_", "fp16_zero_pp_rank_"}) {
            if (optimizers.empty()) optimizers = files_named(folder_, begin, optimizer_ending);
        }
        if (models.empty())
            return bad_input("{} has no *{}; it is no checkpoint of DeepSpeed", folder_.string(), model_ending);
        for (const auto& [names, files] : {std::pair(&models, &models_), std::pair(&optimizers, &optimizers_)}) {
            for (const std::string& name : *names) {
                PLIMSOLL_TRY(auto file, TorchFile::open(folder_ / name));
                files->push_back(std::move(file));
            }
        }
        return {};
    }

    /// Weights (of the model's dtype) as they are; of a ZeRO checkpoint its buffers.
    Result<void> read_module(bool only_buffers) {
        const TorchFile& file = models_.front();
        const Pickle& pickle = file.pickle();
        std::set<std::string> wanted;
        if (const auto names = pickle.find(pickle.root(), "buffer_names")) {
            for (const PickleId each : pickle.elements(*names)) wanted.emplace(pickle.text(each).value_or(""));
        }
        const auto module = pickle.find(pickle.root(), "module");
        if (!module) return damaged("{} has no module", file.path().filename().string());
        PLIMSOLL_TRY(auto tensors, file.tensors(*module));
        for (StoredTensor& each : tensors) {
            if (!only_buffers || wanted.contains(each.name)) checkpoint_.weights.push_back(std::move(each));
        }
        return {};
    }

    std::optional<PickleId> in_optimizer(const TorchFile& file, std::string_view key) const {
        const auto state = file.pickle().find(file.pickle().root(), "optimizer_state_dict");
        return state ? file.pickle().find(*state, key) : std::nullopt;
    }

    /// Of a list, which has a number a group, the largest.
    std::optional<std::int64_t> number_in_optimizer(const TorchFile& file, std::string_view key) const {
        const auto value = in_optimizer(file, key);
        if (!value) return std::nullopt;
        if (const auto number = file.pickle().integer(*value)) return number;
        std::optional<std::int64_t> most;
        for (const PickleId each : file.pickle().elements(*value)) {
            if (const auto number = file.pickle().integer(each)) most = std::max(most.value_or(*number), *number);
        }
        return most;
    }

    /// ZeroStageEnum, which Python 3.11 pickles as getattr(ZeroStageEnum, name), others as ZeroStageEnum(value); a
    /// plain number where the config was no pydantic model yet.
    std::optional<std::int64_t> stage_of(const TorchFile& file) const {
        const auto value = in_optimizer(file, "zero_stage");
        if (!value) return std::nullopt;
        const Pickle& pickle = file.pickle();
        if (pickle[*value].kind != PickleNode::Kind::Call) return pickle.integer(*value);
        const auto arguments = pickle.elements(pickle[*value].arguments);
        if (arguments.size() == 1) return pickle.integer(arguments[0]);
        constexpr std::array<std::string_view, 4> names{"disabled", "optimizer_states", "gradients", "weights"};
        const auto name = arguments.size() == 2 ? pickle.text(arguments[1]) : std::nullopt;
        const auto found = std::find(names.begin(), names.end(), name.value_or("max_stage"));
        return name ? std::optional<std::int64_t>(std::min<std::int64_t>(found - names.begin(), 3)) : std::nullopt;
    }

    Result<void> read_flat() {
        const auto stage = stage_of(optimizers_.front());
        const auto ranks = number_in_optimizer(optimizers_.front(), "partition_count");
        if (!stage || !ranks || *stage < 1 || *stage > 3)
            return bad_input(
                "{} holds no states of ZeRO 1 to 3; convert it with the zero_to_fp32.py that lies beside it",
                folder_.string());
        if (*ranks != static_cast<std::int64_t>(optimizers_.size()))
            return bad_input(
                "{} has {} files of optimizer states, and {} ranks wrote some; the checkpoint is not whole",
                folder_.string(), optimizers_.size(), *ranks);
        if (*stage == 3 && models_.size() != optimizers_.size())
            return bad_input("{} has model states of {} ranks and optimizer states of {}; the checkpoint is not whole",
                             folder_.string(), models_.size(), optimizers_.size());
        const char* const key = *stage == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
        std::vector<FlatRow> rows;
        for (const TorchFile& file : optimizers_) {
            PLIMSOLL_TRY(auto row, flats_of(file, key));
            rows.push_back(std::move(row));
        }
        const Pickle& pickle = models_.front().pickle();
        const auto found = pickle.find(pickle.root(), "param_shapes");
        if (!found) return damaged("the model states have no param_shapes");
        PLIMSOLL_TRY(const auto groups, param_shapes(pickle, *found, models_.front().path().string()));
        name_states(*stage);
        if (auto buffers = read_module(true); !buffers) return buffers;
        if (auto frozen = add_frozen(*stage); !frozen) return frozen;
        return *stage == 3 ? cut_each(rows, groups) : cut_groups(rows, groups);
    }

    Result<FlatRow> flats_of(const TorchFile& file, std::string_view key) const {
        FlatRow row;
        const auto list = in_optimizer(file, key);
        for (const PickleId each : list ? file.pickle().elements(*list) : std::span<const PickleId>()) {
            PLIMSOLL_TRY(auto flat, file.tensor(each, std::string(key)));
            if (!flat || flat->shape.size() != 1) return damaged("{} is no list of flat tensors", key);
            row.add(std::move(*flat));
        }
        if (row.flats().empty()) return damaged("{} has no {}", file.path().filename().string(), key);
        return row;
    }

    /// ZeRO 1 and 2: of each group a rank has a run of the flat whole.
    Result<void> cut_groups(const std::vector<FlatRow>& ranks, const std::vector<std::vector<NamedShape>>& groups) {
        const auto padding = paddings();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            FlatRow whole;
            for (const FlatRow& rank : ranks) {
                if (g >= rank.flats().size()) return damaged("a rank lacks group {} of the parameters", g);
                whole.add(rank.flats()[g]);
            }
            std::int64_t at = 0;
            for (std::size_t p = 0; p < groups[g].size(); ++p) {
                StoredTensor tensor = flat_tensor(groups[g][p], whole.flats().front().dtype);
                if (at > whole.elements() || tensor.elements() > whole.elements() - at)
                    return damaged("{} ends behind the values of its group", tensor.name);
                whole.put(at, tensor.elements(), 0, tensor);
                at += tensor.elements();
                if (g < padding.size() && p < padding[g].size()) at += padding[g][p];
                if (auto added = add(std::move(tensor)); !added) return added;
            }
            // Groups are padded to a multiple of twice the ranks.
            const auto align = 2 * static_cast<std::int64_t>(ranks.size());
            if (rounded_up(at, align) != rounded_up(whole.elements(), align))
                return damaged("the parameters of group {} have {} values, and {} are there", g, at, whole.elements());
        }
        return {};
    }

    std::vector<std::vector<std::int64_t>> paddings() const {
        std::vector<std::vector<std::int64_t>> all;
        const TorchFile& file = optimizers_.front();
        const auto found = in_optimizer(file, "param_alignment_paddings");
        for (const PickleId group : found ? file.pickle().elements(*found) : std::span<const PickleId>()) {
            auto numbers = file.pickle().integers(group).value_or(std::vector<std::int64_t>());
            for (std::int64_t& each : numbers) each = std::clamp<std::int64_t>(each, 0, 1 << 20);
            all.push_back(std::move(numbers));
        }
        return all;
    }

    /// ZeRO-3: of each parameter a rank has a run, one parameter behind the other over all its groups.
    Result<void> cut_each(const std::vector<FlatRow>& ranks, const std::vector<std::vector<NamedShape>>& groups) {
        const auto count = static_cast<std::int64_t>(ranks.size());
        std::int64_t at = 0;
        for (const auto& group : groups) {
            for (const NamedShape& shape : group) {
                StoredTensor tensor = flat_tensor(shape, ranks.front().flats().front().dtype);
                const std::int64_t run = tensor.elements() / count + (tensor.elements() % count != 0 ? 1 : 0);
                for (std::int64_t r = 0; r < count; ++r) {
                    const FlatRow& rank = ranks[static_cast<std::size_t>(r)];
                    if (at > rank.elements() || run > rank.elements() - at)
                        return damaged("{} ends behind the values of rank {}", tensor.name, r);
                    const std::int64_t own = std::clamp<std::int64_t>(tensor.elements() - r * run, 0, run);
                    rank.put(at, own, r * run, tensor);
                }
                at += run;
                if (auto added = add(std::move(tensor)); !added) return added;
            }
        }
        for (const FlatRow& rank : ranks) {
            if (rank.elements() != at)
                return damaged("the parameters have {} values a rank, and {} are there", at, rank.elements());
        }
        return {};
    }

    static StoredTensor flat_tensor(const NamedShape& shape, const std::string& dtype) {
        StoredTensor tensor;
        tensor.name = shape.name;
        tensor.dtype = dtype;
        tensor.shape = shape.shape;
        tensor.boxes = {tensor.elements()};
        return tensor;
    }

    Result<void> add(StoredTensor tensor) {
        if (auto fits = check_parts(tensor); !fits) return fits;
        checkpoint_.weights.push_back(std::move(tensor));
        return {};
    }

    /// Parameters that were not trained are whole in the model states, under ZeRO-3 a run a rank.
    Result<void> add_frozen(std::int64_t stage) {
        const Pickle& pickle = models_.front().pickle();
        const auto shapes = pickle.find(pickle.root(), "frozen_param_shapes");
        const auto entries = shapes ? pickle.entries(*shapes) : std::span<const PickleId>();
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            const auto name = pickle.text(entries[i]);
            auto shape = pickle.integers(entries[i + 1]);
            if (!name || !valid_utf8(*name) || !shape || !possible_shape(*shape, "F64"))
                return damaged("a frozen parameter has no shape");
            StoredTensor tensor;
            std::int64_t left = 0;
            for (const TorchFile& file : models_) {
                const auto fragments = file.pickle().find(file.pickle().root(), "frozen_param_fragments");
                const auto value = fragments ? file.pickle().find(*fragments, *name) : std::nullopt;
                PLIMSOLL_TRY(auto part,
                             value ? file.tensor(*value, std::string(*name)) : std::optional<StoredTensor>());
                if (!part) return damaged("{} is frozen and missing", *name);
                if (stage < 3) {
                    tensor = std::move(*part);
                    break;
                }
                if (part->shape.size() != 1) return damaged("{} is frozen and not flat", *name);
                if (tensor.parts.empty()) {
                    tensor = flat_tensor({std::string(*name), *shape}, part->dtype);
                    left = tensor.elements();
                }
                FlatRow row;
                row.add(std::move(*part));
                const std::int64_t own = std::min(left, row.elements());
                row.put(0, own, tensor.elements() - left, tensor);
                left -= own;
            }
            if (auto added = add(std::move(tensor)); !added) return added;
        }
        return {};
    }

    /// Tied parameters stand under one name.
    void add_shared() {
        const Pickle& pickle = models_.front().pickle();
        const auto shared = pickle.find(pickle.root(), "shared_params");
        const auto entries = shared ? pickle.entries(*shared) : std::span<const PickleId>();
        const std::size_t own = checkpoint_.weights.size();
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
            const auto name = pickle.text(entries[i]), source = pickle.text(entries[i + 1]);
            if (!name || !source || !valid_utf8(*name)) continue;
            for (std::size_t w = 0; w < own; ++w) {
                if (checkpoint_.weights[w].name != *source) continue;
                checkpoint_.weights.push_back(checkpoint_.weights[w]);
                checkpoint_.weights.back().name = *name;
            }
        }
    }

    void name_states(std::int64_t stage) {
        const TorchFile& file = optimizers_.front();
        const Pickle& pickle = file.pickle();
        const auto base = in_optimizer(file, stage == 3 ? "optimizer_state_dict" : "base_optimizer_state");
        const auto states = base ? pickle.find(*base, "state") : std::nullopt;
        const auto groups = states ? pickle.entries(*states) : std::span<const PickleId>();
        const auto first = groups.size() >= 2 ? pickle.entries(groups[1]) : std::span<const PickleId>();
        for (std::size_t i = 0; i + 1 < first.size(); i += 2) {
            const auto name = pickle.text(first[i]);
            if (name && *name != "step" && valid_utf8(*name)) checkpoint_.state_names.emplace(*name);
        }
    }

    fs::path folder_;
    std::vector<TorchFile> models_, optimizers_;
    StoredCheckpoint checkpoint_;
};

}  // namespace

Result<StoredCheckpoint> open_zero(const fs::path& folder) { return ZeroReader(folder).read(); }

}  // namespace plimsoll
