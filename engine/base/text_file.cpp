#include "p2/text_file.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "engine/base/files.h"

namespace p2 {
namespace {

struct Entry {
  std::shared_ptr<const std::string> text;
  std::size_t users = 0;
};

std::mutex mutex;

std::map<std::string, Entry>& entries() {
  static auto* const all = new std::map<std::string, Entry>;  // lives until the process ends
  return *all;
}

}  // namespace

TextFile::TextFile(const std::string& name, std::string text) : path_(name) {
  const auto shared = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex);
  for (std::size_t number = 2;; ++number) {
    Entry& entry = entries()[path_];
    if (entry.users == 0) entry.text = shared;
    if (*entry.text == *shared) {
      ++entry.users;
      return;
    }
    path_ = fmt::format("{}~{}", name, number);
  }
}

TextFile::~TextFile() {
  const std::lock_guard lock(mutex);
  const auto entry = entries().find(path_);
  if (--entry->second.users == 0) entries().erase(entry);
}

std::shared_ptr<const std::string> text_in_memory(const std::string& path) {
  const std::lock_guard lock(mutex);
  const auto entry = entries().find(path);
  return entry == entries().end() ? nullptr : entry->second.text;
}

}  // namespace p2
