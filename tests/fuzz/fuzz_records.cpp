#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/records_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  p2::check_record_text(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
