#include "engine/output/folder_contents.h"

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

namespace p2 {

namespace fs = std::filesystem;
using nlohmann::json;

json index_of(const fs::path& folder, const std::string& name, std::string_view schema) {
  if (!fs::is_regular_file(fs::symlink_status(folder / name))) return nullptr;
  std::ifstream file(folder / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  json index = json::parse(text, nullptr, false);
  if (!index.is_object() || index.value("schema", json()) != schema) return nullptr;
  return index;
}

std::set<std::string> names_in(const json& list, std::initializer_list<const char*> keys) {
  std::set<std::string> names;
  if (!list.is_array()) return names;
  for (const json& entry : list) {
    if (!entry.is_object()) continue;
    for (const char* key : keys) {
      const auto found = entry.find(key);
      if (found != entry.end() && found->is_string()) names.insert(found->get<std::string>());
    }
  }
  return names;
}

bool holds_only(const fs::path& folder, const std::set<std::string>& names) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!names.contains(entry.path().filename().string())) return false;
    if (!fs::is_regular_file(entry.symlink_status())) return false;
  }
  return true;
}

}  // namespace p2
