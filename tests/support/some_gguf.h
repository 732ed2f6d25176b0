// SPDX-License-Identifier: Apache-2.0
// GGUF files made byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class GgufBytes {
public:
    template <class Number>
    GgufBytes& put(Number number) {
        char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        bytes_.append(bytes, sizeof number);
        return *this;
    }
    GgufBytes& text(std::string_view text) {
        put(std::uint64_t{text.size()});
        bytes_.append(text);
        return *this;
    }
    GgufBytes& raw(std::string_view raw) {
        bytes_.append(raw);
        return *this;
    }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
};

/// A file with these keys and tensors, its data all zeros.
struct SomeGguf {
    std::uint32_t version = 3;
    std::uint64_t keys = 0, tensors = 0;
    GgufBytes head, places;
    std::uint64_t data = 0;  ///< bytes so far

    SomeGguf& key(std::string_view name, std::uint32_t type) {
        ++keys;
        head.text(name).put(type);
        return *this;
    }
    SomeGguf& number(std::string_view name, std::uint32_t value) {
        key(name, 4).head.put(value);
        return *this;
    }
    SomeGguf& real(std::string_view name, float value) {
        key(name, 6).head.put(value);
        return *this;
    }
    SomeGguf& text(std::string_view name, std::string_view value) {
        key(name, 8).head.text(value);
        return *this;
    }
    SomeGguf& texts(std::string_view name, const std::vector<std::string>& values) {
        key(name, 9).head.put(std::uint32_t{8}).put(std::uint64_t{values.size()});
        for (const std::string& value : values) head.text(value);
        return *this;
    }
    /// F32, contiguous dimension first.
    SomeGguf& tensor(std::string_view name, const std::vector<std::uint64_t>& shape) {
        ++tensors;
        places.text(name).put(static_cast<std::uint32_t>(shape.size()));
        std::uint64_t bytes = 4;
        for (const std::uint64_t size : shape) {
            places.put(size);
            bytes *= size;
        }
        places.put(std::uint32_t{0}).put(data);
        data += (bytes + 31) / 32 * 32;
        return *this;
    }
    std::string bytes() const {
        std::string all =
            GgufBytes().raw("GGUF").put(version).put(tensors).put(keys).bytes() + head.bytes() + places.bytes();
        if (tensors > 0) all.resize((all.size() + 31) / 32 * 32 + data);
        return all;
    }
};

/// A LLaMA with 2 layers: hidden 64, 4 heads of which 2 for keys and values, MLP 160, 96 tokens. With `experts`
/// Mixtral's form.
inline SomeGguf some_llama(std::uint64_t experts = 0) {
    SomeGguf file;
    file.text("general.architecture", "llama")
        .text("general.name", "Tiny LLaMA")
        .number("llama.block_count", 2)
        .number("llama.embedding_length", 64)
        .number("llama.feed_forward_length", 160)
        .number("llama.attention.head_count", 4)
        .number("llama.attention.head_count_kv", 2)
        .number("llama.context_length", 256)
        .real("llama.rope.freq_base", 500000)
        .real("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .texts("tokenizer.ggml.tokens", std::vector<std::string>(96, "token"));
    if (experts > 0)
        file.number("llama.expert_count", static_cast<std::uint32_t>(experts)).number("llama.expert_used_count", 2);
    file.tensor("token_embd.weight", {64, 96}).tensor("output_norm.weight", {64}).tensor("output.weight", {64, 96});
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        file.tensor(layer + "attn_norm.weight", {64})
            .tensor(layer + "ffn_norm.weight", {64})
            .tensor(layer + "attn_q.weight", {64, 64})
            .tensor(layer + "attn_k.weight", {64, 32})
            .tensor(layer + "attn_v.weight", {64, 32})
            .tensor(layer + "attn_output.weight", {64, 64});
        if (experts > 0) {
            file.tensor(layer + "ffn_gate_inp.weight", {64, experts})
                .tensor(layer + "ffn_gate_exps.weight", {64, 160, experts})
                .tensor(layer + "ffn_up_exps.weight", {64, 160, experts})
                .tensor(layer + "ffn_down_exps.weight", {160, 64, experts});
        } else {
            file.tensor(layer + "ffn_gate.weight", {64, 160})
                .tensor(layer + "ffn_up.weight", {64, 160})
                .tensor(layer + "ffn_down.weight", {160, 64});
        }
    }
    file.tensor("rope_freqs.weight", {8});
    return file;
}

}  // namespace plimsoll
