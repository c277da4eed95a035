#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/fraction.h"

namespace p2 {

/// A time linear in the latency α of a message and the time β that one device's whole buffer takes
/// over the fastest link: rounds·α + bytes·β. Bytes are counted in buffers.
struct Charge {
  std::int64_t rounds = 0;
  Fraction bytes = 0;

  bool operator==(const Charge&) const = default;
};

/// An exact time for all α, β ≥ 0 at once: the greatest of some charges. Kept are those that are
/// the greatest somewhere, so that equal times are equal values.
class Cost {
 public:
  /// α : β, not both 0.
  struct Ratio {
    Fraction alpha = 0;
    Fraction beta = 0;

    bool operator==(const Ratio&) const = default;
  };

  Cost() = default;
  explicit Cost(std::vector<Charge> greatest_of);

  /// Bytes ascend, rounds descend.
  const std::vector<Charge>& charges() const { return charges_; }
  Fraction at(const Ratio& ratio) const;
  /// Whether this is never above `other`, whatever α and β.
  bool at_most(const Cost& other) const;

  /// One after the other.
  friend Cost operator+(const Cost& a, const Cost& b);
  /// The α : β between two charges.
  std::vector<Ratio> bends() const;
  bool operator==(const Cost&) const = default;

 private:
  std::vector<Charge> charges_ = {Charge{}};
};

/// The least of some costs, for every α : β another one.
class CostFront {
 public:
  /// No effect where `cost` is nowhere the least.
  void add(const Cost& cost);
  /// Those that are the least somewhere.
  const std::vector<Cost>& costs() const { return costs_; }
  /// α = 0, β = 0 and every α : β at which the least bends: between them it is linear.
  const std::vector<Cost::Ratio>& ratios() const { return ratios_; }
  /// Nothing where there are no costs.
  std::optional<Fraction> at(const Cost::Ratio& ratio) const;

  /// The α : β at which `cost` is the smallest part of the least here, of ratios() and its own
  /// bends, if it is below it anywhere: it is so anywhere only if there. α = 0 where there are no
  /// costs.
  std::optional<Cost::Ratio> undercut_by(const Cost& cost) const;

 private:
  std::vector<Cost> costs_;
  std::vector<Cost::Ratio> ratios_ = {{0, 1}, {1, 0}};
};

/// `3`, `3/2`.
std::string to_string(const Fraction& number);
/// `4α + 3/2β`, or where there are several charges `max(6α + 3/2β, 4α + 2β)`.
std::string to_string(const Cost& cost);
/// `α = 0`, `α:β = 1:3` and so on.
std::string to_string(const Cost::Ratio& ratio);

}  // namespace p2
