#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

namespace p2 {
namespace {

/// The flags in the text of a command's --help.
std::vector<std::string> flags_of(const std::string& command) {
  std::vector<std::string> flags;
  const std::string help = run({command, "--help"}).out;
  for (std::size_t at = help.find("\n  --"); at != std::string::npos;
       at = help.find("\n  --", at + 1)) {
    const std::size_t start = at + 5;
    flags.push_back(help.substr(start, help.find_first_of(" \n", start) - start));
  }
  return flags;
}

/// Whether a program is there and ends well with these arguments.
enum class ShellResult { NotThere, Fails, EndsWell };
ShellResult result_of(const std::string& program, const std::string& arguments) {
  const std::string there = "command -v " + program + " > /dev/null 2>&1";
  if (std::system(there.c_str()) != 0) return ShellResult::NotThere;
  return std::system((program + " " + arguments).c_str()) == 0 ? ShellResult::EndsWell
                                                               : ShellResult::Fails;
}

/// What bash offers for the words of a command line, the last one being completed.
std::string offered(const std::vector<std::string>& words) {
  std::string script = run({"completion", "bash"}).out + "COMP_WORDS=(";
  for (const std::string& word : words) script += "'" + word + "' ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
            "\n_p2_verify\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const TemporaryFile file(script, ".bash");
  FILE* pipe = ::popen(("bash " + file.path()).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string lines;
  for (int ch = std::fgetc(pipe); ch != EOF; ch = std::fgetc(pipe)) {
    lines += static_cast<char>(ch);
  }
  CHECK(::pclose(pipe) == 0);
  return lines;
}

}  // namespace

TEST_CASE("every command describes its options, as --help has them") {
  for (const DescribedCommand& command : described_commands()) {
    CAPTURE(command.name);
    std::vector<std::string> described;
    for (const DescribedOption& option : command.options) described.push_back(option.name);
    CHECK(described == flags_of(command.name));
    CHECK(command.usage.starts_with("usage: p2-verify " + command.name));
    CHECK(described.size() >= 9);
  }
}

TEST_CASE("completion and manual cover every command and every flag") {
  const std::string bash = run({"completion", "bash"}).out;
  const std::string zsh = run({"completion", "zsh"}).out;
  const std::string fish = run({"completion", "fish"}).out;
  const std::string man = run({"man"}).out;
  for (const Command& command : command_list()) {
    const std::string name(command.name);
    CAPTURE(name);
    CHECK(fish.find("-a " + name + " -d ") != std::string::npos);
    CHECK(man.find(".SS " + name + "\n") != std::string::npos);
    const std::size_t bash_at = bash.find("    " + name + ") flags='");
    const std::size_t zsh_at = zsh.find("    " + name + ")\n");
    REQUIRE(bash_at != std::string::npos);
    REQUIRE(zsh_at != std::string::npos);
    const std::string in_bash = bash.substr(bash_at, bash.find('\n', bash_at) - bash_at);
    const std::string in_zsh = zsh.substr(zsh_at, zsh.find(";;", zsh_at) - zsh_at);
    for (const std::string& flag : flags_of(name)) {
      CAPTURE(flag);
      CHECK(in_bash.find("--" + flag + " ") != std::string::npos);
      CHECK(in_zsh.find("'--" + flag) != std::string::npos);
      CHECK(fish.find("__fish_seen_subcommand_from " + name + "' -l " + flag + " ") !=
            std::string::npos);
    }
  }
}

TEST_CASE("the scripts are scripts of their shells") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const TemporaryFile file(run({"completion", shell}).out, ".script");
    CHECK(result_of(shell, "-n " + file.path()) != ShellResult::Fails);
  }
  const TemporaryFile page(run({"man"}).out, ".1");
  const std::string quiet = page.path() + " 2>&1 | grep -v '^$' | (! grep -q warning)";
  CHECK(result_of("man", "--warnings -E UTF-8 -l -Tutf8 -Z " + quiet) != ShellResult::Fails);
}

TEST_CASE("bash offers commands, flags, values and files") {
  if (result_of("bash", "-c 'mapfile -t x < /dev/null'") != ShellResult::EndsWell) {
    MESSAGE("skipped: there is no bash with mapfile");
    return;
  }
  CHECK(offered({"p2-verify", "che"}) == "check\n");
  CHECK(offered({"p2-verify", "check", "--updat"}) == "--update-baseline\n");
  CHECK(offered({"p2-verify", "check", "--format", ""}) == "text\njson\nhtml\njunit\nsarif\n");
  CHECK(offered({"p2-verify", "place", "--format", ""}) == "text\njson\nhtml\n");
  CHECK(offered({"p2-verify", "check", "--engine", "c"}) == "cnf\n");
  CHECK(offered({"p2-verify", "completion", "z"}) == "zsh\n");
  CHECK(offered({"p2-verify", "check", "--baseline", "/et"}) == "/etc\n");
  CHECK(offered({"p2-verify", "check", "/et"}) == "/etc\n");
  CHECK(offered({"p2-verify", "check", "--timeout", ""}) == "\n");
}

TEST_CASE("--describe-options is JSON for other programs") {
  const nlohmann::json check = nlohmann::json::parse(run({"check", "--describe-options"}).out);
  CHECK(check.at("words") == "files");
  bool found = false;
  for (const nlohmann::json& option : check.at("options")) {
    if (option.at("name") != "format") continue;
    CHECK(option.at("value") == "text|json|html|junit|sarif");
    found = true;
  }
  CHECK(found);
}

TEST_CASE("a shell that is not known is bad input") {
  CHECK(run({"completion", "tcsh"}).exit == kBadInput);
  CHECK(run({"completion"}).exit == kBadInput);
  CHECK(run({"man", "check"}).exit == kBadInput);
}

}  // namespace p2
