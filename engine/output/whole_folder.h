#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace p2 {

/// The files of a folder: name → bytes.
using FolderFiles = std::map<std::string, std::string>;

/// Writes the files to `folder`, all of them or none: they appear under another name first. An
/// empty folder is replaced, and one that stands there and of which `ours` says that it was written
/// like this one. Throws InputError when anything else stands there, which is called no `what`, or
/// when writing fails.
void write_whole_folder(const std::filesystem::path& folder, const FolderFiles& files,
                        std::string_view what,
                        const std::function<bool(const std::filesystem::path&)>& ours);

}  // namespace p2
