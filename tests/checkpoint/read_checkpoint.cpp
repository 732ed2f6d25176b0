// SPDX-License-Identifier: Apache-2.0
// read-checkpoint PATH OUT.safetensors [EMBEDDING]: what core/checkpoint makes of a checkpoint of another tool; with
// EMBEDDING, the weights of its model alone. For check_checkpoints.py.
#include <fmt/core.h>

#include "core/checkpoint/safetensors_header.h"
#include "core/checkpoint/stored_checkpoint.h"

namespace plimsoll {
namespace {

Result<void> write(const std::vector<StoredTensor>& tensors, const StoredCheckpoint& checkpoint, const char* path) {
    std::vector<TensorPlace> places;
    std::uint64_t next = 0;
    for (const StoredTensor& each : tensors) {
        places.push_back({each.name, each.dtype, each.shape, next, next + each.bytes()});
        next += each.bytes();
    }
    const Metadata metadata{
        {"kind", std::string(name_of(checkpoint.kind))},
        {"step", checkpoint.step ? fmt::format("{}", *checkpoint.step) : ""},
        {"states", fmt::format("{}", fmt::join(checkpoint.state_names, " "))},
    };
    PLIMSOLL_TRY(const auto header, make_safetensors_header(places, metadata));
    PLIMSOLL_TRY(auto file, FileWriter::create(path));
    if (auto written = write_safetensors_header(file, header); !written) return written;
    std::string values;
    for (const StoredTensor& each : tensors) {
        values.resize(each.bytes());
        if (auto read = read_values(each, values.data()); !read) return read;
        if (auto written = file.write(values.data(), values.size()); !written) return written;
    }
    return file.finish();
}

Result<void> run(int argc, char** argv) {
    if (argc != 3 && argc != 4) return bad_input("usage: read-checkpoint PATH OUT.safetensors [EMBEDDING]");
    PLIMSOLL_TRY(const auto checkpoint, open_checkpoint(argv[1]));
    if (argc == 3) return write(checkpoint.weights, checkpoint, argv[2]);
    const auto weights = model_weights(checkpoint, argv[3], {"model", "lm_head", "embed_tokens", "layers", "norm"});
    return weights ? write(*weights, checkpoint, argv[2]) : tl::unexpected(weights.error());
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
    const auto done = plimsoll::run(argc, argv);
    if (!done) fmt::print(stderr, "{}\n", done.error().message);
    return done ? 0 : plimsoll::exit_code(done.error());
}
