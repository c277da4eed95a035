// Types of elements, shapes, and their texts.

#include "engine/hlo/shape.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo {

namespace {

using Kind = ElementType::Kind;

struct TypeRow {
  std::string_view name;
  Kind kind;
  unsigned bits;
};

constexpr auto kTypes = std::to_array<TypeRow>({
    {"token", Kind::Other, 0},    {"opaque", Kind::Other, 0},        {"pred", Kind::Boolean, 1},
    {"s1", Kind::Signed, 1},      {"s2", Kind::Signed, 2},           {"s4", Kind::Signed, 4},
    {"s8", Kind::Signed, 8},      {"s16", Kind::Signed, 16},         {"s32", Kind::Signed, 32},
    {"s64", Kind::Signed, 64},    {"u1", Kind::Unsigned, 1},         {"u2", Kind::Unsigned, 2},
    {"u4", Kind::Unsigned, 4},    {"u8", Kind::Unsigned, 8},         {"u16", Kind::Unsigned, 16},
    {"u32", Kind::Unsigned, 32},  {"u64", Kind::Unsigned, 64},       {"f16", Kind::Float, 16},
    {"bf16", Kind::Float, 16},    {"f32", Kind::Float, 32},          {"f64", Kind::Float, 64},
    {"f4e2m1fn", Kind::Float, 4}, {"f8e3m4", Kind::Float, 8},        {"f8e4m3", Kind::Float, 8},
    {"f8e4m3fn", Kind::Float, 8}, {"f8e4m3b11fnuz", Kind::Float, 8}, {"f8e4m3fnuz", Kind::Float, 8},
    {"f8e5m2", Kind::Float, 8},   {"f8e5m2fnuz", Kind::Float, 8},    {"f8e8m0fnu", Kind::Float, 8},
    {"c64", Kind::Complex, 64},   {"c128", Kind::Complex, 128},
});

void collect(const Shape& shape, std::vector<ArrayShape>& all) {
  if (!shape.is_tuple) all.push_back(shape.array);
  for (const Shape& part : shape.parts) collect(part, all);
}

}  // namespace

std::optional<ElementType> ElementType::from_xla(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return ElementType(static_cast<std::uint8_t>(i));
  }
  return std::nullopt;
}

std::optional<ElementType> ElementType::from_mlir(std::string_view name) {
  std::string xla(name);
  std::transform(xla.begin(), xla.end(), xla.begin(), [](char ch) {
    return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  });
  if (xla == "i1") return from_xla("pred");
  if (xla == "index") return from_xla("s64");
  if (xla == "complex<f32>") return from_xla("c64");
  if (xla == "complex<f64>") return from_xla("c128");
  if (xla.rfind("ui", 0) == 0) xla.erase(1, 1);
  if (xla.rfind("si", 0) == 0) xla.erase(0, 1);
  if (xla.rfind('i', 0) == 0) xla[0] = 's';
  return from_xla(xla);
}

std::string_view ElementType::name() const { return kTypes[index_].name; }
ElementType::Kind ElementType::kind() const { return kTypes[index_].kind; }
unsigned ElementType::bits() const { return kTypes[index_].bits; }

std::int64_t volume(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

bool ArrayShape::row_major() const {
  for (std::size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != static_cast<std::int64_t>(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

std::vector<ArrayShape> Shape::arrays() const {
  std::vector<ArrayShape> all;
  collect(*this, all);
  return all;
}

bool are_alike(const Shape& a, const Shape& b) {
  if (a.is_tuple || b.is_tuple) {
    return a.is_tuple == b.is_tuple &&
           std::ranges::equal(a.parts, b.parts,
                              [](const Shape& x, const Shape& y) { return are_alike(x, y); });
  }
  return are_alike(a.array.type, b.array.type) && a.array.sizes == b.array.sizes &&
         a.array.foreign == b.array.foreign;
}

bool are_alike(ElementType a, ElementType b) { return a == b || (a.is_float() && b.is_float()); }

bool are_same(const Shape& a, const Shape& b) {
  return are_alike(a, b) &&
         std::ranges::equal(a.arrays(), b.arrays(), {}, &ArrayShape::type, &ArrayShape::type);
}

bool is_foreign(const Shape& shape) {
  return shape.is_tuple ? std::any_of(shape.parts.begin(), shape.parts.end(), is_foreign)
                        : shape.array.type.name() == "opaque";
}

bool is_dynamic(const Shape& shape) {
  const std::string& text = shape.array.foreign;
  return shape.is_tuple
             ? std::any_of(shape.parts.begin(), shape.parts.end(), is_dynamic)
             : text.find('?') != std::string::npos || text.find("<=") != std::string::npos;
}

std::string to_string(const ArrayShape& shape) {
  if (!shape.foreign.empty()) return shape.foreign;
  return fmt::format("{}[{}]", shape.type.name(), fmt::join(shape.sizes, ","));
}

std::string to_string(const Shape& shape) {
  if (!shape.is_tuple) return to_string(shape.array);
  std::string text;
  for (const Shape& part : shape.parts) text += (text.empty() ? "" : ", ") + to_string(part);
  return "(" + text + ")";
}

}  // namespace p2::hlo
