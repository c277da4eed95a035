#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

using Json = nlohmann::json;
using Numbers = std::vector<std::uint32_t>;

/// Nothing in a file is nested deeper.
constexpr int kDeepestJson = 6;

/// Parses one file. Like all functions here, objects (NotACertificate) to whatever else it finds:
/// here syntax, depth, and a key that stands twice in one object.
Json parse_json(const Files& files, const std::string& name);

/// An object with exactly the keys `required`, and perhaps some of `optional`.
void expect_object(const Json& value, std::string_view what,
                   std::initializer_list<const char*> required,
                   std::initializer_list<const char*> optional = {});
const Json& expect_array(const Json& value, std::string_view what);
const std::string& expect_text(const Json& value, std::string_view what);
/// A number without sign, fraction or exponent, from `low` to `high`.
std::uint32_t expect_number(const Json& value, std::string_view what, std::uint32_t low,
                            std::uint32_t high);
/// A list of numbers below `end`.
Numbers expect_numbers(const Json& value, std::string_view what, std::uint32_t end);
/// The same, not empty and strictly ascending.
Numbers expect_ascending(const Json& value, std::string_view what, std::uint32_t end);

}  // namespace p2::kernel
