#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace p2::hlo {

/// The type of a tensor's elements, by its name in XLA: `f32`, `bf16`, `s32`, `pred`, `token`, …
class ElementType {
 public:
  enum class Kind : std::uint8_t { Boolean, Signed, Unsigned, Float, Complex, Other };

  ElementType() = default;  ///< `token`: holds no numbers
  /// The type with a name of XLA; nothing for an unknown name.
  static std::optional<ElementType> from_xla(std::string_view name);
  /// The type with a name of MLIR: `i32`, `ui8`, `f8E4M3FN`, `i1`, …
  static std::optional<ElementType> from_mlir(std::string_view name);

  std::string_view name() const;
  Kind kind() const;
  unsigned bits() const;
  bool is_integer() const { return kind() == Kind::Signed || kind() == Kind::Unsigned; }
  bool is_float() const { return kind() == Kind::Float; }
  bool is_complex() const { return kind() == Kind::Complex; }
  bool is_token() const { return index_ == 0; }
  std::uint8_t index() const { return index_; }
  bool operator==(const ElementType&) const = default;

 private:
  explicit ElementType(std::uint8_t index) : index_(index) {}
  std::uint8_t index_ = 0;
};

/// The number of elements of a box of these sizes.
std::int64_t volume(const std::vector<std::int64_t>& sizes);

/// The largest number of elements of a tensor: products of sizes and offsets fit into 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 52;

/// An array: `f32[8,16]{1,0}`. Without a layout it is row-major.
struct ArrayShape {
  ElementType type = {};
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> minor_to_major = {};  ///< empty: row-major
  /// The type as printed where this cannot represent it, as sizes are not fixed or it is of another
  /// dialect: `f32[<=8]`, `tensor<?x4xf32>`. Elements are of type `opaque`, sizes the largest.
  std::string foreign = {};

  /// At most kMaxElements: the readers ensure it.
  std::int64_t elements() const { return volume(sizes); }
  bool row_major() const;
  bool same_sizes(const ArrayShape& other) const { return sizes == other.sizes; }
};

/// An array or a tuple of shapes.
struct Shape {
  bool is_tuple = false;
  ArrayShape array = {};
  std::vector<Shape> parts = {};

  /// The arrays at its leaves, from left to right.
  std::vector<ArrayShape> arrays() const;
};

/// Whether they have the same sizes and types, whatever their layouts.
bool are_same(const Shape& a, const Shape& b);
/// The same, but types of floating-point numbers may differ.
bool are_alike(const Shape& a, const Shape& b);
bool are_alike(ElementType a, ElementType b);

/// Whether there are elements of type `opaque`; whether there are sizes that are not fixed.
bool is_foreign(const Shape& shape);
bool is_dynamic(const Shape& shape);

/// `f32[8,16]`, without the layout.
std::string to_string(const ArrayShape& shape);
std::string to_string(const Shape& shape);

}  // namespace p2::hlo
