#include "engine/base/files.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/text_cursor.h"
#include "p2/error.h"
#include "p2/text_file.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

void write_files(const fs::path& folder, const FolderFiles& files) {
  fs::create_directory(folder);
  for (const auto& [name, bytes] : files) {
    std::ofstream file(folder / name, std::ios::binary);
    file << bytes;
    file.close();
    if (!file)
      throw InputError({folder / name}, "could not be written whole, expected room for it");
  }
}

/// Puts `fresh` where `folder` is, and only then lets go of what was there.
void put_in_place(const fs::path& fresh, const fs::path& folder, const fs::path& old) {
  const bool replaces = fs::exists(folder);
  if (replaces) fs::rename(folder, old);
  try {
    fs::rename(fresh, folder);
  } catch (const fs::filesystem_error&) {
    if (replaces) fs::rename(old, folder);
    throw;
  }
  if (replaces) fs::remove_all(old);
}

}  // namespace

void write_whole_folder(const fs::path& folder, const FolderFiles& files, std::string_view what,
                        const std::function<bool(const fs::path&)>& ours) {
  const fs::path target = fs::absolute(folder / "").lexically_normal().parent_path();
  const std::string hidden = fmt::format(".{}.{}", target.filename().string(), ::getpid());
  const fs::path fresh = target.parent_path() / (hidden + ".partial");
  const fs::path old = target.parent_path() / (hidden + ".old");
  try {
    const fs::file_status status = fs::symlink_status(target);
    if (fs::exists(status) &&
        (!fs::is_directory(status) || !(fs::is_empty(target) || ours(target)))) {
      throw InputError({folder.string()},
                       fmt::format("is there and no {}, expected a new folder", what));
    }
    fs::create_directories(target.parent_path());
    write_files(fresh, files);
    put_in_place(fresh, target, old);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw InputError({folder.string()}, "cannot be written (" + error.code().message() +
                                            "), expected a writable path");
  } catch (const InputError&) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    throw;
  }
}

std::string write_whole_file(const std::string& path,
                             const std::function<void(std::ostream& file)>& write) {
  const std::string partial = fmt::format("{}.partial.{}", path, ::getpid());
  std::ofstream file(partial, std::ios::binary);
  write(file);
  file.close();
  std::error_code failure;
  if (file) fs::rename(partial, path, failure);
  if (file && !failure) return {};
  std::error_code ignored;
  fs::remove(partial, ignored);
  return failure ? failure.message() : "cannot be written";
}

nlohmann::json index_of(const fs::path& folder, const std::string& name, std::string_view schema) {
  if (!fs::is_regular_file(fs::symlink_status(folder / name))) return nullptr;
  std::ifstream file(folder / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  nlohmann::json index = nlohmann::json::parse(text, nullptr, false);
  if (!index.is_object() || index.value("schema", nlohmann::json()) != schema) return nullptr;
  return index;
}

std::set<std::string> names_in(const nlohmann::json& list,
                               std::initializer_list<const char*> keys) {
  std::set<std::string> names;
  if (!list.is_array()) return names;
  for (const nlohmann::json& entry : list) {
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

namespace {

InputError too_large(const std::string& name, std::size_t max_mebibytes) {
  return {{name}, fmt::format("is larger than {} MiB, expected a smaller file", max_mebibytes)};
}

std::string read_stream(std::istream& stream, const std::string& name, std::size_t max_mebibytes) {
  std::string text;
  std::string block(1 << 16, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())),
         stream.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > max_mebibytes << 20) throw too_large(name, max_mebibytes);
  }
  return text;
}

struct SharedText {
  std::shared_ptr<const std::string> text;
  std::size_t users = 0;
};

std::mutex texts_mutex;

std::map<std::string, SharedText>& shared_texts() {
  static auto* const all = new std::map<std::string, SharedText>;  // lives until the process ends
  return *all;
}

}  // namespace

TextFile::TextFile(const std::string& name, std::string text) : path_(name) {
  const auto shared = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(texts_mutex);
  for (std::size_t number = 2;; ++number) {
    SharedText& entry = shared_texts()[path_];
    if (entry.users == 0) entry.text = shared;
    if (*entry.text == *shared) {
      ++entry.users;
      return;
    }
    path_ = fmt::format("{}~{}", name, number);
  }
}

TextFile::~TextFile() {
  const std::lock_guard lock(texts_mutex);
  const auto entry = shared_texts().find(path_);
  if (--entry->second.users == 0) shared_texts().erase(entry);
}

std::shared_ptr<const std::string> text_in_memory(const std::string& path) {
  const std::lock_guard lock(texts_mutex);
  const auto entry = shared_texts().find(path);
  return entry == shared_texts().end() ? nullptr : entry->second.text;
}

std::string read_file(const std::string& path, std::size_t max_mebibytes) {
  if (path == "-") {
    // A command may read a file twice, standard input only once.
    static const std::string text = read_stream(std::cin, path, max_mebibytes);
    return text;
  }
  if (const auto text = text_in_memory(path)) {
    if (text->size() > max_mebibytes << 20) throw too_large(path, max_mebibytes);
    return *text;
  }
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    throw InputError({path}, "is a folder, expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({path}, "cannot be read, expected a readable file");
  return read_stream(file, path, max_mebibytes);
}

namespace {

/// How messages call a kind, and the command that reads it.
struct KindText {
  FileKind kind;
  std::string_view name;
  std::string_view command;
};

constexpr std::array<KindText, 10> kKindTexts{
    {{FileKind::Program, "a program", "p2-verify check"},
     {FileKind::Programs, "a list of programs from synth", "p2-verify check"},
     {FileKind::Definition, "a definition of a collective", "p2-verify define"},
     {FileKind::System, "a system file", "p2-verify cost --system"},
     {FileKind::OperationGraph, "an operation graph", "p2-verify parallelize"},
     {FileKind::Tasks, "a set of unit tasks", "p2-verify reshard --tasks"},
     {FileKind::Plan, "a plan of a resharding", "p2-verify check"},
     {FileKind::Baseline, "a baseline of known failures", "p2-verify check --baseline"},
     {FileKind::Xml, "XML", "p2-verify check"},
     {FileKind::Module, "a module of XLA or StableHLO", "p2-verify check"}}};

const KindText& text_of(FileKind kind) {
  return *std::find_if(kKindTexts.begin(), kKindTexts.end(),
                       [&](const KindText& each) { return each.kind == kind; });
}

/// The first words of `.p2` files with headers.
constexpr std::array<std::string_view, 10> kProgramWords = {
    "hierarchy", "axes", "reduce",  "placement", "synthesis-hierarchy",
    "dialect",   "goal", "devices", "classes",   "skip"};

std::optional<FileKind> kind_of_json(std::string_view text) {
  using nlohmann::json;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return std::nullopt;
  const auto names = [&](const char* key, std::string_view prefix) {
    const auto value = root.find(key);
    return value != root.end() && value->is_string() &&
           value->get_ref<const std::string&>().starts_with(prefix);
  };
  if (names("format", "operation-graph/") || names("format", "pairwise-strategy-graph/")) {
    return FileKind::OperationGraph;
  }
  if (names("format", "reshard-plan/")) return FileKind::Plan;
  if (names("schema", "p2-verify-baseline/")) return FileKind::Baseline;
  if (root.contains("placements")) return FileKind::Programs;
  if (root.contains("steps")) return FileKind::Program;
  if (root.contains("tasks")) return FileKind::Tasks;
  if (root.contains("interconnects")) return FileKind::System;
  if (root.contains("name") && root.contains("hierarchy")) return FileKind::System;
  return std::nullopt;
}

}  // namespace

std::optional<FileKind> recognized_kind(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  TextCursor cursor("", text);
  if (cursor.peek() == '<') return FileKind::Xml;
  if (cursor.peek() == '{') return kind_of_json(cursor.rest());
  const std::string_view word = cursor.peek_name();
  if (word == "collective") return FileKind::Definition;
  if (word == "HloModule" || word == "module") return FileKind::Module;
  if (std::find(kProgramWords.begin(), kProgramWords.end(), word) != kProgramWords.end()) {
    return FileKind::Program;
  }
  return std::nullopt;
}

void refuse_other_kind(const std::string& source, std::string_view text,
                       std::initializer_list<FileKind> expected) {
  const std::optional<FileKind> kind = recognized_kind(text);
  if (!kind || std::find(expected.begin(), expected.end(), *kind) != expected.end()) return;
  throw InputError({source}, fmt::format("is {}, expected {} (see {})", text_of(*kind).name,
                                         text_of(*expected.begin()).name, text_of(*kind).command));
}

}  // namespace p2
