// Certificates that prove nothing, each with hashes that fit: none is accepted, and what p2-check
// prints of them holds no line that says so.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>

#include "tests/cli/run.h"
#include "tests/file_bytes.h"
#include "tests/proofs/examples.h"

using namespace p2;
using namespace p2::proofs;

namespace {

namespace fs = std::filesystem;

/// A change of the example of a claim, and what the checker says of it.
struct Forgery {
  const char* claim;
  const char* file;
  std::function<void(std::string& text)> change;
  const char* reason;
};

/// One occurrence of `from`, the first, becomes `to`.
std::function<void(std::string&)> replace(const std::string& from, const std::string& to) {
  return [=](std::string& text) {
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    text.replace(at, from.size(), to);
  };
}
std::function<void(std::string&)> become(const std::string& whole) {
  return [=](std::string& text) { text = whole; };
}
std::function<void(std::string&)> append(const std::string& end) {
  return [=](std::string& text) { text += end; };
}

constexpr const char* kPair = R"([{"collective":"AllReduce","groups":[[0,1]]}])";
constexpr const char* kColumnStep =
    R"J({"collective":"AllReduce","slice":"node.data","form":"Parallel(root)",
                  "groups":[[0,2],[1,3]]})J";

std::string program_of(const std::string& steps) {
  return R"({"devices":2,"classes":[[0,1]],"dialect":"published","steps":)" + steps + "}";
}

const std::vector<Forgery>& forgeries() {
  static const std::vector<Forgery> all = {
      // A program.
      {"program-valid", "problem.json", become(program_of("[]")), "more systems than steps"},
      {"program-valid", "problem.json", replace("AllReduce", "AllGather"), "disjoint-chunks fails"},
      {"program-valid", "problem.json", replace("AllReduce", "ReduceScatter"),
       "the recorded state is wrong"},
      {"program-valid", "problem.json", replace("AllReduce", "Allreduce"), "unknown collective"},
      {"program-valid", "problem.json", replace("[[0,1]],\"dialect\"", "[[0],[1]],\"dialect\""),
       "the goal is not reached"},
      {"program-valid", "problem.json", replace("\"devices\":2", "\"devices\":3"),
       "a device is in no class"},
      {"program-valid", "problem.json", replace("\"devices\":2", "\"devices\":2.0"),
       "is not a number"},
      {"program-valid", "problem.json", replace("\"devices\":2", "\"devices\":1e0"),
       "is not a number"},
      {"program-valid", "problem.json", replace("\"groups\":[[0,1]]", "\"groups\":[[0,-0]]"),
       "is not a number"},
      {"program-valid", "problem.json", replace("\"devices\":2", "\"devices\":2,\"devices\":2"),
       "duplicate key"},
      {"program-valid", "problem.json", replace("\"groups\":[[0,1]]", "\"groups\":[[0,1],[1]]"),
       "device 1 is in two groups"},
      {"program-valid", "problem.json",
       replace("\"groups\"", R"("slice":"root","form":"InsideGroup","groups")"), "with the keys"},
      {"program-valid", "derivation.json", replace("[2,2]]", "[2,1]]"), "too few devices"},
      {"program-valid", "derivation.json", replace("[2,2]]", "[2,3]]"), "too many devices"},
      {"program-valid", "derivation.json", replace("[0,1,1,1]", "[2,2]"),
       "before the first step: the recorded state is wrong"},
      {"program-valid", "derivation.json", replace(",[2,2]]", "]"),
       "the derivation ends before the program"},
      {"program-valid", "derivation.json",
       replace("[0,1],[1,2]],\"states\"", "[0,9],[1,2]],\"states\""), "is not a number below 3"},
      {"program-valid", "derivation.json", replace("\"none\"", "\"some\""), "symmetry is unknown"},
      {"program-invalid", "refutation.json", replace("2", "1"), "does not lead to its step"},
      {"program-invalid", "refutation.json", replace("disjoint", "same-chunks"),
       "does not break rule"},
      {"program-invalid", "refutation.json", replace("[0,1]", "[0]"), "has no such group"},
      {"program-invalid", "refutation.json", become(R"({"step":2,"rule":"master"})"),
       "is not a Master step, or is allowed"},
      {"program-invalid", "refutation.json", become(R"({"step":2,"rule":"goal"})"),
       "the step is not the last one"},
      // Steps that are no instructions over the hierarchy that the claim compares.
      {"not-expressible", "problem.json",
       replace(kColumnStep, R"({"collective":"AllReduce","groups":[[0,2],[1,3]]})"),
       "step 1 (AllReduce) is not an instruction over b"},
      {"not-expressible", "problem.json", replace("\"groups\":[[0,2],[1,3]]", "\"groups\":[[0,2]]"),
       "form other groups"},
      {"not-expressible", "problem.json", replace("Parallel(root)", "Parallel(node)"),
       "forms no group of two devices"},
      {"not-expressible", "problem.json", replace("node.data\",", "node.shard\","),
       "form other groups"},
      {"not-expressible", "problem.json", replace("\"to\":\"a\"", "\"to\":\"c\""),
       "all steps are instructions over c"},
      {"not-expressible", "problem.json", replace("\"to\":\"a\"", "\"to\":\"e\""),
       "synthesis_hierarchy is unknown"},
      {"not-expressible", "problem.json",
       become(
           R"({"devices":1,"classes":[[0]],"dialect":"published","hierarchy":[{"name":"n","size":1}],
                  "axes":[{"name":"a","size":1}],"reduce":[0],"placement":[[1]],
                  "synthesis_hierarchy":"b","to":"a","steps":[{"collective":"AllReduce","groups":[[0]]}]})"),
       "step 1 (AllReduce) is not an instruction over b"},
      // A list of programs.
      {"synthesis-complete", "problem.json", replace("\"programs\":[[0]]", "\"programs\":[]"),
       "clause 23 of problem.cnf is not in the CNF of the claim"},
      {"synthesis-complete", "problem.json",
       replace("\"programs\":[[0]]", "\"programs\":[[0],[0]]"), "duplicate program"},
      {"synthesis-complete", "problem.json", replace("\"programs\":[[0]]", "\"programs\":[[1]]"),
       "the goal is not reached"},
      {"synthesis-complete", "problem.json", replace("\"size\":1,", "\"size\":2,"),
       "is not in the CNF of the claim"},
      {"synthesis-complete", "problem.json", replace("\"published\"", "\"spoken\""),
       "dialect is unknown"},
      {"synthesis-complete", "problem.cnf", replace("-2 0\n", "-3 0\n"),
       "is not in the CNF of the claim"},
      {"synthesis-complete", "problem.cnf", replace("59 23", "60 23"), "variable count mismatch"},
      {"synthesis-complete", "problem.cnf", replace("59 23", "59 22"), "clause count mismatch"},
      {"synthesis-complete", "problem.cnf", append("0\n"), "clause count mismatch"},
      {"synthesis-complete", "varmap", append("\n"), "varmap mismatch"},
      {"synthesis-complete", "varmap", replace("picked 0 2", "picked 0 3"), "varmap mismatch"},
      {"synthesis-complete", "proof.lrat", replace("46 0 40 44 45 18 0\n", ""),
       "does not derive the empty clause"},
      {"synthesis-complete", "proof.lrat", become("24 0 1 0\n"), "do not end in a conflict"},
      {"synthesis-complete", "proof.lrat", become("24 -1 0 -1 0\n"), "no earlier clause"},
      // Costs.
      {"cheapest", "problem.json", replace("\"all\"", "\"none\""), "among is unknown"},
      {"cheapest", "problem.json",
       replace(
           kPair,
           R"([{"collective":"Reduce","groups":[[0,1]]},{"collective":"Broadcast","groups":[[0,1]]},
                          {"collective":"Reduce","groups":[[0,1]]}])"),
       "steps after the goal"},
      {"cheapest", "problem.json", replace("\"uplinks\":[]", "\"uplinks\":[[1,65536]]"),
       "is not a number below 65536"},
      {"cheapest", "problem.json", replace("[[0,1]]}]}]", "[[0],[1]]}]}]"),
       "the goal is not reached"},
      {"cheapest", "potential.json", replace("\"alpha\":0,\"beta\":1", "\"alpha\":1,\"beta\":1"),
       "ratios mismatch"},
      {"cheapest", "potential.json", replace("\"states\":[]", "\"states\":[[3,3,3,3]]"),
       "the goal has a potential"},
      {"cheapest", "potential.json", replace("\"potential\":[]", "\"potential\":[7]"),
       "not every state has a potential"},
      // Strategies.
      {"strategy-optimal", "strategy.json", replace("\"cost\":1", "\"cost\":2"),
       "cost of the strategy mismatch"},
      {"strategy-optimal", "strategy.json", become(R"({"configurations":[1,1],"cost":4})"),
       "a strategy costs 1"},
      {"strategy-optimal", "bound.json", replace("[[1,0,1]]", "[[1,1,0]]"),
       "the configuration may cost less"},
      {"strategy-optimal", "bound.json", replace("[[1,0,1]]", "[[1,0,1],[1,1,0]]"),
       "not two remaining configurations"},
      {"strategy-optimal", "bound.json", replace("[0,1]}", "[0,0]}"), "not a permutation"},
      {"strategy-optimal-clauses", "sums.json", replace("[1],[5,4]", "[1],[5,5]"),
       "is added twice"},
      {"strategy-optimal-clauses", "problem.cnf", replace("-7 -1 0", "-7 0"),
       "is not in the CNF of the claim"},
      // Schedules, pipelines and plans.
      {"reshard-schedule", "schedule.json", replace("\"makespan\":4", "\"makespan\":5"),
       "the bound is only 4"},
      {"reshard-schedule", "schedule.json", replace("\"makespan\":4", "\"makespan\":3"),
       "a task ends after the makespan"},
      {"reshard-schedule", "schedule.json", replace("\"start\":2", "\"start\":1"),
       "two transfers overlap"},
      {"reshard-schedule", "schedule.json", replace("\"sender\":0", "\"sender\":2"),
       "the sender is not one of the task's"},
      {"reshard-schedule", "bound.json", replace("[0,1]}", "[0]}"), "outside the set"},
      {"reshard-schedule-gap", "bound.json", replace("\"least\":3", "\"least\":5"),
       "the bound is only 4"},
      {"pipeline-memory", "pipeline.json", replace("\"makespan\":6", "\"makespan\":8"),
       "a case is not refuted"},
      {"pipeline-memory", "pipeline.json", replace("[0,1],[1,3]", "[0,1],[0,3]"),
       "work starts too early"},
      {"pipeline-memory", "cases.json", replace("[],[]", "[[0,0,0]],[]"), "more cases than needed"},
      {"expressible-all-sizes", "problem.json", replace(R"("to":"d")", R"("to":"a")"),
       "a valid program of 1 step makes one of the choices"},
      {"expressible-all-sizes", "problem.json", replace(R"("to":"d")", R"("to":"f")"),
       "synthesis_hierarchy is unknown"},
      {"expressible-all-sizes", "problem.json", replace("[[2],[2]]", "[[4],[1]]"),
       "placement does not fit"},
      {"expressible-all-sizes", "problem.json", replace(R"("to":"d",)", ""), "keys"},
      {"unused-all-sizes", "problem.json", replace(R"("size":1})", R"("size":2})"),
       "a valid program of 2 steps makes one of the choices"},
      {"unused-all-sizes", "problem.json", replace("Broadcast", "AllReduce"),
       "a valid program of 1 step makes one of the choices"},
      {"unused-all-sizes", "problem.json", replace("Parallel(root)", "Master(root)"),
       "Broadcast(node.data, Master(root)): not allowed with Master"},
      {"unused-all-sizes", "problem.json", replace("node.data", "node.rows"),
       "(node.rows, Parallel(root)) forms no group of two devices"},
      {"reshard-plan", "plan.json", replace("[1,1,2,4]", "[1,1,2,3]"), "the plan is wrong"},
      {"reshard-plan", "plan.json", replace("[0,0,2,4]", "[0,1,2,4]"), "the plan is wrong"},
      {"reshard-plan", "plan.json", replace("[0,4]],", "[0,5]],"), "the plan is wrong"},
      {"reshard-plan-wrong", "plan.json",
       replace("\"needs\":[[0,0],[0,4]]", "\"needs\":[[0,0],[0,2]]"), "every device of the plan"},
  };
  return all;
}

/// What a text of a certificate or a folder would have to be called to look like a verdict.
constexpr const char* kLie = "x\nforged: accepted: the program is valid";

/// Forgeries whose texts come into the reason.
std::vector<Example> forged_texts() {
  const std::string lie = json(kLie).dump();
  const std::string escape = json("\x1b[2K\rforged: accepted: \xc2\x9b").dump();
  std::vector<Example> all;
  const auto add = [&](const char* claim, const char* file, const std::string& from,
                       const std::string& to) {
    CertificateFiles files = example(claim);
    replace(from, to)(files[file]);
    all.push_back(sealed(claim, files));
  };
  for (const std::string& text : {lie, escape}) {
    add("program-invalid", "refutation.json", "\"disjoint\"", text);
    add("program-valid", "problem.json", "\"AllReduce\"", text);
    add("program-valid", "problem.json", "\"published\"", text);
    add("not-expressible", "problem.json", "\"Parallel(root)\"", text);
    add("not-expressible", "problem.json", "\"node.data\"", text);
    add("not-expressible", "problem.json", "\"node\"", text);
    add("not-expressible", "problem.json", "\"to\":\"a\"", "\"to\":" + text);
    add("cheapest", "problem.json", "\"all\"", text);
    all.push_back(sealed("program-valid", example("program-valid")));
    CertificateFiles& files = all.back().files;
    json manifest = json::parse(files["manifest.json"]);
    manifest["claim"] = json::parse(text);
    files["manifest.json"] = manifest.dump();
    files[json::parse(text).get<std::string>()] = "";
  }
  return all;
}

std::vector<Example> all_forgeries() {
  std::vector<Example> all = forged_texts();
  for (const Forgery& forgery : forgeries()) {
    CertificateFiles files = example(forgery.claim);
    forgery.change(files[forgery.file]);
    all.push_back(sealed(forgery.claim, files));
  }
  return all;
}

/// An empty folder that lives as long as this object.
struct TemporaryFolder {
  const fs::path path = fs::temp_directory_path() / ("p2-forgeries-" + std::to_string(::getpid()));

  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

void write(const fs::path& folder, const CertificateFiles& files) {
  fs::create_directory(folder);
  for (const auto& [name, bytes] : files) std::ofstream(folder / name, std::ios::binary) << bytes;
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  for (std::size_t n = 1; n > 0;) {
    n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    out.append(buffer.data(), n);
  }
  ::pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("the examples are accepted, each line with the digest of its claim") {
  for (const auto& [claim, files] : examples()) {
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, claim, ": ", result.reason);
  }
}

TEST_CASE("no forgery is accepted, and each is refused for what is forged") {
  std::size_t refused = 0;
  for (const Forgery& forgery : forgeries()) {
    CertificateFiles files = example(forgery.claim);
    forgery.change(files[forgery.file]);
    const kernel::Result result = check_certificate(sealed(forgery.claim, files).files);
    CHECK_MESSAGE(result.verdict != kernel::Verdict::Accepted, forgery.claim, ": ", result.reason);
    CHECK_MESSAGE(result.reason.find(forgery.reason) != std::string::npos, forgery.claim, ", ",
                  std::string(forgery.reason), ": ", result.reason);
    ++refused;
  }
  CHECK(refused >= 60);
}

TEST_CASE("the evidence of one claim is none for another") {
  std::size_t refused = 0;
  for (const auto& [claim, files] : examples()) {
    for (const auto& [other, theirs] : examples()) {
      if (other == claim) continue;
      CHECK(check_certificate(sealed(other, files).files).verdict != kernel::Verdict::Accepted);
      ++refused;
    }
  }
  CHECK(refused == examples().size() * (examples().size() - 1));
}

TEST_CASE("p2-check prints a line for every forgery, and none that accepts") {
  const TemporaryFolder folder;
  std::size_t count = 0;
  for (const Example& forgery : all_forgeries()) {
    write(folder.path / std::to_string(count++), forgery.files);
  }
  for (const char* name : {kLie, "\x1b[1A\x1b[2Kx: accepted: y",
                           "\xe2\x80\xae"
                           "dilav",
                           "\xff", "a: accepted: the program is valid",
                           "c\xc2\x85"
                           "d"}) {
    write(folder.path / name, all_forgeries()[0].files);
    ++count;
  }
  const std::string out = output_of(std::string(P2_CHECK) + " " + folder.path.string() + "/*");
  std::istringstream lines(out);
  std::size_t printed = 0;
  for (std::string line; std::getline(lines, line); ++printed) {
    CHECK_MESSAGE(line.starts_with(folder.path.string()), line);
    const std::string rest = line.substr(line.find(": ") + 2);
    const bool refused = rest.starts_with("rejected: ") || rest.starts_with("not-a-certificate: ");
    CHECK_MESSAGE(refused, line);
    for (const char ch : line) CHECK(static_cast<unsigned char>(ch) >= 0x20);
    for (const char* bytes : {"\xc2\x85", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) {
      CHECK(line.find(bytes) == std::string::npos);
    }
  }
  CHECK(printed == count);
  for (const char* text :
       {"x\\u{a}forged\\u{3a} accepted", "\\u{202e}dilav", "/\\xff: ", "c\\u{85}d: "}) {
    CHECK_MESSAGE(out.find(text) != std::string::npos, text);
  }
  const std::string as_json =
      output_of(std::string(P2_CHECK) + " --format json " + folder.path.string() + "/*");
  CHECK(std::count(as_json.begin(), as_json.end(), '\n') == 1);
  CHECK(std::ranges::all_of(as_json,
                            [](char ch) { return ch == '\n' || (ch >= 0x20 && ch < 0x7f); }));
  CHECK(json::parse(as_json)["results"].size() == count);
  CHECK(as_json.find("\"accepted\"") == std::string::npos);
}

TEST_CASE("p2-verify prints the name of a file on the line that is about it") {
  const TemporaryFolder folder;
  const std::string source = std::string(P2_SOURCE_DIR) + "/examples/";
  std::vector<std::string> words = {"check"};
  for (const char* file : {"programs/valid/figure3a-allreduce.p2", "programs/refused/unfinished.p2",
                           "msccl/reduce-scatter-direct-2.xml", "hlo/all-reduce.hlo"}) {
    words.push_back(
        (folder.path / ("x\nforged: valid\r\x1b[2K\xe2\x80\xae" + std::to_string(words.size())))
            .string());
    std::ofstream(words.back(), std::ios::binary) << bytes_of(source + file);
  }
  words.push_back((folder.path / "missing\nforged: valid").string());
  const Ran ran = run(words);
  std::istringstream printed(ran.out + ran.err);
  std::size_t named = 0;
  for (std::string line; std::getline(printed, line);) {
    CHECK_MESSAGE(!line.starts_with("forged"), line);
    CHECK(line.find_first_of("\r\x1b") == std::string::npos);
    CHECK(line.find("\xe2\x80\xae") == std::string::npos);
    named += line.find("\\u{a}forged: valid") == std::string::npos ? 0 : 1;
  }
  CHECK_MESSAGE(named >= words.size() - 1, ran.out, ran.err);
}

TEST_CASE("every file ends where its text does") {
  std::size_t refused = 0;
  for (const auto& [claim, files] : examples()) {
    for (const auto& [name, bytes] : files) {
      const std::string ends[] = {bytes + '\0',
                                  bytes + std::string("\0\0x", 3),
                                  bytes + std::string("\0{}", 3),
                                  "\xEF\xBB\xBF" + bytes,
                                  bytes + "x",
                                  bytes + "{}",
                                  bytes + "\x1a",
                                  bytes + "\xEF\xBB\xBF"};
      for (const std::string& text : ends) {
        CertificateFiles changed = files;
        changed[name] = text;
        if (name != "manifest.json") reseal(claim, changed);
        const kernel::Verdict verdict = check_certificate(changed).verdict;
        CHECK_MESSAGE(verdict != kernel::Verdict::Accepted, claim, " ", name, " ", text);
        ++refused;
      }
      if (!name.ends_with(".json") || name == "manifest.json") continue;
      CertificateFiles spaced = files;
      spaced[name] = " \n" + bytes + "\t\r\n ";
      reseal(claim, spaced);
      CHECK(check_certificate(spaced).verdict == kernel::Verdict::Accepted);
    }
  }
  CHECK(refused > 200);
}
