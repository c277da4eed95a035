#include "engine/base/utf8.h"

namespace p2 {
namespace {

/// What a character that begins with `first` is like: how many bytes it has, 0 where none begins
/// so, and the range of its second byte.
struct Form {
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xbf;
};

Form form_of(unsigned first) {
  if (first < 0x80) return {1};
  if (first < 0xc2) return {};
  if (first < 0xe0) return {2};
  if (first == 0xe0) return {3, 0xa0};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3};
  if (first == 0xf0) return {4, 0x90};
  if (first < 0xf4) return {4};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {};
}

}  // namespace

std::size_t first_not_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t at = 0;
  while (at < text.size()) {
    Form form = form_of(byte(at));
    if (form.length == 0 || form.length > text.size() - at) return at;
    for (std::size_t i = 1; i < form.length; ++i) {
      if (byte(at + i) < form.low || byte(at + i) > form.high) return at;
      form.low = 0x80;
      form.high = 0xbf;
    }
    at += form.length;
  }
  return at;
}

}  // namespace p2
