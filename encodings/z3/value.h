#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <z3++.h>

#include "encodings/z3/ladder.h"

/// The bit-vector reading of the semantics: what engine/collective/language says of one state,
/// written as terms over the rows of a symbolic state.
namespace p2::z3_encoding {

/// What an expression of a definition is worth in a symbolic state. Either it is known already
/// (Booleans are 0 and 1), or it is a term: a Boolean, a bit-vector with one bit for each
/// contributor ("lanes": the value of a Boolean for all contributors at once), or an integer that
/// never exceeds `most`, in exactly as many bits as `most` needs.
struct Value {
  std::uint64_t known = 0;
  std::optional<z3::expr> term;
  std::uint64_t most = 0;
  std::shared_ptr<const Ladder> ladder = {};  ///< the same integer once more, where it is a count

  static Value of(std::uint64_t number) { return {number, std::nullopt, number, {}}; }
  /// A Boolean or lanes.
  static Value truth(z3::expr term) { return {0, std::move(term), 1, {}}; }
  static Value integer(z3::expr term, std::uint64_t most,
                       std::shared_ptr<const Ladder> ladder = {}) {
    return {0, std::move(term), most, std::move(ladder)};
  }

  bool is(std::uint64_t number) const { return !term && known == number; }
};

}  // namespace p2::z3_encoding
