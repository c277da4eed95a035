#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"

namespace p2::kernel {

/// `text` as a part of one line. Characters that end a line, steer a terminal, turn the direction
/// of text or cannot be seen are written \u{HEX}, bytes that are no UTF-8 \xHH, and a backslash \\.
std::string printable(std::string_view text);

/// How many bytes the character at the begin of `text` has, and its number; none where the bytes
/// are no UTF-8 (RFC 3629: no longer than needed, below 0x110000).
std::pair<std::size_t, std::uint32_t> decode_utf8(std::string_view text);

/// `1 step`, `2 steps`.
std::string counted(std::size_t number, const std::string& what);
/// At most 400 bytes of a text in ASCII; what is cut off is written "…".
std::string shortened(const std::string& text);

/// Ends a check with any verdict but Accepted. Whatever the kernel's parts find wrong they throw.
struct CheckFailure : std::runtime_error {
  CheckFailure(Verdict given, const std::string& reason)
      : std::runtime_error(reason), verdict(given) {}
  Verdict verdict;
};
[[noreturn]] inline void reject(const std::string& reason) {
  throw CheckFailure(Verdict::Rejected, reason);
}
[[noreturn]] inline void malformed(const std::string& reason) {
  throw CheckFailure(Verdict::NotACertificate, reason);
}

/// Ends a check at the CheckDeadline of this thread, if there is one.
void require_time();

/// The work one check may take, in numbers touched; bounds time and memory together.
class Budget {
 public:
  void spend(std::uint64_t work) {
    if (work > left_)
      throw CheckFailure(Verdict::Incomplete, "the checker's work limit was reached");
    const std::uint64_t before = left_;
    left_ -= work;
    if (before >> kTimed != left_ >> kTimed) require_time();
  }

 private:
  static constexpr unsigned kTimed = 18;  ///< so many bits of work between looks at the clock
  std::uint64_t left_ = std::uint64_t{1} << 30U;
};

using Json = nlohmann::json;
using List = Json::array_t;
using Numbers = std::vector<std::uint32_t>;

constexpr std::size_t kLargestJson = std::size_t{64} << 20U;

// Every function below throws an CheckFailure (NotACertificate) at what is not as it says.
/// One file of at most kLargestJson bytes: nested at most 10 deep below the top, no key twice in
/// one object.
Json parse_json(const Files& files, const std::string& name);
/// The text of a value: without spaces, keys sorted. `size`: about how long it is.
std::string json_text(const Json& value, std::size_t size = 0);
/// An object with exactly these keys.
void expect_keys(const Json& value, const std::vector<std::string>& keys);
const List& as_list(const Json& value);
const std::string& as_text(const Json& value);
/// A number below `end`, written without sign, fraction or exponent.
std::uint32_t as_number(const Json& value, std::uint64_t end);
Numbers as_numbers(const Json& value, std::uint64_t end);
/// The same, not empty and strictly ascending.
Numbers as_ascending(const Json& value, std::uint64_t end);

}  // namespace p2::kernel
