#include <algorithm>
#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include "cli/completion/described_commands.h"
#include "tests/check/folder.h"

namespace p2 {
namespace {

const std::string kCi = kExamples + "ci/";

/// The flags in the lines from `p2-verify check` on, as far as the command goes.
std::set<std::string> flags_given(const std::string& text) {
  std::set<std::string> flags;
  for (std::size_t at = text.find("p2-verify check"); at != std::string::npos;
       at = text.find("p2-verify check", at + 1)) {
    const std::size_t end = std::min(
        {text.find("||", at), text.find("language", at), text.find("artifacts", at), text.size()});
    const std::string command = text.substr(at, end - at);
    for (std::size_t flag = command.find(" --"); flag != std::string::npos;
         flag = command.find(" --", flag + 1)) {
      const std::size_t start = flag + 3;
      flags.insert(command.substr(start, command.find_first_of(" \n", start) - start));
    }
  }
  return flags;
}

}  // namespace

TEST_CASE("the examples for CI use flags that there are") {
  std::set<std::string> known;
  for (const DescribedCommand& command : described_commands()) {
    if (command.name != "check") continue;
    for (const DescribedOption& option : command.options) known.insert(option.name);
  }
  std::size_t found = 0;
  for (const char* file :
       {"action/action.yml", "gitlab-ci.yml", "pre-commit-hooks.yaml", "pre-commit"}) {
    CAPTURE(file);
    const std::set<std::string> flags = flags_given(text_of(kCi + file));
    CHECK(!flags.empty());
    for (const std::string& flag : flags) CHECK_MESSAGE(known.contains(flag), flag);
    found += flags.size();
  }
  CHECK(found >= 7);
}

TEST_CASE("the hook for git is a shell script") {
  CHECK(std::system(("sh -n " + kCi + "pre-commit").c_str()) == 0);
}

}  // namespace p2
