#include "engine/execution/processes/mpirun.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::execution {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBoardVariable = "P2_RANK_BOARD";
constexpr int kNoProgram = 127;

/// A name for the board that nobody else has, and no file of it when all is over.
class BoardFile {
 public:
  BoardFile()
      : path_(
            (fs::temp_directory_path() / fmt::format("p2-verify-ranks.{}", ::getpid())).string()) {
    fs::remove(path_);
  }
  ~BoardFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  BoardFile(const BoardFile&) = delete;
  BoardFile& operator=(const BoardFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// In the child: becomes mpirun, which does not outlive its parent.
[[noreturn]] void become_mpirun(const std::vector<std::string>& words, const std::string& board) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setenv(kBoardVariable, board.c_str(), 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  if (::geteuid() == 0) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(kNoProgram);
}

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (::access((std::string(rest.substr(0, end)) + "/" + program).c_str(), X_OK) == 0)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

bool under_mpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

std::pair<std::uint32_t, std::uint32_t> place_on_host() {
  const auto number = [](const char* name, unsigned long otherwise) {
    const char* text = std::getenv(name);
    return static_cast<std::uint32_t>(text == nullptr ? otherwise
                                                      : std::strtoul(text, nullptr, 10));
  };
  return {number("OMPI_COMM_WORLD_LOCAL_RANK", 0), number("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
}

std::optional<BoardMapping> board_of_starter() {
  const char* path = std::getenv(kBoardVariable);
  if (path == nullptr) return std::nullopt;
  return BoardMapping::opened(path);
}

SupervisedEnd run_under_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                               std::optional<std::chrono::steady_clock::time_point> deadline) {
  if (!is_in_path("mpirun")) {
    throw InputError({"--backend"}, "no mpirun in PATH, expected Open MPI (openmpi-bin)");
  }
  const BoardFile file;
  const BoardMapping mapping = BoardMapping::in_file(file.path());
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(ranks),
                                      fs::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), words.begin(), words.end());
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "mpirun");
  if (child == 0) become_mpirun(command, file.path());
  return supervise({child}, ranks, mapping.board(), deadline);
}

}  // namespace p2::execution
