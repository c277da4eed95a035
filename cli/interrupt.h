#pragma once

#include <atomic>
#include <string>

namespace p2 {

/// From now on SIGINT and SIGTERM set the flag of interrupted(), so that the command stops at its
/// next check of its limits and prints what it has settled. A second later, and at a second signal,
/// the process ends with what is printed.
void handle_interrupts();

/// Whether a signal came.
const std::atomic<bool>& interrupted();

/// The exit code of a command: 128 and the number of the signal if one came (130, 143).
int exit_code_after_signals(int exit_code);

/// The file that is not finished, to remove if the process ends at once; none if empty.
void remove_when_interrupted(const std::string& path);

}  // namespace p2
