#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

using Json = nlohmann::json;
using Numbers = std::vector<std::uint32_t>;

/// Every function below throws an Objection (NotACertificate) at what is not as it says.
/// One file, at most 64 MiB: nested at most 6 deep, no key twice in one object.
Json parse_json(const Files& files, const std::string& name);
/// An object with exactly these keys.
void expect_object(const Json& value, const std::string& what,
                   const std::vector<std::string>& keys);
const Json& expect_array(const Json& value, const std::string& what);
const std::string& expect_text(const Json& value, const std::string& what);
/// A number below `end`, written without sign, fraction or exponent.
std::uint32_t expect_number(const Json& value, const std::string& what, std::uint64_t end);
Numbers expect_numbers(const Json& value, const std::string& what, std::uint64_t end);
/// The same, not empty and strictly ascending.
Numbers expect_ascending(const Json& value, const std::string& what, std::uint64_t end);

}  // namespace p2::kernel
