#include <ostream>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/completion/described_commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "p2/error.h"

namespace p2 {
namespace {

std::string script_for(const std::string& shell) {
  if (shell == "bash") return bash_script(described_commands());
  if (shell == "zsh") return zsh_script(described_commands());
  if (shell == "fish") return fish_script(described_commands());
  throw InputError({"command line"}, "no script for '" + shell + "', expected bash, zsh or fish");
}

int write(const std::string& text, const CommonOptions& common, std::ostream& out) {
  Output output(common.output, out);
  output.stream() << text;
  output.finish();
  return kEstablished;
}

}  // namespace

int run_completion(const Arguments& arguments, std::ostream& out, std::ostream&) {
  const CommandLine line(
      "usage: p2-verify completion bash|zsh|fish\n"
      "Writes the script by which the shell completes commands, flags and their values. For bash:\n"
      "source <(p2-verify completion bash)",
      std::vector<FlagGroup>{}, arguments, "shell");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const std::vector<std::string> shells = line.texts("shell");
  if (shells.size() != 1) {
    throw InputError({"command line"}, "expected one shell: bash, zsh or fish");
  }
  return write(script_for(shells.front()), line.common(), out);
}

int run_man(const Arguments& arguments, std::ostream& out, std::ostream&) {
  const CommandLine line(
      "usage: p2-verify man\n"
      "Writes the manual page: p2-verify man | man -l -",
      std::vector<FlagGroup>{}, arguments);
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  return write(man_page(described_commands()), line.common(), out);
}

}  // namespace p2
