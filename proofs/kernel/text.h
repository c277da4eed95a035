#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace p2::kernel {

/// `text` as a part of one line. Characters that end a line, steer a terminal, turn the direction
/// of text or cannot be seen are written \u{HEX}, bytes that are no UTF-8 \xHH, and a backslash \\.
std::string printable(std::string_view text);

/// `1 step`, `2 steps`.
std::string counted(std::size_t number, const std::string& what);
/// At most 400 bytes of a text in ASCII; what is cut off is written "…".
std::string shortened(const std::string& text);

}  // namespace p2::kernel
