#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ostream>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2 {
namespace {

// The file to remove when the user interrupts; fixed storage, since a signal handler may not
// allocate.
char interrupted_file[4096] = "";

extern "C" void remove_partial_file(int signal) {
  if (interrupted_file[0] != '\0') ::unlink(interrupted_file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void remove_when_interrupted(const std::string& path) {
  if (path.size() >= sizeof(interrupted_file)) return;
  std::copy_n(path.c_str(), path.size() + 1, interrupted_file);
  if (path.empty()) return;
  std::signal(SIGINT, remove_partial_file);
  std::signal(SIGTERM, remove_partial_file);
}

}  // namespace

Output::Output(const std::optional<std::string>& file, std::ostream& otherwise)
    : otherwise_(otherwise) {
  if (!file) return;
  if (file->empty()) throw InputError({"--output"}, "names no file, expected a path");
  // Behind a link the target is replaced, not the link; pipes and devices are written to as they
  // are.
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(*file, failure);
  target_ = failure ? *file : real.string();
  const bool special = std::filesystem::exists(target_, failure) &&
                       !std::filesystem::is_regular_file(target_, failure);
  if (!special) partial_ = fmt::format("{}.partial.{}", target_, ::getpid());
  file_.open(special ? target_ : partial_, std::ios::binary);
  if (!file_) {
    partial_.clear();
    throw InputError({target_}, "cannot be written, expected a path in a writable folder");
  }
  remove_when_interrupted(partial_);
}

Output::~Output() {
  if (partial_.empty()) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
  remove_when_interrupted("");
}

std::ostream& Output::stream() { return target_.empty() ? otherwise_ : file_; }

void Output::finish() {
  stream().flush();
  if (!stream()) {
    throw InputError({target_.empty() ? "standard output" : target_},
                     "could not be written whole, expected room for the result");
  }
  if (partial_.empty()) return;
  file_.close();
  std::error_code failure;
  std::filesystem::rename(partial_, target_, failure);
  if (failure) throw InputError({target_}, "cannot be put in place: " + failure.message());
  remove_when_interrupted("");
  partial_.clear();
}

}  // namespace p2
