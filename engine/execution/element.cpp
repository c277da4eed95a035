#include "engine/execution/element.h"

#include <array>

namespace p2::execution {

std::size_t size_of(ElementType type) {
  return with_type(type, [](auto element) { return sizeof(element); });
}

unsigned exact_bits(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return 24;
    case ElementType::Float64:
      return 53;
    case ElementType::Int32:
      return 31;
    case ElementType::BFloat16:
      return 8;
  }
  return 0;
}

std::string_view to_string(ElementType type) {
  constexpr std::array<std::string_view, 4> kNames = {"float32", "float64", "int32", "bfloat16"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace p2::execution
