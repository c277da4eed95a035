#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

extern char** environ;

namespace p2 {

/// A folder that lives as long as this object.
class Folder {
 public:
  Folder() : file_("", ".campaign") {
    std::filesystem::remove(file_.path());
    std::filesystem::create_directories(file_.path());
  }
  ~Folder() { std::filesystem::remove_all(file_.path()); }

  std::string operator/(const std::string& name) const { return file_.path() + "/" + name; }

 private:
  TemporaryFile file_;
};

using Words = std::vector<std::string>;

inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Every file below a folder, with its bytes.
inline std::map<std::string, std::string> files_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string().substr(folder.size());
    // A killed process leaves what it had not written whole, under a hidden name.
    if (path.starts_with("/.")) continue;
    if (entry.is_regular_file()) files[path] = bytes_of(entry.path().string());
  }
  return files;
}

/// Starts a program; its output is discarded.
inline pid_t start(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0);
  pid_t child = 0;
  REQUIRE(posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&quiet);
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline std::size_t bytes_in(const std::string& path) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  return absent ? 0 : size;
}

/// Waits until a file has so many bytes; false where the process ends before.
inline bool wait_for_bytes(pid_t child, const std::string& path, std::size_t bytes) {
  while (bytes_in(path) < bytes) {
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == child) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace p2
