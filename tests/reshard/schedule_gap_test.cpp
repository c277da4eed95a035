#include <doctest/doctest.h>

#include "engine/reshard/strategies.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard/schedule_certificates.h"

using namespace p2;
using Json = nlohmann::json;
using kernel::Verdict;

TEST_CASE("a schedule that is too long is accepted with a bound, and as a shortest one rejected") {
  std::mt19937_64 random(35);
  int gaps = 0;
  for (int i = 0; i < 1000; ++i) {
    const UnitTasks tasks = random_tasks(random, 9);
    const TaskSchedule naive = naive_schedule(tasks);
    CertificateFiles files = gap_certificate(tasks, naive);
    const auto bound = nlohmann::json::parse(files.at("bound.json"));
    if (!bound.contains("least")) continue;
    ++gaps;
    CHECK(bound["least"] <= solve(tasks).schedule.makespan);
    const kernel::Result result = check_certificate(files);
    CHECK(result.reason == "no schedule of the " + std::to_string(tasks.size()) +
                               " tasks is shorter than " + bound["least"].dump() +
                               ", this one takes " + std::to_string(naive.makespan));
    CHECK(result.verdict == Verdict::Accepted);
    CHECK(after(files, "bound.json", [](auto& json) { json.erase("least"); }) == Verdict::Rejected);
  }
  CHECK(gaps > 500);
}

TEST_CASE("no number of a schedule with a gap, or of its bound, changes and leaves a false claim") {
  std::mt19937_64 random(36);
  std::size_t refused = 0;
  std::size_t kept = 0;
  for (int i = 0; i < 120; ++i) {
    const UnitTasks tasks = random_tasks(random, 7);
    const CertificateFiles files = gap_certificate(tasks, naive_schedule(tasks));
    const Json said = Json::parse(files.at("schedule.json"));
    const Json bound = Json::parse(files.at("bound.json"));
    if (!bound.contains("least")) continue;
    const std::int64_t least = bound["least"];
    for (const auto& change : changes_by_one(said)) {
      const bool accepted = after(files, "schedule.json", change) == Verdict::Accepted;
      Json changed = said;
      change(changed);
      if (accepted) CHECK_MESSAGE(is_true(changed, least), changed.dump());
      (accepted ? kept : refused) += 1;
    }
    const auto says = [&](std::int64_t number) {
      return after(files, "bound.json", [&](Json& json) { json["least"] = number; });
    };
    CHECK(says(least) == Verdict::Accepted);
    CHECK(says(least - 1) == Verdict::Accepted);
    CHECK(says(least + 1) == Verdict::Rejected);
    CHECK(says(said["makespan"]) == Verdict::Rejected);
    for (std::size_t left_out = 0; left_out < bound["tasks"].size(); ++left_out) {
      CHECK(after(files, "bound.json", [&](Json& json) { json["tasks"].erase(left_out); }) !=
            Verdict::Accepted);
    }
  }
  CHECK(refused > 1000);
  CHECK(kept > 500);
}

TEST_CASE("the claims of a shortest schedule and of a gap do not take each other's bounds") {
  const UnitTasks tasks{{3, {0, 1}, {0}}, {2, {0, 1}, {1}}, {2, {0, 1}, {2}}};
  CertificateFiles best = certificate(tasks);
  CertificateFiles longer = gap_certificate(tasks, naive_schedule(tasks));
  REQUIRE(check_certificate(best).verdict == Verdict::Accepted);
  REQUIRE(check_certificate(longer).verdict == Verdict::Accepted);
  add_manifest("reshard-schedule-gap", {}, best);
  CHECK(check_certificate(best).verdict == Verdict::NotACertificate);
  add_manifest("reshard-schedule", {}, longer);
  CHECK(check_certificate(longer).verdict == Verdict::NotACertificate);
  add_manifest("reshard-schedule-clauses", {}, longer);
  CHECK(check_certificate(longer).verdict == Verdict::NotACertificate);
}
