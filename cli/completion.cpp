#include "cli/command.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "p2/error.h"
#include "p2/version.h"

namespace p2 {
namespace {

/// The words that `completion` completes after its own name.
constexpr const char* kShells = "bash zsh fish";

DescribedCommand described(const Command& command) {
  std::ostringstream out;
  std::ostringstream err;
  command.run({"--describe-options"}, out, err);
  const nlohmann::json all = nlohmann::json::parse(out.str());
  DescribedCommand result{std::string(command.name),
                          std::string(command.summary),
                          all.at("usage"),
                          all.at("words"),
                          {}};
  for (const nlohmann::json& option : all.at("options")) {
    result.options.push_back({option.at("name"), option.at("value"), option.at("help")});
  }
  return result;
}

// bash

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

// fish

/// Inside single quotes.
std::string fish_quoted(const std::string& text) {
  std::string result;
  for (const char ch : text) {
    if (ch == '\'' || ch == '\\') result += '\\';
    result += ch == '\n' ? ' ' : ch;
  }
  return result;
}

std::string fish_option(const DescribedCommand& command, const DescribedOption& option) {
  std::string line = fmt::format("complete -c p2-verify -n '__fish_seen_subcommand_from {}' -l {}",
                                 command.name, option.name);
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
  } else if (!option.value.empty()) {
    line += option.takes_path() ? " -r -F" : " -x";
  }
  return fmt::format("{} -d '{}'\n", line, fish_quoted(option.help));
}

std::string fish_script(const std::vector<DescribedCommand>& commands) {
  std::string text =
      "# fish completion of p2-verify; written by: p2-verify completion fish\n"
      "complete -c p2-verify -f\n";
  for (const DescribedCommand& command : commands) {
    text += fmt::format("complete -c p2-verify -n '__fish_use_subcommand' -a {} -d '{}'\n",
                        command.name, fish_quoted(command.summary));
    for (const DescribedOption& option : command.options) text += fish_option(command, option);
    const std::string words = command.name == "completion" ? fmt::format("-a '{}'", kShells) : "-F";
    if (!command.words.empty()) {
      text += fmt::format("complete -c p2-verify -n '__fish_seen_subcommand_from {}' {}\n",
                          command.name, words);
    }
  }
  return text;
}

// zsh

/// Inside single quotes, in a specification of _arguments.
std::string zsh_quoted(const std::string& text) {
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

std::string zsh_option(const DescribedOption& option) {
  if (option.value.empty()) {
    return fmt::format("'--{}[{}]'", option.name, zsh_quoted(option.help));
  }
  const std::vector<std::string> choices = option.choices();
  std::string values = " ";
  if (!choices.empty()) {
    values = fmt::format("({})", fmt::join(choices, " "));
  } else if (option.takes_path()) {
    values = "_files";
  }
  return fmt::format("'--{}=[{}]:{}:{}'", option.name, zsh_quoted(option.help),
                     zsh_quoted(option.value), values);
}

std::string zsh_command(const DescribedCommand& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.name);
  for (const DescribedOption& option : command.options) {
    text += " \\\n        " + zsh_option(option);
  }
  if (command.name == "completion") {
    text += fmt::format(" \\\n        '1:shell:({})'", kShells);
  } else if (!command.words.empty()) {
    text += fmt::format(" \\\n        '*:{}:_files'", zsh_quoted(command.words));
  }
  return text + "\n      ;;\n";
}

std::string zsh_script(const std::vector<DescribedCommand>& commands) {
  std::string names;
  std::string cases;
  for (const DescribedCommand& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.summary));
    cases += zsh_command(command);
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

// The manual page, for man(7)

/// Plain text for roff.
std::string roff_text(const std::string& text) {
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

std::string man_option(const DescribedOption& option) {
  const std::string value =
      option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff_text(option.value));
  return fmt::format(".TP\n\\fB\\-\\-{}\\fR{}\n{}\n", roff_text(option.name), value,
                     roff_text(option.help));
}

std::string man_section(const DescribedCommand& command) {
  // The first line of the usage is the synopsis, the rest says what the command does.
  const std::size_t end = std::min(command.usage.find('\n'), command.usage.size());
  std::string synopsis = command.usage.substr(0, end);
  constexpr std::string_view kUsage = "usage: ";
  if (synopsis.starts_with(kUsage)) synopsis.erase(0, kUsage.size());
  const std::string rest = command.usage.substr(std::min(end + 1, command.usage.size()));
  std::string text =
      fmt::format(".SS {}\n\\fB{}\\fR\n.PP\n{}\n", roff_text(command.name), roff_text(synopsis),
                  roff_text(rest.empty() ? command.summary : rest));
  for (const DescribedOption& option : command.options) text += man_option(option);
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

std::string man_page(const std::vector<DescribedCommand>& commands) {
  std::string text = fmt::format(
      ".TH P2\\-VERIFY 1 \"\" \"p2\\-verify {}\"\n"
      ".SH NAME\np2\\-verify \\- verification and synthesis of communication strategies for "
      "distributed deep learning\n"
      ".SH SYNOPSIS\n\\fBp2\\-verify\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
      ".SH COMMANDS\n",
      build_info().version);
  for (const DescribedCommand& command : commands) {
    text +=
        fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff_text(command.name), roff_text(command.summary));
  }
  text += ".SH OPTIONS\n";
  for (const DescribedCommand& command : commands) text += man_section(command);
  return text + kExitStatus +
         ".SH SEE ALSO\n\\fBp2\\-check\\fR \\fIDIR\\fR..., which accepts or "
         "rejects certificates.\n";
}

std::string script_for(const std::string& shell) {
  if (shell == "bash") return bash_script(described_commands());
  if (shell == "zsh") return zsh_script(described_commands());
  if (shell == "fish") return fish_script(described_commands());
  throw InputError({"command line"}, "no script for '" + shell + "', expected bash, zsh or fish");
}

int write(const std::string& text, const CommonOptions& common, std::ostream& out) {
  write_output(common.output, text, out);
  return kEstablished;
}

}  // namespace

std::vector<std::string> DescribedOption::choices() const {
  if (value.find('|') == std::string::npos || takes_path()) return {};
  std::vector<std::string> words;
  std::istringstream parts(value);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

bool DescribedOption::takes_path() const {
  return value.starts_with("FILE") || value.starts_with("DIR");
}

std::vector<DescribedCommand> described_commands() {
  std::vector<DescribedCommand> commands;
  for (const Command& command : command_list()) commands.push_back(described(command));
  return commands;
}

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
