#include "engine/execution/processes/rank_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

namespace p2::execution {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

void RankBoard::sign_in(std::uint32_t rank) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  lives[rank].process = ::getpid();
}

void RankBoard::sign_out(std::uint32_t rank, int code, bool failed) {
  if (rank == 0) exit_code = code;
  lives[rank].failed = failed;
  lives[rank].done = true;
}

BoardMapping::BoardMapping(int file, bool is_new) {
  const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) fail("no memory for the ranks to share");
  board_.reset(is_new ? new (memory) RankBoard : static_cast<RankBoard*>(memory));
}

void BoardMapping::Unmap::operator()(RankBoard* board) const { ::munmap(board, sizeof(RankBoard)); }

BoardMapping BoardMapping::anonymous() { return BoardMapping(-1, true); }

BoardMapping BoardMapping::in_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(RankBoard)) != 0) fail(path);
  BoardMapping mapping(file, true);
  ::close(file);
  return mapping;
}

BoardMapping BoardMapping::opened(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail(path);
  BoardMapping mapping(file, false);
  ::close(file);
  return mapping;
}

}  // namespace p2::execution
