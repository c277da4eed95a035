#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

using Json = nlohmann::json;
using List = Json::array_t;
using Numbers = std::vector<std::uint32_t>;

constexpr std::size_t kLargestJson = std::size_t{64} << 20U;

// Every function below throws an Objection (NotACertificate) at what is not as it says.
/// One file of at most kLargestJson bytes: nested at most 8 deep, no key twice in one object.
Json parse_json(const Files& files, const std::string& name);
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
