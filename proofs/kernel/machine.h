#pragma once

#include <algorithm>
#include <compare>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

using Digits = std::uint32_t;  ///< a set of digits of size above 1, of which there are at most 20

inline bool within(Digits some, Digits all) { return (some & ~all) == 0; }

/// A collective on groups that vary over some digits and exist where others are 0.
struct Choice {
  std::string collective;
  Digits varied = 0, pinned = 0;

  auto operator<=>(const Choice&) const = default;
};
using Choices = std::set<Choice>;

/// The system of problem.json, whose sizes are examples: each above 1 stands for all above 1.
struct Sizes {
  Sizes(const Json& root, std::vector<std::string> keys, Budget& budget) {
    keys.insert(keys.end(), {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"});
    expect_keys(root, keys);
    std::uint64_t devices = 1;
    for (const Json& level : as_list(root["hierarchy"])) {
      expect_keys(level, {"name", "size"});
      devices *= as_number(level["size"], (1U << 20U) + 1);
      if (devices > 1U << 20U) malformed("hierarchy has too many devices");
    }
    instance.emplace(root, static_cast<std::uint32_t>(devices));
    budget.spend(4 * instance->shapes.size() * instance->levels.size());
    // Outermost first: a hierarchy has them in an order of its own.
    std::ranges::sort(instance->digits, std::ranges::greater(), &Instance::Digit::stride);
    for (std::size_t i = 0; i < instance->digits.size(); ++i) {
      if (instance->reduced_axis[instance->digits[i].axis]) goal |= Digits{1} << i;
    }
  }

  Digits with_role(const Instance::Shape& shape, std::size_t role) const {
    Digits set = 0;
    for (std::size_t i = 0; i < instance->digits.size(); ++i) {
      if (shape.role[instance->digits[i].part] == role) set |= Digits{1} << i;
    }
    return set;
  }

  /// In dialect published only AllReduce may pin digits.
  Choice choice(const Json& value, Budget& budget, bool published = true) const {
    budget.spend(instance->shapes.size() * (1 + instance->digits.size()));
    expect_keys(value, {"collective", "slice", "form"});
    Choice choice{as_text(value["collective"])};
    if (std::ranges::count(kCollectives, choice.collective) == 0) malformed("unknown collective");
    for (const Instance::Shape& shape : instance->shapes) {
      if (shape.slice != as_text(value["slice"]) || shape.form != as_text(value["form"])) continue;
      choice.varied = with_role(shape, 1);
      choice.pinned = with_role(shape, 2);
    }
    const std::string words = names(value);
    if (choice.varied == 0) reject(words + " forms no group of two devices");
    if (published && choice.pinned != 0 && choice.collective != kCollectives[0]) {
      reject(choice.collective + words + ": not allowed with Master");
    }
    return choice;
  }
  static std::string names(const Json& choice) {
    return "(" + as_text(choice["slice"]) + ", " + as_text(choice["form"]) + ")";
  }

  /// A list of all that a step can be, each once.
  std::vector<Choice> choices(const Json& list, Budget& budget, bool published = true) const {
    std::vector<Choice> choices;
    for (const Json& value : as_list(list)) choices.push_back(choice(value, budget, published));
    const Choices named(choices.begin(), choices.end());
    if (named != all(published)) reject("choices lacks one");
    if (named.size() != choices.size()) reject("choices has one twice");
    return choices;
  }

  /// All that a step can be.
  Choices all(bool published = true) const {
    Choices choices;
    for (const Instance::Shape& shape : instance->shapes) {
      const Digits varied = with_role(shape, 1);
      const Digits pinned = with_role(shape, 2);
      for (const char* collective : kCollectives) {
        if (varied != 0) choices.insert({collective, varied, pinned});
        if (published && pinned != 0) break;  // AllReduce alone
      }
    }
    return choices;
  }

  std::string words() const {
    return "for every size from 2 on of " + counted(instance->digits.size(), "factor") +
           " greater than 1, by theorem T7 (" + instance->words + ", dialect published";
  }

  std::optional<Instance> instance;
  Digits goal = 0;
};

/// The values of every digit, at most so many, as points: digits outermost first.
struct Grid {
  Grid(const Sizes& sizes, std::uint32_t values, Budget& budget) {
    for (const Instance::Digit& digit : sizes.instance->digits) {
      counts.push_back(std::min(digit.size, values));
      points *= counts.back();
      budget.spend(points * points);
    }
    strides.resize(counts.size());
    std::uint32_t stride = 1;
    for (std::size_t f = counts.size(); f-- > 0; stride *= counts[f]) strides[f] = stride;
  }

  std::uint32_t value(std::uint32_t point, std::size_t digit) const {
    return point / strides[digit] % counts[digit];
  }

  /// Points whose other digits are 0, ascending.
  Numbers with(Digits digits, Budget& budget) const {
    Numbers all{0};
    for (std::size_t f = 0; f < counts.size(); ++f) {
      if ((digits >> f & 1U) == 0) continue;
      Numbers more;
      for (const std::uint32_t point : all) {
        for (std::uint32_t v = 0; v < counts[f]; ++v) more.push_back(point + v * strides[f]);
      }
      all = std::move(more);
    }
    budget.spend(all.size());
    return all;
  }

  std::uint64_t points = 1;
  Numbers counts;   ///< of values, by digit
  Numbers strides;  ///< what one more adds to a point
};

}  // namespace p2::kernel
