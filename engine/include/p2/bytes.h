#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace p2 {

/// A number of bytes such as `4096`, `1K`, `64M` or `2G`; K, M, G and T stand for 2^10, 2^20, 2^30
/// and 2^40. `source` names the text in messages. Throws InputError for anything else, 0, or more
/// than 2^60.
std::uint64_t parse_bytes(std::string_view source, std::string_view text);

/// The shortest such text: `2G`, `1536K`, `1000`.
std::string bytes_to_string(std::uint64_t bytes);

}  // namespace p2
