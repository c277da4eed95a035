#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/described_commands.h"

namespace p2 {
namespace {

/// Inside single quotes.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char ch : text) {
    if (ch == '\'' || ch == '\\') result += '\\';
    result += ch == '\n' ? ' ' : ch;
  }
  return result;
}

std::string option_line(const DescribedCommand& command, const DescribedOption& option) {
  std::string line = fmt::format("complete -c p2-verify -n '__fish_seen_subcommand_from {}' -l {}",
                                 command.name, option.name);
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
  } else if (!option.value.empty()) {
    line += option.takes_path() ? " -r -F" : " -x";
  }
  return fmt::format("{} -d '{}'\n", line, escaped(option.help));
}

}  // namespace

std::string fish_script(const std::vector<DescribedCommand>& commands) {
  std::string text =
      "# fish completion of p2-verify; written by: p2-verify completion fish\n"
      "complete -c p2-verify -f\n";
  for (const DescribedCommand& command : commands) {
    text += fmt::format("complete -c p2-verify -n '__fish_use_subcommand' -a {} -d '{}'\n",
                        command.name, escaped(command.summary));
    for (const DescribedOption& option : command.options) text += option_line(command, option);
    const std::string words = command.name == "completion" ? fmt::format("-a '{}'", kShells) : "-F";
    if (!command.words.empty()) {
      text += fmt::format("complete -c p2-verify -n '__fish_seen_subcommand_from {}' {}\n",
                          command.name, words);
    }
  }
  return text;
}

}  // namespace p2
