#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace p2 {

/// The text of a file or of the TextFile of this path; of `-`, all of standard input, however often
/// it is read. Throws InputError when it cannot be read or is larger than `max_mebibytes`.
std::string read_file(const std::string& path, std::size_t max_mebibytes = 128);

/// The text of the TextFile that is called `path`; null where there is none.
std::shared_ptr<const std::string> text_in_memory(const std::string& path);

/// The files of a folder: name → bytes.
using FolderFiles = std::map<std::string, std::string>;

/// Writes the files to `folder`, all of them or none: they appear under another name first. An
/// empty folder is replaced, and one that stands there and of which `ours` says that it was written
/// like this one. Throws InputError when anything else stands there, which is called no `what`, or
/// when writing fails.
void write_whole_folder(const std::filesystem::path& folder, const FolderFiles& files,
                        std::string_view what,
                        const std::function<bool(const std::filesystem::path&)>& ours);

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
