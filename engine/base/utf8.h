#pragma once

#include <cstddef>
#include <string_view>

namespace p2 {

/// The offset of the first byte that is not UTF-8 (RFC 3629: no surrogates, no longer forms than
/// needed); the length of the text where all of it is.
std::size_t first_not_utf8(std::string_view text);

}  // namespace p2
