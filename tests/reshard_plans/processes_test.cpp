#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/reshard/plans/plan.h"
#include "tests/execution/process.h"
#include "tests/reshard_plans/plans.h"

using namespace p2::reshard;
using p2::Process;
using p2::shell;
using p2::TransferStrategy;

namespace {

/// A folder with plans as files, which goes with this object.
class PlanFiles {
 public:
  PlanFiles()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("p2-plans-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~PlanFiles() { std::filesystem::remove_all(folder_); }
  PlanFiles(const PlanFiles&) = delete;
  PlanFiles& operator=(const PlanFiles&) = delete;

  void add(const Plan& plan) {
    const std::string name = fmt::format("{}/{}.json", folder_.string(), count_++);
    std::ofstream(name) << to_json(plan);
    names_ += " " + name;
  }
  const std::string& names() const { return names_; }
  int count() const { return count_; }

 private:
  std::filesystem::path folder_;
  std::string names_;
  int count_ = 0;
};

void add_all(const std::vector<Case>& cases, PlanFiles& files) {
  for (const Case& each : cases) {
    for (const TransferStrategy strategy : kStrategies) {
      for (const auto decomposition : kDecompositions) {
        files.add(plan_for(each, strategy, decomposition));
      }
    }
  }
}

/// Runs the plans and expects every element to be right.
void check_run(const std::string& verify, const std::string& backend, const PlanFiles& files) {
  const Process process =
      shell(verify + " run --iterations 2 --format json --backend " + backend + files.names());
  REQUIRE_MESSAGE(process.exit == 0, process.printed);
  const auto report = nlohmann::json::parse(process.printed);
  CHECK(report["results"].size() == static_cast<std::size_t>(files.count()));
  for (const auto& result : report["results"]) {
    CHECK(result["refused"].is_null());
    CHECK(result["wrong"] == 0);
    CHECK(result["time_us"] > 0);
  }
}

bool has_mpi() {
  const bool there =
      shell("command -v mpirun").exit == 0 &&
      shell(std::string(P2_VERIFY) + " --version | grep MPI | grep -v 'not found'").exit == 0;
  if (!there) MESSAGE("skipped: there is no mpirun, or no MPI in this build");
  return there;
}

}  // namespace

TEST_CASE("the nine cases of table 2, both decompositions, every strategy, in threads and on MPI") {
  PlanFiles files;
  add_all(table2({24, 24, 12}), files);
  REQUIRE(files.count() == 72);
  check_run(P2_VERIFY, "in-process", files);
  if (has_mpi()) check_run(P2_VERIFY, "mpi", files);
}

TEST_CASE("uneven shards and meshes that share devices, in threads and on MPI") {
  PlanFiles files;
  add_all(table2({7, 5, 3}), files);
  add_all(odd_cases(), files);
  check_run(P2_VERIFY, "in-process", files);
  if (has_mpi()) check_run(P2_VERIFY, "mpi", files);
}

TEST_CASE("a wrong plan is refused, and run all the same with --force") {
  if (!has_mpi()) return;
  const Case one{"", {4}, "1x1:R", "1x1:R"};
  Plan plan{one.problem(), "", {}};
  const Box half{{0}, {2}};
  plan.programs = {{{{true, Buffer::Source, 1, half}}}, {{{false, Buffer::Destination, 0, half}}}};
  PlanFiles files;
  files.add(plan);
  const std::string run = std::string(P2_VERIFY) + " run --backend mpi" + files.names();
  const Process refused = shell(run);
  CHECK(refused.exit == 1);
  CHECK(refused.printed.find("never receives [2:4]") != std::string::npos);
  CHECK(refused.printed.find("0 of 1 plans run") != std::string::npos);
  const Process forced = shell(run + " --force");
  CHECK(forced.exit == 1);
  CHECK(forced.printed.find("wrong at the end: device 1, element 2: got nothing") !=
        std::string::npos);
}

TEST_CASE("a message of more elements than MPI counts is refused, once, before the run") {
  if (!has_mpi()) return;
  const Case one{"", {4}, "1x1:R", "1x1:R"};
  Plan plan{one.problem(), "", {}};
  const Box far{{0}, {3'000'000'000}};
  plan.programs = {{{{true, Buffer::Source, 1, {{0}, {4}}}}},
                   {{{false, Buffer::Destination, 0, far}}}};
  PlanFiles files;
  files.add(plan);
  const Process process =
      shell(std::string(P2_VERIFY) + " run --backend mpi --force" + files.names());
  CHECK(process.exit == 2);
  const std::string expected =
      "a message has 3000000000 elements, expected at most 2147483647 on MPI";
  CHECK(process.printed.find(expected) != std::string::npos);
  CHECK(process.printed.find(expected) == process.printed.rfind(expected));
}

#ifdef P2_VERIFY_FAKE_NCCL
TEST_CASE("the same plans by calls of NCCL, of which there is a stand-in") {
  PlanFiles files;
  add_all(table2({24, 24, 12}), files);
  add_all(odd_cases(), files);
  check_run(P2_VERIFY_FAKE_NCCL, "nccl", files);
}
#endif
