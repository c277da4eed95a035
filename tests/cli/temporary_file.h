#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace p2 {

/// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text, const std::string& ending = ".json") {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("p2-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ending);
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace p2
