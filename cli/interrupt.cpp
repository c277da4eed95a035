#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace p2 {
namespace {

std::atomic<bool> is_interrupted = false;
std::atomic<int> received = 0;
// Fixed storage, since a signal handler may not allocate.
char unfinished_file[4096] = "";

extern "C" void end_process(int) {
  if (unfinished_file[0] != '\0') ::unlink(unfinished_file);
  ::_exit(128 + received.load());
}

extern "C" void note_signal(int signal) {
  received = signal;
  if (is_interrupted.exchange(true)) end_process(signal);
  ::alarm(1);
}

}  // namespace

void handle_interrupts() {
  std::signal(SIGALRM, end_process);
  for (const int signal : {SIGINT, SIGTERM}) {
    // A process in the background ignores SIGINT from its start, and has to go on doing so.
    if (std::signal(signal, note_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

const std::atomic<bool>& interrupted() { return is_interrupted; }

int exit_code_after_signals(int exit_code) {
  return is_interrupted ? 128 + received.load() : exit_code;
}

void remove_when_interrupted(const std::string& path) {
  if (path.size() >= sizeof(unfinished_file)) return;
  std::copy_n(path.c_str(), path.size() + 1, unfinished_file);
}

}  // namespace p2
