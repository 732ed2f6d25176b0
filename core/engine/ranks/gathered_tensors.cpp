// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/gathered_tensors.h"

#include <map>

#include "core/base/json.h"

namespace plimsoll::engine {

namespace {

/// Names, shapes and places of the parts that follow.
std::string described(const std::vector<TensorPart>& parts) {
    Json list = Json::array();
    for (const TensorPart& each : parts) {
        Json ranges = Json::array();
        for (const auto& [begin, length] : each.shard.ranges) ranges.push_back({begin, length});
        list.push_back({{"name", each.name},
                        {"whole", each.shard.whole},
                        {"dim", each.shard.dim},
                        {"ranges", std::move(ranges)},
                        {"dtype", static_cast<int>(each.part.scalar_type())}});
    }
    return list.dump();
}

std::vector<TensorPart> parts_described(const std::string& text) {
    std::vector<TensorPart> parts;
    for (const Json& item : Json::parse(text)) {
        TensorPart each;
        each.name = item.at("name").get<std::string>();
        each.shard.whole = item.at("whole").get<std::vector<std::int64_t>>();
        each.shard.dim = item.at("dim").get<std::int64_t>();
        for (const Json& range : item.at("ranges")) {
            each.shard.ranges.emplace_back(range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>());
        }
        const auto dtype = static_cast<torch::ScalarType>(item.at("dtype").get<int>());
        each.part = torch::empty(each.shard.sizes(), dtype);
        parts.push_back(std::move(each));
    }
    return parts;
}

Result<void> send(const std::vector<TensorPart>& own, Collectives& world) {
    const std::string text = described(own);
    torch::Tensor header = torch::empty({static_cast<std::int64_t>(text.size())}, torch::kUInt8);
    std::copy(text.begin(), text.end(), header.data_ptr<std::uint8_t>());
    const torch::Tensor length = torch::full({1}, header.numel(), torch::kInt64);
    if (auto sent = world.send(length, 0, 0)->wait(); !sent) return sent;
    if (auto sent = world.send(header, 0, 1)->wait(); !sent) return sent;
    for (const TensorPart& each : own) {
        if (each.part.numel() == 0) continue;
        if (auto sent = world.send(each.part.cpu().contiguous(), 0, 2)->wait(); !sent) return sent;
    }
    return {};
}

Result<std::vector<TensorPart>> receive(int rank, Collectives& world) {
    const torch::Tensor length = torch::zeros({1}, torch::kInt64);
    PLIMSOLL_CHECK(world.receive(length, rank, 0)->wait());
    const torch::Tensor header = torch::empty({length.item<std::int64_t>()}, torch::kUInt8);
    PLIMSOLL_CHECK(world.receive(header, rank, 1)->wait());
    std::vector<TensorPart> parts = parts_described(std::string(
        reinterpret_cast<const char*>(header.data_ptr<std::uint8_t>()), static_cast<std::size_t>(header.numel())));
    for (TensorPart& each : parts) {
        if (each.part.numel() == 0) continue;
        PLIMSOLL_CHECK(world.receive(each.part, rank, 2)->wait());
    }
    return parts;
}

void put(const std::vector<TensorPart>& parts, std::map<std::string, torch::Tensor>& whole) {
    const torch::NoGradGuard no_grad;
    for (const TensorPart& each : parts) {
        torch::Tensor& tensor = whole[each.name];
        if (!tensor.defined()) tensor = torch::zeros(each.shard.whole, each.part.scalar_type());
        each.shard.put(each.part.cpu(), tensor);
    }
}

}  // namespace

Result<NamedTensors> gather_on_first_rank(const std::vector<TensorPart>& own, Collectives& world) {
    if (world.rank() != 0) {
        PLIMSOLL_CHECK(send(own, world));
        return NamedTensors();
    }
    std::map<std::string, torch::Tensor> whole;
    put(own, whole);
    for (int rank = 1; rank < world.world_size(); ++rank) {
        PLIMSOLL_TRY(const auto parts, receive(rank, world));
        put(parts, whole);
    }
    return NamedTensors(whole.begin(), whole.end());
}

}  // namespace plimsoll::engine
