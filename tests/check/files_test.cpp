#include <algorithm>
#include <cstdlib>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "p2/error.h"
#include "proofs/api/checked_files.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

/// The files that a pattern below `folder` names, without the folder.
Words named(const TemporaryFolder& folder, const std::string& pattern) {
  Words files = matching_files({folder.path(pattern)});
  for (std::string& file : files) file.erase(0, folder.path().size());
  return files;
}

}  // namespace

TEST_CASE("patterns match inside names, and ** any number of folders") {
  const TemporaryFolder folder;
  for (const char* name : {"a.xml", "b.p2", "in/c.xml", "in/deep/d.xml", "in/deep/e.p2",
                           ".hidden/f.xml", "odd[1].xml", "odd1.xml"}) {
    folder.put(name, "");
  }
  CHECK(named(folder, "*.xml") == Words{"a.xml", "odd1.xml", "odd[1].xml"});
  CHECK(named(folder, "**/*.xml") ==
        Words{"a.xml", "in/c.xml", "in/deep/d.xml", "odd1.xml", "odd[1].xml"});
  CHECK(named(folder, "in/**/?.p2") == Words{"in/deep/e.p2"});
  CHECK(named(folder, "in/**") == Words{"in/c.xml", "in/deep/d.xml", "in/deep/e.p2"});
  CHECK(named(folder, "*/c.xml") == Words{"in/c.xml"});
  CHECK(named(folder, "[ab].*") == Words{"a.xml", "b.p2"});
  CHECK(named(folder, ".hidden/*") == Words{".hidden/f.xml"});
  // A file of that name goes before what the name would match.
  CHECK(named(folder, "odd[1].xml") == Words{"odd[1].xml"});
  CHECK_THROWS_AS(named(folder, "*.txt"), InputError);
}

TEST_CASE("links are not followed by **, so that they cannot lead round") {
  const TemporaryFolder folder;
  folder.put("in/a.xml", "");
  std::filesystem::create_directory_symlink(folder.path("in"), folder.path("in/again"));
  CHECK(named(folder, "**/*.xml") == Words{"in/a.xml"});
}

TEST_CASE("a file of no format is not taken for a program; a program with a mistake is") {
  const TemporaryFolder folder;
  const auto complaint = [&](const std::string& text) {
    const Ran ran = run({"check", folder.put("file", text)});
    CHECK(ran.exit == kBadInput);
    return ran.err;
  };
  for (const char* text : {"", "# p2\n\nVerification and synthesis of programs\n", "id,bytes,us\n",
                           "#!/bin/sh\nset -e\n", "[1]", "{}", "{\"version\": 3}", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK(complaint(text).find("file: format not recognized, expected a program") !=
          std::string::npos);
  }
  CHECK(complaint("\nAllReduce{0,1}").find("file:1:1: no instance and no devices") !=
        std::string::npos);
  CHECK(complaint("devices 4\nclases {0,1}\nskip").find("file:2:1: unknown header 'clases'") !=
        std::string::npos);
  CHECK(complaint("hirarchy 4\naxes 4\nreduce 0\nskip").find("file:1:1: unknown header") !=
        std::string::npos);
  CHECK(complaint("{\"devices\": 4}").find("file:1:1: a program lacks the key") !=
        std::string::npos);
  CHECK(complaint("{\"devices\": 4,").find("file:1:") != std::string::npos);
}

TEST_CASE("a file named twice is judged once, in the order of the command line") {
  CHECK(matching_files({kValidXml, kRefusedXml, kValidXml}) == Words{kValidXml, kRefusedXml});
  const Ran ran = run({"check", kExamples + "msccl/**/*.xml", "--format", "json"});
  CHECK(ran.exit == kRefuted);
  CHECK(json::parse(ran.out).at("results").size() >= 3);
}

TEST_CASE("the output is the same for any number of jobs") {
  const Words command = {"check", kExamples + "programs/[rv]*/*.p2", kExamples + "msccl/**/*.xml",
                         "--format", "json"};
  std::string first;
  for (const char* jobs : {"1", "2", "7"}) {
    Words arguments = command;
    arguments.insert(arguments.end(), {"--jobs", jobs});
    const Ran ran = run(arguments);
    CHECK(ran.exit == kRefuted);
    if (first.empty()) first = ran.out;
    CHECK(ran.out == first);
  }
}

TEST_CASE("bad input in one file hides no verdict, and the worst file decides") {
  const TemporaryFolder folder;
  const std::string broken = folder.put("broken.p2", "devices 2\nAllReduce{0,2}\n");
  const Ran ran = run({"check", kValidXml, broken, kRefusedProgram, "--format", "json"});
  CHECK(ran.exit == kBadInput);
  const json answer = json::parse(ran.out);
  REQUIRE(answer.at("results").size() == 2);
  CHECK(answer.at("results").at(0).at("verdict") == "valid");
  CHECK(answer.at("results").at(1).at("verdict") == "invalid");
  REQUIRE(answer.at("not_judged").size() == 1);
  CHECK(answer.at("not_judged").at(0).at("file") == broken);
  CHECK(answer.at("not_judged").at(0).at("line") == 2);
  CHECK(ran.err.starts_with("p2-verify: " + broken + ":2:"));

  CHECK(run({"check", kValidXml, kRefusedProgram}).exit == kRefuted);
  CHECK(run({"check", kValidXml, kValidProgram}).exit == kEstablished);
  CHECK(!json::parse(run({"check", kValidXml, "--format", "json"}).out).contains("not_judged"));
}

TEST_CASE("a pattern that matches nothing is bad input") {
  const Ran ran = run({"check", "/nowhere/*.xml"});
  CHECK(ran.exit == kBadInput);
  CHECK(ran.err == "p2-verify: /nowhere/*.xml: no file matches, expected at least one\n");
}

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

TEST_CASE("the folder of a certificate prints no line of its own, whatever is certified") {
  const TemporaryFolder folder;
  const std::string program = folder.put("right.p2", "devices 4\nAllReduce{0,1,2,3}\n");
  const std::string plan = folder.path("plan.json");
  REQUIRE(run({"export", program, "--to", "onesided", "--output", plan}).exit == kEstablished);
  const std::string algorithm = std::string(P2_SOURCE_DIR) + "/examples/msccl/allreduce-ring-4.xml";
  for (const std::string& file : {program, plan, algorithm}) {
    CAPTURE(file);
    const Ran ran = run({"check", file, "--certify", folder.path("certified\nforged: accepted")});
    CHECK(ran.exit == kEstablished);
    CHECK(ran.out.find("certified\\u{a}forged: accepted, claim ") != std::string::npos);
    CHECK(ran.out.find("\nforged") == std::string::npos);
  }
}

}  // namespace p2
