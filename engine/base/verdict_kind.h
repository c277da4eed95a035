#pragma once

#include <cstdint>
#include <string_view>

namespace p2 {

/// How a judgement comes out, whatever it is about.
enum class VerdictKind : std::uint8_t {
  Valid,
  Invalid,
  Unknown,  ///< a limit was met first, or something is beyond what is understood
};

/// `valid`, `invalid`, `unknown`.
inline std::string_view to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::Valid:
      return "valid";
    case VerdictKind::Invalid:
      return "invalid";
    case VerdictKind::Unknown:
      return "unknown";
  }
  return {};
}

}  // namespace p2
