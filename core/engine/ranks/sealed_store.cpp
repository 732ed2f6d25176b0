// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/sealed_store.h"

#include <algorithm>

namespace plimsoll::engine {

namespace {

constexpr const char* domain = "plimsoll store";

}  // namespace

SealedStore::SealedStore(c10::intrusive_ptr<c10d::Store> under, const std::string& secret) : under_(std::move(under)) {
    TORCH_CHECK(sodium_init() >= 0, "libsodium finds no source of random numbers");
    crypto_generichash(key_.data(), key_.size(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                       reinterpret_cast<const unsigned char*>(domain), std::char_traits<char>::length(domain));
}

c10::intrusive_ptr<c10d::Store> SealedStore::clone() {
    return c10::intrusive_ptr<SealedStore>::unsafe_steal_from_new(new SealedStore(under_->clone(), key_));
}

/// The length of the key goes first, so that no other pair of key and value has the same text.
SealedStore::Tag SealedStore::tag_of(const std::string& key, const std::uint8_t* value, std::size_t size) const {
    std::vector<unsigned char> text(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<unsigned char>(key.size() >> (8 * i));
    text.insert(text.end(), key.begin(), key.end());
    text.insert(text.end(), value, value + size);
    Tag tag;
    crypto_auth(tag.data(), text.data(), text.size(), key_.data());
    return tag;
}

void SealedStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
    TORCH_CHECK(value.size() <= most_bytes, "a value of ", value.size(), " bytes is too long for the store");
    std::vector<std::uint8_t> sealed = value;
    const Tag tag = tag_of(key, value.data(), value.size());
    sealed.insert(sealed.end(), tag.begin(), tag.end());
    under_->set(key, sealed);
}

std::vector<std::uint8_t> SealedStore::get(const std::string& key) {
    std::vector<std::uint8_t> value = under_->get(key);
    const bool possible = value.size() >= crypto_auth_BYTES && value.size() <= most_bytes + crypto_auth_BYTES;
    const std::size_t size = possible ? value.size() - crypto_auth_BYTES : 0;
    const Tag tag = tag_of(key, value.data(), size);
    TORCH_CHECK(possible && sodium_memcmp(tag.data(), value.data() + size, tag.size()) == 0,
                "the store holds a value that no rank of this run wrote: another program or user of the machine writes "
                "into it, or the ranks were started with different secrets (PLIMSOLL_SECRET)");
    value.resize(size);
    return value;
}

}  // namespace plimsoll::engine
