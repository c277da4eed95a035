#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/hlo/binary/binary_module.h"
#include "tests/fuzz/hlo_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string text;
  try {
    text = p2::hlo::text_of_binary_module("m.pb", bytes);
  } catch (const p2::InputError&) {
    return 0;
  } catch (const p2::LimitReached&) {
    return 0;
  }
  p2::check_module_text(text);
  return 0;
}
