#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include <doctest/doctest.h>

namespace p2 {

/// What a command of the shell printed, on both streams, and how it ended.
struct Process {
  int exit = -1;
  std::string printed;
};

inline Process shell(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Process process;
  std::array<char, 4096> block;
  for (std::size_t n = 0; (n = std::fread(block.data(), 1, block.size(), pipe)) > 0;) {
    process.printed.append(block.data(), n);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) process.exit = WEXITSTATUS(status);
  return process;
}

/// The same under mpirun: so many processes of it, also for root and on fewer cores.
inline Process under_mpirun(int processes, const std::string& command) {
  return shell(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n " +
      std::to_string(processes) + " " + command);
}

/// How many processes with `word` on their command line there are beside this one's.
inline int running(const std::string& word) {
  return std::stoi(shell("ps -eo args | grep -v grep | grep -c '" + word + "' || true").printed);
}

}  // namespace p2
