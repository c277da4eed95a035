#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

// How certificates say what devices hold, and what follows from it (docs/certificates.md).

/// The keys `reducer`, `parts` and `pieces` of how a tensor is held, as it is and where in arrays
/// of sizes `own`, if these are given. All of every part is held, on devices below `devices`, or
/// the check ends.
Relation read_pieces(const Json& json, const Shape& whole, const Index* own, std::size_t devices,
                     std::uint64_t max_parts, Budget& budget);

/// Of every array, that all devices have it.
std::vector<Relation> copies_on_devices(const std::vector<Shape>& shapes, std::size_t devices);
/// What a relation says of a tensor, in words.
std::string words_of(const Relation& relation, const Shape& whole, std::size_t devices);

/// The row-major number of the element at `first` + `offset`, which has to be inside.
std::size_t place_from(const Index& sizes, Index first, const Index& offset);
/// The input of this number; `owner` tells those of devices, or parts, apart.
Tensor drawn_input(Arithmetic& arithmetic, const Shape& shape, std::uint64_t number,
                   std::uint64_t owner);
/// Of a tensor, which is a reduction of parts, what every device holds in an array of shape `own`;
/// anything where it holds nothing.
Value held_by_devices(Arithmetic& arithmetic, const std::vector<Tensor>& parts,
                      const Relation& relation, const Shape& own, const Devices& devices,
                      Budget& budget);

/// One value for every parameter of the entry computation, from arrays in order.
std::vector<Value> arguments_of(const Module& module, std::vector<Value> arrays);
/// Adds the arrays of a value, from left to right.
void arrays_of(const Value& value, std::vector<Value>& arrays);

/// Whether tensors, given by node or number, have the types and sizes of arrays.
bool have_shapes(const FlatModule& flat, const std::vector<std::size_t>& nodes,
                 const std::vector<Shape>& shapes);

/// The file relation.json: facts, each a list of numbers, and what it says of outputs.
class FactLines {
 public:
  explicit FactLines(const Files& files);

  void for_each(const std::function<void(std::span<const std::uint32_t> line)>& visit) const;
  const Json& outputs() const { return rest_["outputs"]; }

  /// A number in this file is below.
  static constexpr std::uint64_t kEnd = 1ULL << 31U;

 private:
  bool read_flat(const std::string& bytes);
  Numbers numbers_;                ///< of all lines that are read flat
  std::vector<std::size_t> ends_;  ///< of these lines
  Json rest_;
};

}  // namespace p2::kernel::xla
