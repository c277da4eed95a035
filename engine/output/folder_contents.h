#pragma once

#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace p2 {

/// The index that a folder has under this name, an object that names its `schema`; null where there
/// is none.
nlohmann::json index_of(const std::filesystem::path& folder, const std::string& name,
                        std::string_view schema);

/// The texts that the entries of a list in an index have under these keys: names of files. None
/// where it is no such list, for anything may stand in an index that was found.
std::set<std::string> names_in(const nlohmann::json& list, std::initializer_list<const char*> keys);

/// Whether a folder has files of these names and nothing else: so it may be replaced without the
/// loss of anything that was not written with its index.
bool holds_only(const std::filesystem::path& folder, const std::set<std::string>& names);

}  // namespace p2
