#include "cli/check/file_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "p2/error.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnyFolders = "**";

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::directory_entry> entries;
  const fs::path opened = folder.empty() ? fs::path(".") : folder;
  fs::directory_iterator next(opened, fs::directory_options::skip_permission_denied, failure);
  for (; !failure && next != fs::directory_iterator(); next.increment(failure)) {
    entries.push_back(*next);
  }
  return entries;
}

/// Adds the files below `folder` that the names from `name` on match.
void match(const fs::path& folder, std::span<const std::string> names,
           std::set<std::string>& found) {
  const std::string& name = names.front();
  const bool any_folders = name == kAnyFolders;
  if (any_folders && names.size() > 1) match(folder, names.subspan(1), found);
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string entry_name = entry.path().filename().string();
    if (fnmatch(any_folders ? "*" : name.c_str(), entry_name.c_str(), FNM_PERIOD) != 0) continue;
    std::error_code failure;
    const bool is_folder = entry.is_directory(failure);
    if (any_folders && is_folder && !entry.is_symlink(failure)) {
      match(folder / entry_name, names, found);
    } else if (!any_folders && is_folder && names.size() > 1) {
      match(folder / entry_name, names.subspan(1), found);
    }
    if (names.size() == 1 && !is_folder) found.insert((folder / entry_name).string());
  }
}

/// What `pattern` matches.
std::set<std::string> matches(const std::string& pattern) {
  std::vector<std::string> names;
  fs::path root;
  for (const fs::path& part : fs::path(pattern)) {
    if (part.is_absolute()) {
      root = part;
    } else if (names.empty() && (part == "." || part == "..")) {
      root /= part;
    } else if (!part.empty()) {
      names.push_back(part.string());
    }
  }
  std::set<std::string> found;
  if (!names.empty()) match(root, names, found);
  return found;
}

}  // namespace

std::vector<std::string> files_named(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  const auto add = [&](const std::string& file) {
    if (seen.insert(file).second) files.push_back(file);
  };
  for (const std::string& word : words) {
    std::error_code failure;
    if (word.find_first_of("*?[") == std::string::npos || fs::exists(word, failure)) {
      add(word);
      continue;
    }
    const std::set<std::string> found = matches(word);
    if (found.empty()) throw InputError({word}, "no file matches, expected at least one");
    for (const std::string& file : found) add(file);
  }
  return files;
}

}  // namespace p2
