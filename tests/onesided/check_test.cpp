#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

namespace p2 {
namespace {

const std::string kExamples = std::string(P2_SOURCE_DIR) + "/examples/onesided/";

nlohmann::json checked(const std::string& file, int exit) {
  const Ran ran = run({"check", file, "--format", "json"});
  CHECK(ran.exit == exit);
  return nlohmann::json::parse(ran.out).at("results").at(0);
}

}  // namespace

TEST_CASE("check answers for one-sided plans with the keys of the contract") {
  const nlohmann::json valid = checked(kExamples + "dispatch.plan", kEstablished);
  CHECK(valid.at("format") == "onesided");
  CHECK(valid.at("verdict") == "valid");
  CHECK(valid.at("rule").is_null());
  CHECK(valid.at("counterexample").is_null());

  const nlohmann::json invalid = checked(kExamples + "refused/oneshot-no-handshake.plan", kRefuted);
  CHECK(invalid.at("verdict") == "invalid");
  CHECK(invalid.at("rule") == "scratch-reuse");
  CHECK(invalid.at("counterexample").at("operations").size() == 2);
  CHECK(invalid.at("counterexample").at("operations").at(0).at("line") == 10);
  CHECK(!invalid.at("failing_run").is_null());

  const TemporaryFile test("plan test ranks 1\nrank 0:\n  copy o[0] <- i[0]\n", ".plan");
  const nlohmann::json unknown = checked(test.path(), kUndecided);
  CHECK(unknown.at("verdict") == "unknown");
  CHECK(unknown.at("rule") == "unknown-collective");

  const TemporaryFile lacking("{\"gpus\":[],\"inplace\":true,\"protocol\":\"LL\"}", ".json");
  CHECK(checked(lacking.path(), kRefuted).at("rule") == "malformed");
  const TemporaryFile broken("{\"gpus\":[],\"inplace\":true,", ".json");
  CHECK(run({"check", broken.path()}).exit == kBadInput);
}

TEST_CASE("examples are valid, and those that are refused are not, for all engines") {
  std::size_t plans = 0;
  for (const auto& [folder, exit] :
       {std::pair(kExamples, kEstablished), std::pair(kExamples + "refused/", kRefuted)}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".plan") continue;
      ++plans;
      CHECK_MESSAGE(run({"check", entry.path().string(), "--engine", "all"}).exit == exit,
                    entry.path().string());
    }
  }
  CHECK(plans == 10);
  CHECK(checked(kExamples + "refused/combine-one-counter.plan", kRefuted).at("rule") ==
        "data-race");
}

TEST_CASE("a repaired plan is valid, and leaving out a change is not") {
  for (const char* name : {"oneshot-no-handshake", "twoshot-switch-relaxed", "dispatch-no-flush"}) {
    const TemporaryFile repaired("", ".plan");
    const Ran ran = run({"check", kExamples + "refused/" + name + ".plan", "--repair",
                         repaired.path(), "--format", "json"});
    CHECK(ran.exit == kRefuted);
    const nlohmann::json repair = nlohmann::json::parse(ran.out).at("results").at(0).at("repair");
    CHECK(repair.size() >= 1);
    CHECK(run({"check", repaired.path()}).exit == kEstablished);
  }
}

TEST_CASE("a goal takes the place of the plan's collective") {
  const std::string lines =
      "plan custom ranks 2\nbuffer i 2\nbuffer o 2\nbuffer s 2 double\ncounter n per peer\n"
      "rank all:\n  put s@(1-r)[r] <- i[1-r]\n  copy o[r] <- i[r]\n  signal n @1-r\n"
      "  wait n from 1-r\n  copy o[1-r] <- s[";
  const TemporaryFile right(lines + "1-r]\n", ".plan");
  const TemporaryFile wrong(lines + "1-r]\n  copy o[1-r] <- i[r]\n", ".plan");
  const std::string own = std::string(P2_SOURCE_DIR) + "/examples/collectives/sound/alltoall.p2c";
  for (const std::string& goal : {std::string("alltoall"), own}) {
    CHECK(run({"check", right.path(), "--goal", goal, "--engine", "all"}).exit == kEstablished);
    const Ran refused =
        run({"check", wrong.path(), "--goal", goal, "--engine", "all", "--format", "json"});
    CHECK(refused.exit == kRefuted);
    const auto result = nlohmann::json::parse(refused.out).at("results").at(0);
    CHECK(result.at("rule") == "wrong-chunk");
    CHECK(result.at("engines").at("explorer") == "invalid");
    CHECK(result.at("engines").at("z3") == "invalid");
  }
  CHECK(run({"check", right.path()}).exit == kUndecided);
  const Ran other = run({"check", right.path(), "--goal", "allgather"});
  CHECK(other.exit == kBadInput);
  CHECK(other.err.find("equal parts of 2 cells for allgather") != std::string::npos);
  CHECK(run({"check", right.path(), "--goal", "alltoall", "--repair", "/tmp/never-written"}).exit ==
        kBadInput);
}

TEST_CASE("plans run with threads, refused ones with --force only") {
  const std::string refused = kExamples + "refused/twoshot-switch-relaxed.plan";
  CHECK(run({"run", kExamples + "packets-allreduce.plan"}).exit == kEstablished);
  const Ran skipped = run({"run", refused});
  CHECK(skipped.exit == kRefuted);
  CHECK(skipped.out.find("not run, --force runs it") != std::string::npos);
  const Ran forced = run({"run", refused, "--force", "--iterations", "20", "--format", "json"});
  CHECK(forced.exit == kRefuted);
  const auto result = nlohmann::json::parse(forced.out).at("results").at(0);
  CHECK(result.at("runs") == 40);
  CHECK(result.at("failing_runs") > 0);
  CHECK(result.at("failing_run").at("late") == true);
  CHECK(run({"run", refused, "--bytes", "1K"}).exit == kBadInput);
}

TEST_CASE("plans of both formats are certified, and it is said why one is not") {
  const TemporaryFile folder("", ".folder");
  const std::string certificate = folder.path() + ".certificate";
  const Ran some = run({"check", kExamples + "dispatch.plan", "--certify", certificate});
  CHECK(some.exit == kEstablished);
  CHECK(some.out.find("certificate: " + certificate + ", claim ") != std::string::npos);
  for (const auto& [plan, exit] : {std::pair("overlapped-allgather.plan", kEstablished),
                                   {"refused/combine-one-counter.plan", kRefuted}}) {
    const Ran shared = run({"check", kExamples + plan, "--certify", folder.path() + ".shared"});
    CHECK(shared.exit == exit);
    CHECK(shared.out.find("certificate: " + folder.path() + ".shared, claim ") !=
          std::string::npos);
  }
  const TemporaryFile pushes(
      "plan sendrecv ranks 1\nthreads\nbuffer s 2\nrank 0:\n  copy o[0] <- i[0]\n"
      "  for p in 0..1: async put s[p] <- i[0]\n  flush\n",
      ".plan");
  const Ran none = run({"check", pushes.path(), "--certify", folder.path() + ".none"});
  CHECK_MESSAGE(none.out.find("no certificate: ") != std::string::npos, none.out);
}

TEST_CASE("programs are exported as plans of both formats that are valid") {
  const std::string program = std::string(P2_SOURCE_DIR) +
                              "/examples/programs/valid/figure3c-reduce-allreduce-broadcast.p2";
  const TemporaryFile one("plan allreduce ranks 1\nrank 0:\n  copy o[0] <- i[0]\n", ".plan");
  const TemporaryFile source(
      "devices 4\nclasses {0,1,2,3}\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; "
      "AllGather{0,1},{2,3}\n",
      ".p2");
  for (const char* format : {"onesided", "onesided-text"}) {
    const TemporaryFile written("", ".out");
    const Ran ran = run({"export", source.path(), "--to", format, "--output", written.path()});
    CHECK_MESSAGE(ran.exit == kEstablished, ran.err);
    CHECK(run({"check", written.path()}).exit == kEstablished);
  }
}

}  // namespace p2
