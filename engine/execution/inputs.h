#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/execution/element.h"

namespace p2::execution {

/// The data that the ranks start with: element e of rank r is a function of seed, r and e.
struct Inputs {
  enum class Kind : std::uint8_t {
    Integers,  ///< small whole numbers: every sum over all ranks is exact, whatever its order
    Reals,     ///< from −1 to 1: sums are right within n·eps·Σ|x|
  };

  ElementType type = ElementType::Float32;
  Kind kind = Kind::Integers;
  std::uint32_t ranks = 1;
  std::uint64_t seed = 1;

  /// Elements `first`, `first` + 1, … of `rank`, into memory for elements of the type.
  void write(std::uint32_t rank, std::size_t first, std::span<std::byte> elements) const;

  /// Whether sums are exact. Integers in bfloat16 are not for more than 256 ranks.
  bool exact() const;
};

/// What elements should be: a sum over contributors, and how far from it a result may lie.
struct Reference {
  std::vector<double> sum;
  std::vector<double> bound;  ///< 0 where sums are exact

  /// The sums of elements `first` … `first` + `count` − 1 over `contributors`.
  void compute(const Inputs& inputs, std::span<const std::uint32_t> contributors, std::size_t first,
               std::size_t count);
  /// The sums as elements of the type, to `first` and on of `elements`.
  void write(ElementType type, std::span<std::byte> elements, std::size_t first) const;
};

}  // namespace p2::execution
