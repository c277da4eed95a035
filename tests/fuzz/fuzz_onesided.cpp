#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/onesided_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  p2::check_onesided_text(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
