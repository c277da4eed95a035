#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/hlo/equality/comparison_context.h"

namespace p2::hlo {

/// Numbers for the inputs of all devices, and what values are for them.
class Trial {
 public:
  enum class Kind : std::uint8_t {
    Ones,        ///< every input is 1
    PerInput,    ///< one number for all elements of an input of a device
    PerElement,  ///< another number for every element
    OneHot,      ///< 1 on one input of one device, else 0
    OneElement   ///< 1 on one element of one input of one device, else 0
  };

  Trial(const ComparisonContext& context, Kind kind, std::uint64_t seed, bool truth)
      : context_(context), kind_(kind), seed_(seed), truth_(truth) {}
  /// Of whose input, and where in it, there is a 1: the first of the elements of `atom`.
  void choose(const Atom& atom);

  /// Nothing where a number cannot be computed: for what is not understood, and large sums.
  std::optional<double> of(Value value);
  /// How far rounding could have changed it, as a part of it.
  double tolerance() const { return tolerance_; }

 private:
  std::optional<double> compute(Value value);
  std::optional<double> atom(const Atom& atom);
  std::optional<double> bound(const Atom& atom);
  std::optional<double> bound_one_by_one(const Atom& atom, std::int64_t count);
  std::optional<bool> holds_chosen(const Atom& atom);
  std::optional<std::vector<std::int64_t>> place(const IndexMap& map);
  std::optional<double> apply(Value value);
  double input(const Atom& atom, const std::vector<std::int64_t>& place) const;

  const ComparisonContext& context_;
  Kind kind_;
  std::uint64_t seed_;
  bool truth_;
  std::pair<std::int64_t, std::uint32_t> chosen_ = {};
  std::vector<std::int64_t> chosen_place_;
  std::map<Value, std::optional<double>> known_;
  double tolerance_ = 1e-9;
  int offsets_inside_offsets_ = 0;
};

/// Whether Trial knows what an Apply does.
bool is_computable(std::string_view function);

}  // namespace p2::hlo
