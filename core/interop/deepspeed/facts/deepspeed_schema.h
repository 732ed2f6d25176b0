// SPDX-License-Identifier: Apache-2.0
// The keys of DeepSpeed's configuration file (resources/deepspeed-schema.json): type, default, bounds, meaning, and the
// releases that brought, moved or dropped each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/interop/deepspeed/facts/deepspeed_release.h"

namespace plimsoll {

struct DeepSpeedKey {
    std::string key;   ///< dotted path
    std::string type;  ///< of boolean, integer, number, string, array, object, null, any; several with "|" between
    Json default_value;
    std::string meaning;
    std::optional<double> min, max, above, below;
    std::vector<Json> allowed;      ///< empty: any value of the type
    std::string also;               ///< a second name in the same block
    std::string replaced_by;        ///< the name of today, of a deprecated key
    DeepSpeedRelease since;         ///< the first release looked at that has it; 0.0.0: all
    DeepSpeedRelease absent;        ///< the last one looked at that lacks it; 0.0.0: `since` is exact
    DeepSpeedRelease bounds_since;  ///< of the bounds, likewise
    struct Move {
        DeepSpeedRelease after;  ///< the last release looked at with the old default; 0.0.0: `at` is exact
        DeepSpeedRelease at;     ///< the first with the new one
        Json before;
    };
    std::vector<Move> moved;  ///< in order of release
};

/// A key or block that later releases refuse.
struct RemovedDeepSpeedKey {
    DeepSpeedRelease until;  ///< the first release that refuses it
    DeepSpeedRelease since;
    std::string cure;
};

/// A key that was read under another name.
struct RenamedDeepSpeedKey {
    std::string now;
    DeepSpeedRelease since;  ///< the first release that reads the old name; 0.0.0: all
    DeepSpeedRelease until;  ///< the first that does not
};

/// Whether a release reads a key.
enum class DeepSpeedPresence {
    There,
    Perhaps,  ///< it came between two releases that were looked at
    NotYet,
    Unknown,
};

class DeepSpeedSchema {
public:
    static Result<DeepSpeedSchema> from_json(const Json& json);

    /// Every key, in the order of the file.
    const std::vector<DeepSpeedKey>& keys() const { return keys_; }
    /// By dotted path, under its own name or the second one; null: none of today's keys.
    const DeepSpeedKey* find(std::string_view path) const;
    /// Names that may stand in a block ("" is the top level); empty where DeepSpeed takes the block as it is.
    std::vector<std::string> names_in(const std::string& block) const;
    /// Blocks of which `name` is a key, other than `block`.
    std::vector<std::string> blocks_with(const std::string& name, const std::string& block) const;
    DeepSpeedPresence presence(const std::string& path, const DeepSpeedRelease& release) const;
    const RemovedDeepSpeedKey* removed(const std::string& path) const;
    /// null: no key that was renamed.
    const RenamedDeepSpeedKey* renamed(const std::string& path) const;

    /// Whether DeepSpeed itself refuses unknown keys in the block (its pydantic models).
    bool strict(const std::string& block, const DeepSpeedRelease& release) const;

    /// The value that the release takes where the file has none; null for an unknown key.
    Json default_in(std::string_view path, const DeepSpeedRelease& release) const;

    /// Constructor arguments by class ("FusedAdam", "torch.optim.SGD"); null: not known.
    const std::vector<std::string>* optimizer_arguments(const std::string& class_name) const;
    struct SchedulerArguments {
        std::vector<std::string> required, optional;
        DeepSpeedRelease since;  ///< the release that brought the class; 0.0.0: all
    };
    const SchedulerArguments* scheduler_arguments(const std::string& type) const;
    std::vector<std::string> torch_optimizers() const;
    std::vector<std::string> schedulers() const;

private:
    void add(const Json& entry);
    void index_key(std::size_t at);
    /// The first release that has any key of the block.
    DeepSpeedRelease first_with(const std::string& block) const;
    std::vector<DeepSpeedKey> keys_;
    std::map<std::string, std::size_t, std::less<>> by_path_;
    std::map<std::string, std::set<std::string>> names_;
    std::map<std::string, RemovedDeepSpeedKey> removed_;
    std::map<std::string, RenamedDeepSpeedKey> renamed_;
    std::map<std::string, DeepSpeedRelease> strict_;
    std::map<std::string, std::vector<std::string>> optimizers_;
    std::map<std::string, SchedulerArguments> schedulers_;
};

/// The bundled schema, read once; the error says why it cannot be read.
const Result<DeepSpeedSchema>& deepspeed_schema();

/// "a.b" + "c" -> "a.b.c"; "" + "c" -> "c".
std::string joined_key(const std::string& block, std::string_view name);

/// A value of the file that is not the release's default.
struct DeepSpeedDifference {
    std::string key;
    Json value;
    Json default_value;
    std::string meaning;
    bool known = true;  ///< false: no key of DeepSpeed's
};
/// Every value of the file that differs from what the release takes without it, in the order of the file.
std::vector<DeepSpeedDifference> differences_from_defaults(const Json& file, const DeepSpeedSchema& schema,
                                                           const DeepSpeedRelease& release);

}  // namespace plimsoll
