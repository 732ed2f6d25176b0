// SPDX-License-Identifier: Apache-2.0
// A c10d store in which nobody without the secret of the run can write a value that a rank believes.
#pragma once

#include <sodium.h>

#include <array>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace plimsoll::engine {

/// TCPStore knows no passwords: whoever reaches its port, as any user of the machine does, reads, lists, writes and
/// removes keys. Here each value carries a tag over its key and itself (HMAC-SHA-512-256 of libsodium, crypto_auth), and a
/// value without the right one is an error that says so. Others can still remove keys or fill the store, which ends the
/// run, and nothing else. Counters (add) carry no tag: nothing but barriers of c10d uses them.
///
/// Stands right above the TCPStore, so that keys are whole; a PrefixStore goes on top.
class SealedStore : public c10d::Store {
public:
    SealedStore(c10::intrusive_ptr<c10d::Store> under, const std::string& secret);

    c10::intrusive_ptr<c10d::Store> clone() override;
    void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
    std::vector<std::uint8_t> get(const std::string& key) override;
    std::int64_t add(const std::string& key, std::int64_t value) override { return under_->add(key, value); }
    bool deleteKey(const std::string& key) override { return under_->deleteKey(key); }
    bool check(const std::vector<std::string>& keys) override { return under_->check(keys); }
    std::int64_t getNumKeys() override { return under_->getNumKeys(); }
    void wait(const std::vector<std::string>& keys) override { under_->wait(keys); }
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
        under_->wait(keys, timeout);
    }
    const std::chrono::milliseconds& getTimeout() const noexcept override { return under_->getTimeout(); }
    void setTimeout(const std::chrono::milliseconds& timeout) override { under_->setTimeout(timeout); }

    /// Values are addresses, names and numbers; a longer one is an error.
    static constexpr std::size_t most_bytes = 1 << 20;

private:
    using Key = std::array<unsigned char, crypto_auth_KEYBYTES>;
    using Tag = std::array<unsigned char, crypto_auth_BYTES>;
    SealedStore(c10::intrusive_ptr<c10d::Store> under, const Key& key) : under_(std::move(under)), key_(key) {}
    Tag tag_of(const std::string& key, const std::uint8_t* value, std::size_t size) const;

    c10::intrusive_ptr<c10d::Store> under_;
    Key key_;
};

}  // namespace plimsoll::engine
