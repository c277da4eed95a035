#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace p2 {

/// The text of a file that stands beside the repository, in the folder that P2_SHARED_DATA names or
/// in ../shared/data. Says `skipped` and returns nothing where there is no ../shared/data; a file
/// that is missing from it, or from the folder named, fails the test.
inline std::optional<std::string> shared_text(const std::string& name) {
  const char* const given = std::getenv("P2_SHARED_DATA");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(P2_SOURCE_DIR) / "../shared/data";
  std::ifstream file(folder / name, std::ios::binary);
  if (!file) {
    const bool fails = given != nullptr || std::filesystem::exists(folder);
    CHECK_MESSAGE(!fails, folder.string() << " has no " << name);
    if (!fails) MESSAGE("skipped: there is no " << name << " beside the repository");
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The same of a JSON file of figures.
inline std::optional<nlohmann::json> shared_data(const std::string& name) {
  const std::optional<std::string> text = shared_text(name);
  if (!text) return std::nullopt;
  return nlohmann::json::parse(*text);
}

}  // namespace p2
