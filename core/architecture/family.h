// SPDX-License-Identifier: Apache-2.0
// A family of models as its file in resources/families describes it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/architecture/expression.h"

namespace plimsoll {

/// Text with expressions in it: "model.layers.{layer}.".
struct Template {
    std::vector<std::pair<std::string, std::optional<Expression>>> parts;  ///< text, then what stands behind it

    static Result<Template> parse(const std::string& text);
    Result<std::string> filled(const Scope& scope) const;
};

/// A tensor, or items that come together: under a condition, once for each of `count`, or from a block that families share.
struct FamilyItem {
    std::optional<Template> name;  ///< of a tensor
    std::vector<Expression> shape;

    std::optional<Expression> condition;
    Template prefix;
    std::vector<std::pair<std::string, Expression>> with;  ///< names for what is inside
    std::string loop;                                      ///< the name of the place in the loop
    std::optional<Expression> count;
    std::optional<Expression>
        active;  ///< how many of `count` a token goes through, or of `of` where they lie in one tensor
    std::optional<Expression> of;
    std::string use;      ///< a block of common.json
    bool buffer = false;  ///< stored, but not a parameter
    std::vector<FamilyItem> items, otherwise;
};

struct FamilyFile {
    std::string name;                                       ///< of its file
    std::string title;                                      ///< for a person
    std::vector<std::string> model_types;                   ///< of config.json
    std::vector<std::string> classes;                       ///< of config.json ("architectures")
    std::vector<std::string> needs;                         ///< keys without which nothing can be said
    std::vector<std::pair<std::string, Expression>> let;    ///< names, each of what is above it
    std::vector<std::pair<std::string, Expression>> facts;  ///< in words, layer by layer
    std::vector<FamilyItem> tensors;
};

struct FamilyFiles {
    std::vector<FamilyFile> all;  ///< by name
    std::map<std::string, std::vector<FamilyItem>> blocks;

    /// By model_type, the name of the file or a class; null where none has it.
    const FamilyFile* find(const std::string& name) const;
    std::vector<std::string> names() const;
};

/// Every .json file of the folder; adding a family is adding a file. Errors name the file and what in it is wrong.
Result<FamilyFiles> load_families(const std::filesystem::path& folder);

}  // namespace plimsoll
