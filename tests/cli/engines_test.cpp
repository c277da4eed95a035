#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <z3++.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/collective/language/definition.h"
#include "proofs/api/subject_check.h"
#include "proofs/api/synthesize.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using nlohmann::json;

namespace {

constexpr const char* kReproducer = "p2-verify-disagreement.json";

const std::string kCountedTwice =
    R"({"devices":2,"classes":[[0,1]],"steps":[{"collective":"AllReduce","groups":[[0,1]]},)"
    R"({"collective":"AllReduce","groups":[[0,1]]}]})";

/// The built-in definitions, but AllReduce may count a contribution twice.
std::vector<language::Definition> counting_twice() {
  std::vector<language::Definition> definitions = language::built_in_definitions();
  REQUIRE(definitions[0].name == "AllReduce");
  REQUIRE(definitions[0].premises.back().name == "disjoint");
  definitions[0].premises.pop_back();
  return definitions;
}

/// Runs a command whose Z3 uses wrong definitions, inside a folder of its own.
class WithWrongZ3 {
 public:
  WithWrongZ3() : before_(std::filesystem::current_path()) {
    const TemporaryFile name("");
    folder_ = name.path() + ".folder";
    std::filesystem::create_directory(folder_);
    std::filesystem::current_path(folder_);
  }
  ~WithWrongZ3() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  WithWrongZ3(const WithWrongZ3&) = delete;
  WithWrongZ3& operator=(const WithWrongZ3&) = delete;

  Ran synthesize(const SynthesizeRequest& request) const {
    return printed(p2::synthesize(request, {}, nullptr, counting_twice()), Format::Json);
  }
  Ran check(const CheckRequest& request) const {
    const CheckAnswer answer = p2::check(request, {}, nullptr, counting_twice());
    CHECK(answer.document.exit_code == 4);
    return printed(answer, Format::Text);
  }
  json reproducer() const {
    std::ifstream file(folder_ / kReproducer);
    return json::parse(file);
  }
  std::filesystem::path folder() const { return folder_; }

 private:
  static Ran printed(const Answer& answer, Format format) {
    std::ostringstream out;
    std::ostringstream err;
    CommonOptions common;
    common.format = format;
    const int exit = print_answer(answer, common, out, err);
    return {exit, out.str(), err.str()};
  }

  std::filesystem::path before_;
  std::filesystem::path folder_;
};

CheckRequest request_for(const std::vector<std::string>& files, const std::string& engine) {
  CheckRequest request;
  request.files = files;
  request.engine = engine;
  return request;
}

}  // namespace

TEST_CASE("a wrong rule in one engine ends check in exit 4 with all answers and a reproducer") {
  const TemporaryFile file(kCountedTwice);
  const WithWrongZ3 wrong;
  const Ran ran = wrong.check(request_for({file.path()}, "all"));
  CHECK(ran.exit == 4);
  CHECK(ran.out.find("cnf: invalid at step 2 by disjoint\n"
                     "explicit: invalid at step 2 by disjoint\n"
                     "reference: invalid at step 2 by disjoint\n"
                     "z3: valid\n") != std::string::npos);
  CHECK(ran.err ==
        "p2-verify: the engines disagree; all answers are in the output and in "
        "p2-verify-disagreement.json\n");
  const json all = wrong.reproducer()["disagreements"];
  REQUIRE(all.size() == 1);
  CHECK(all[0]["program"]["steps"] == json::parse(kCountedTwice)["steps"]);
  CHECK(all[0]["result"]["engines"] == json::parse(R"({"explicit":"invalid","cnf":"invalid",
      "reference":"invalid","z3":"valid"})"));
  const TemporaryFile program(all[0]["program"].dump());
  CHECK(wrong.check(request_for({program.path()}, "z3")).exit == 4);
  CHECK(run({"check", program.path(), "--engine", "all"}).exit == 1);
}

TEST_CASE("a disagreement goes before bad input, certificates and a reproducer without a place") {
  const TemporaryFile file(kCountedTwice);
  const WithWrongZ3 wrong;
  std::filesystem::create_directory(wrong.folder() / kReproducer);
  CheckRequest request = request_for({"/nonexistent/program.json", file.path()}, "z3");
  request.certify = "certificate";
  const Ran ran = wrong.check(request);
  CHECK(ran.exit == 4);
  CHECK(ran.err.find("the engines disagree") != std::string::npos);
  CHECK(!std::filesystem::exists(wrong.folder() / "certificate"));
}

TEST_CASE("a wrong rule in one engine ends synth in exit 4, and the reference says who is wrong") {
  const WithWrongZ3 wrong;
  SynthesizeRequest request;
  request.instance.hierarchy = "2,2";
  request.instance.axes = "4";
  request.instance.reduce = "0";
  request.size = 3;
  request.engine = "all";
  request.count_only = true;
  const Ran ran = wrong.synthesize(request);
  CHECK(ran.exit == 4);
  const json verified = wrong.reproducer()["placements"][0]["verified"];
  CHECK(verified == json::parse(ran.out)["placements"][0]["verified"]);
  REQUIRE(verified.size() == 2);
  CHECK(verified[0]["engine"] == "z3");
  const json& missing = verified[0]["missing"];
  REQUIRE(!missing.empty());
  for (const auto& [program, finding] : verified[0]["reference"].items()) {
    CHECK(std::find(missing.begin(), missing.end(), program) != missing.end());
    CHECK(finding["verdict"] == "invalid");
    CHECK(finding["rule"] == "disjoint");
  }
  CHECK(verified[0]["reference"].size() == std::min<std::size_t>(missing.size(), 16));
  CHECK(
      verified[1] ==
      json::parse(
          R"({"engine":"cnf","complete":true,"settled_size":3,"found":25,"missing":[],"extra":[]})"));
}

namespace {

Ran ask(const std::string& what, const std::string& size,
        const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {"synth", "--hierarchy", "2,2", "--axes",   "4", "--reduce",
                                      "0",     "--size",      size,  "--exists", what};
  command.insert(command.end(), more.begin(), more.end());
  return run(command);
}

bool says(const Ran& ran, const std::string& text) {
  return ran.out.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("synth --exists: all engines find a shortest program, or refute that there is one") {
  const Ran found = ask("Broadcast", "2", {"--engine", "all"});
  CHECK(found.exit == 0);
  CHECK(says(found,
             "explicit: there is a program with Broadcast: Reduce(root, InsideGroup); "
             "Broadcast(root, InsideGroup)"));
  CHECK(says(found, "z3: there is a program with Broadcast: Reduce("));
  CHECK(says(found, "cnf: there is a program with Broadcast: Reduce("));
  const Ran none = ask("Broadcast", "1", {"--engine", "all"});
  CHECK(none.exit == 1);
  for (const char* engine : {"explicit", "z3", "cnf"}) {
    CHECK(
        says(none, std::string(engine) + ": there is no program with Broadcast of at most 1 step"));
  }
}

TEST_CASE("synth --exists: forms, and what is not used") {
  CHECK(ask("Master", "2", {"--engine", "all"}).exit == 1);
  CHECK(ask("Master", "3", {"--engine", "all"}).exit == 0);
  const Ran without = ask("no-AllReduce", "2", {"--engine", "all", "--format", "json"});
  CHECK(without.exit == 0);
  CHECK(says(without, R"({"engine":"z3","existence":"exists","program":")"));
  CHECK_FALSE(says(without, "cnf"));
  CHECK(ask("no-AllReduce", "1", {"--engine", "z3"}).exit == 1);
}

TEST_CASE("synth --exists: a limit leaves the question open") {
  const Ran stopped = ask("Broadcast", "1", {"--engine", "z3", "--rlimit", "1"});
  CHECK(stopped.exit == 3);
}

TEST_CASE("synth --exists: what cannot be asked") {
  CHECK(ask("Brodcast", "2").exit == 2);
  CHECK(ask("Broadcast", "2", {"--explain"}).exit == 2);
}

namespace {

z3::check_result answer_to(const std::string& text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.c_str());
  return solver.check();
}

Ran synth(const std::string& size, const std::vector<std::string>& more) {
  std::vector<std::string> command = {"synth",    "--hierarchy", "2,2",    "--axes", "4",
                                      "--reduce", "0",           "--size", size,     "--count"};
  command.insert(command.end(), more.begin(), more.end());
  return run(command);
}

}  // namespace

TEST_CASE("synth --smt2 asks whether the list is complete, and any solver may answer") {
  const TemporaryFile file("", ".smt2");
  for (const char* size : {"1", "2", "3"}) {
    CHECK(synth(size, {"--placement", "[[2 2]]", "--smt2", file.path()}).exit == 0);
    const std::string text = bytes_of(file.path());
    CHECK(text.rfind("; query synthesis, dialect published, " + std::string(size) + " step", 0) ==
          0);
    CHECK(answer_to(text) == z3::unsat);
  }
}

TEST_CASE("check --smt2 asks whether the program is invalid") {
  const TemporaryFile file("", ".smt2");
  for (const char* folder : {"valid", "refused"}) {
    for (const auto& program : std::filesystem::directory_iterator(kPrograms + folder)) {
      CAPTURE(program.path().string());
      const bool valid = std::string(folder) == "valid";
      const Ran ran = run({"check", program.path().string(), "--smt2", file.path()});
      CHECK(ran.exit == (valid ? 0 : 1));
      const std::string text = bytes_of(file.path());
      CHECK(text.rfind("; query validity: ", 0) == 0);
      CHECK(answer_to(text) == (valid ? z3::unsat : z3::sat));
    }
  }
}

TEST_CASE("--smt2 writes one query, whole or not at all") {
  CHECK(run({"check", kPrograms + "valid/figure3a-allreduce.p2",
             kPrograms + "valid/figure10-blueconnect.p2", "--smt2", "/tmp/none.smt2"})
            .exit == 2);
  CHECK(synth("0", {"--placement", "[[2 2]]", "--smt2", "/tmp/none.smt2"}).exit == 2);
  CHECK(run({"synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "0", "--smt2",
             "/tmp/none.smt2"})
            .exit == 2);
  const TemporaryFile file("as it was", ".smt2");
  const Ran ran = synth("2", {"--placement", "[[2 2]]", "--smt2", file.path(), "--rlimit", "1"});
  CHECK(ran.exit == 3);
  CHECK(ran.err == "p2-verify: --smt2: a limit was reached before the query was written\n");
  CHECK(bytes_of(file.path()) == "as it was");
}

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
  const json placements = json::parse(ran.out)["placements"];
  REQUIRE(placements.size() == 2);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::string path = placements[i]["certificate"];
    CHECK(path.starts_with(folder.path() + "/complete-"));
    const kernel::Result result = check_folder(path);
    CHECK(result.verdict == kernel::Verdict::Accepted);
    const std::string count = std::to_string(placements[i]["programs"].get<int>());
    CHECK(result.reason.starts_with(
        "there are " + count + " valid programs of at most 4 steps over collapsed (8 devices, "));
    CHECK(result.reason.find("synthesis hierarchy collapsed, dialect published), claim ") !=
          std::string::npos);
  }
  CHECK(!json::parse(run(with(kSynth, {"--format", "json"})).out)["placements"][0].contains(
      "certificate"));
}

TEST_CASE("that there is no program is certified like any list") {
  const Folder folder("none");
  const Ran ran = run({"synth", "--hierarchy", "4", "--axes", "2,2", "--reduce", "0",
                       "--synthesis-hierarchy", "a", "--certify", folder.path()});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("certificate: " + folder.path()) != std::string::npos);
  CHECK(check_folder(folder.path())
            .reason.starts_with(
                "there are 0 valid programs of at most 5 steps over a (4 devices, hierarchy "));
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
  const json placement = json::parse(ran.out)["placements"][0];
  CHECK(placement["programs"] == 825);
  CHECK(placement["certificate"].is_null());
  CHECK(!std::filesystem::exists(folder.path()));
  CHECK(run({"synth", "--hierarchy", "2,2,2", "--axes", "8", "--reduce", "0", "--count", "--memory",
             "20", "--certify", folder.path()})
            .out.find("not certified: a limit was reached") != std::string::npos);
}

TEST_CASE("a certificate that cannot be written takes nothing from the lists") {
  const TemporaryFile file("not a folder");
  const Ran ran = run(with(kSynth, {"--certify", file.path()}));
  CHECK(ran.exit == 2);
  CHECK(ran.out.find("total: 50 programs over 2 placements") != std::string::npos);
  CHECK(ran.err.find(file.path()) != std::string::npos);
}
