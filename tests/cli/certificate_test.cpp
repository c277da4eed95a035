#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using Json = nlohmann::json;

namespace {

/// A place for certificates that vanishes with this object.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("p2-test-" + name + "-" + std::to_string(::getpid()))) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

const std::vector<std::string> kSynth = {"synth",    "--hierarchy", "2,4",     "--axes", "4,2",
                                         "--reduce", "0",           "--count", "--size", "4"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("synth --certify writes one certificate per placement, and they are accepted") {
  const Folder folder("synth");
  const Ran ran = run(with(kSynth, {"--certify", folder.path(), "--format", "json"}));
  CHECK(ran.exit == 0);
  const Json placements = Json::parse(ran.out)["placements"];
  REQUIRE(placements.size() == 2);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::string path = placements[i]["certificate"];
    CHECK(path == folder.path() + "/" + std::to_string(i + 1));
    const kernel::Result result = check_folder(path);
    CHECK(result.verdict == kernel::Verdict::Accepted);
    const std::string count = std::to_string(placements[i]["programs"].get<int>());
    CHECK(result.reason == "there are " + count +
                               " valid programs of at most 4 steps (8 devices, dialect published)");
  }
  CHECK(!Json::parse(run(with(kSynth, {"--format", "json"})).out)["placements"][0].contains(
      "certificate"));
}

TEST_CASE("that there is no program is certified like any list") {
  const Folder folder("none");
  const Ran ran = run({"synth", "--hierarchy", "4", "--axes", "2,2", "--reduce", "0",
                       "--synthesis-hierarchy", "a", "--certify", folder.path()});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("certificate: " + folder.path()) != std::string::npos);
  CHECK(check_folder(folder.path()).reason ==
        "there are 0 valid programs of at most 5 steps (4 devices, dialect published)");
}

TEST_CASE("the same command writes the same bytes") {
  const Folder one("one");
  const Folder two("two");
  for (const Folder* folder : {&one, &two}) {
    REQUIRE(run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--certify",
                 folder->path()})
                .exit == 0);
  }
  for (const char* name :
       {"manifest.json", "problem.json", "problem.cnf", "varmap", "proof.lrat"}) {
    const auto bytes = [&](const Folder& folder) { return bytes_of(folder.path() + "/" + name); };
    CHECK(!bytes(one).empty());
    CHECK(bytes(one) == bytes(two));
  }
}

TEST_CASE("a limit ends synth --certify in exit 3, with the lists and without certificates") {
  const Folder folder("limit");
  const Ran ran = run({"synth", "--hierarchy", "2,2,2", "--axes", "8", "--reduce", "0", "--count",
                       "--rlimit", "1", "--certify", folder.path(), "--format", "json"});
  CHECK(ran.exit == 3);
  const Json placement = Json::parse(ran.out)["placements"][0];
  CHECK(placement["programs"] == 825);
  CHECK(placement["certificate"].is_null());
  CHECK(!std::filesystem::exists(folder.path()));
  CHECK(run({"synth", "--hierarchy", "2,2,2", "--axes", "8", "--reduce", "0", "--count", "--memory",
             "20", "--certify", folder.path()})
            .out.find("not certified: a limit was met") != std::string::npos);
}

TEST_CASE("a certificate that cannot be written takes nothing from the lists") {
  const TemporaryFile file("not a folder");
  const Ran ran = run(with(kSynth, {"--certify", file.path()}));
  CHECK(ran.exit == 2);
  CHECK(ran.out.find("total: 50 programs over 2 placements") != std::string::npos);
  CHECK(ran.err.find(file.path()) != std::string::npos);
}
