#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/described_commands.h"

namespace p2 {
namespace {

/// What stands after a flag that takes a value.
std::string values_case(const DescribedCommand& command, const DescribedOption& option) {
  if (option.value.empty()) return {};
  const std::vector<std::string> choices = option.choices();
  std::string words;
  if (!choices.empty()) {
    words = fmt::format("-W '{}'", fmt::join(choices, " "));
  } else if (option.takes_path()) {
    words = "-f";
  }
  const std::string reply =
      words.empty() ? "COMPREPLY=()"
                    : fmt::format("mapfile -t COMPREPLY < <(compgen {} -- \"$cur\")", words);
  return fmt::format("    '{} --{}') {}; return ;;\n", command.name, option.name, reply);
}

}  // namespace

std::string bash_script(const std::vector<DescribedCommand>& commands) {
  std::string names;
  std::string flags;
  std::string values;
  for (const DescribedCommand& command : commands) {
    names += command.name + " ";
    flags += fmt::format("    {}) flags='", command.name);
    for (const DescribedOption& option : command.options) {
      flags += fmt::format("--{} ", option.name);
      values += values_case(command, option);
    }
    flags += "' ;;\n";
  }
  return fmt::format(
      R"(# bash completion of p2-verify; written by: p2-verify completion bash
_p2_verify() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" flags=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{}help --help --version' -- "$cur")
    return
  fi
  case "$command $prev" in
    'completion completion') mapfile -t COMPREPLY < <(compgen -W '{}' -- "$cur"); return ;;
{}  esac
  case "$command" in
{}  esac
  case "$cur" in
    -*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
}}
complete -o filenames -F _p2_verify p2-verify
)",
      names, kShells, values, flags);
}

}  // namespace p2
