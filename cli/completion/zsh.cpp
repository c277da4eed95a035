#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/described_commands.h"

namespace p2 {
namespace {

/// Inside single quotes, in a specification of _arguments.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char ch : text) {
    if (ch == '\'') {
      result += "'\\''";
    } else if (ch == '[' || ch == ']' || ch == ':' || ch == '\\') {
      result += std::string("\\") + ch;
    } else {
      result += ch == '\n' ? ' ' : ch;
    }
  }
  return result;
}

std::string specification(const DescribedOption& option) {
  if (option.value.empty()) {
    return fmt::format("'--{}[{}]'", option.name, escaped(option.help));
  }
  const std::vector<std::string> choices = option.choices();
  std::string values = " ";
  if (!choices.empty()) {
    values = fmt::format("({})", fmt::join(choices, " "));
  } else if (option.takes_path()) {
    values = "_files";
  }
  return fmt::format("'--{}=[{}]:{}:{}'", option.name, escaped(option.help), escaped(option.value),
                     values);
}

std::string command_case(const DescribedCommand& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.name);
  for (const DescribedOption& option : command.options) {
    text += " \\\n        " + specification(option);
  }
  if (command.name == "completion") {
    text += fmt::format(" \\\n        '1:shell:({})'", kShells);
  } else if (!command.words.empty()) {
    text += fmt::format(" \\\n        '*:{}:_files'", escaped(command.words));
  }
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_script(const std::vector<DescribedCommand>& commands) {
  std::string names;
  std::string cases;
  for (const DescribedCommand& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, escaped(command.summary));
    cases += command_case(command);
  }
  return fmt::format(
      R"(#compdef p2-verify
# zsh completion of p2-verify; written by: p2-verify completion zsh
_p2_verify() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_p2_verify "$@"
)",
      names, cases);
}

}  // namespace p2
