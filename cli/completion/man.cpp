#include <fmt/format.h>

#include "cli/completion/described_commands.h"
#include "p2/version.h"

namespace p2 {
namespace {

/// Plain text for roff.
std::string escaped(const std::string& text) {
  std::string result;
  bool starts_line = true;
  for (const char ch : text) {
    if (starts_line && (ch == '.' || ch == '\'')) result += "\\&";
    starts_line = ch == '\n';
    if (ch == '\\') {
      result += "\\e";
    } else if (ch == '-') {
      result += "\\-";
    } else {
      result += ch;
    }
  }
  return result;
}

std::string option_entry(const DescribedOption& option) {
  const std::string value =
      option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", escaped(option.value));
  return fmt::format(".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", escaped(option.name), value,
                     escaped(option.help));
}

std::string command_section(const DescribedCommand& command) {
  // The first line of the usage is the synopsis, the rest says what the command does.
  const std::size_t end = std::min(command.usage.find('\n'), command.usage.size());
  std::string synopsis = command.usage.substr(0, end);
  constexpr std::string_view kUsage = "usage: ";
  if (synopsis.starts_with(kUsage)) synopsis.erase(0, kUsage.size());
  const std::string rest = command.usage.substr(std::min(end + 1, command.usage.size()));
  std::string text = fmt::format(".SS {}\n\\fB{}\\fR\n.PP\n{}\n", escaped(command.name),
                                 escaped(synopsis), escaped(rest.empty() ? command.summary : rest));
  for (const DescribedOption& option : command.options) text += option_entry(option);
  return text;
}

constexpr const char* kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nEverything asked for was established.\n"
    ".TP\n1\nRefuted: a counterexample is in the output.\n"
    ".TP\n2\nUsage error or bad input.\n"
    ".TP\n3\nUndecided within the limits given.\n"
    ".TP\n4\nTwo engines disagree; both answers are in the output.\n"
    ".TP\n5\nThe program itself, a library or the machine failed.\n";

}  // namespace

std::string man_page(const std::vector<DescribedCommand>& commands) {
  std::string text = fmt::format(
      ".TH P2\\-VERIFY 1 \"\" \"p2\\-verify {}\"\n"
      ".SH NAME\np2\\-verify \\- verification and synthesis of communication strategies for "
      "distributed deep learning\n"
      ".SH SYNOPSIS\n\\fBp2\\-verify\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
      ".SH COMMANDS\n",
      build_info().version);
  for (const DescribedCommand& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(command.name), escaped(command.summary));
  }
  text += ".SH OPTIONS\n";
  for (const DescribedCommand& command : commands) text += command_section(command);
  return text + kExitStatus +
         ".SH SEE ALSO\n\\fBp2\\-check\\fR \\fIDIR\\fR..., which accepts or "
         "rejects certificates.\n";
}

}  // namespace p2
