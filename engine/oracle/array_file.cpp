#include "engine/oracle/array_file.h"

#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"

namespace p2::oracle {

using execution::ElementType;

std::string numpy_name(ElementType type) {
  invariant(type != ElementType::BFloat16, "an array of bfloat16");
  return fmt::format("<{}{}", type == ElementType::Int32 ? 'i' : 'f', size_of(type));
}

std::string array_file(ElementType type, const std::vector<std::size_t>& shape,
                       std::span<const std::byte> elements) {
  static_assert(std::endian::native == std::endian::little);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", numpy_name(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version, length of the header and header take up a multiple of 64 bytes.
  constexpr std::size_t kBefore = 10;
  header += std::string(63 - (kBefore + header.size()) % 64, ' ') + "\n";
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xFFU),
           static_cast<char>(header.size() >> 8U)};
  file += header;
  file.append(reinterpret_cast<const char*>(elements.data()), elements.size());
  return file;
}

}  // namespace p2::oracle
