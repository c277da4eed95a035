#pragma once

#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

#include "cli/command_line.h"

namespace p2 {

/// Prints one line about a running search on stderr every second, once it has run for two: to a
/// terminal only, unless told `always` or `never`. Lives as long as the search.
class ProgressLine {
 public:
  ProgressLine(ShowProgress show, std::ostream& err, std::function<std::string()> describe);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch();

  std::ostream& err_;
  std::function<std::string()> describe_;
  bool on_terminal_;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace p2
