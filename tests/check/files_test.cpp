#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/check/file_patterns.h"
#include "cli/exit_code.h"
#include "p2/error.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

/// The files that a pattern below `folder` names, without the folder.
Words named(const TemporaryFolder& folder, const std::string& pattern) {
  Words files = files_named({folder.path(pattern)});
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

TEST_CASE("a file named twice is judged once, in the order of the command line") {
  CHECK(files_named({kValidXml, kRefusedXml, kValidXml}) == Words{kValidXml, kRefusedXml});
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

}  // namespace p2
