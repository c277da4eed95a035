#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace p2 {

/// An empty folder that lives as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("p2-check-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  /// Writes a file below the folder and returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline const std::string kExamples = P2_SOURCE_DIR "/examples/";
inline const std::string kValidProgram = kExamples + "programs/valid/figure10-blueconnect.p2";
inline const std::string kRefusedProgram = kExamples + "programs/refused/figure4b-counted-twice.p2";
inline const std::string kValidXml = kExamples + "msccl/allreduce-ring-4.xml";
inline const std::string kRefusedXml = kExamples + "msccl/refused/reduce-scatter-race.xml";

}  // namespace p2
