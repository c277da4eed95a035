#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "encodings/cnf/queries.h"
#include "engine/reshard/scheduling.h"
#include "proofs/kernel/certificate.h"
#include "tests/reshard/instances.h"

using namespace p2;
using kernel::Verdict;

TEST_CASE("p2-check accepts the certificates of random tasks, by bounds and by clauses") {
  std::mt19937_64 random(31);
  int searched = 0;
  for (int i = 0; i < 400; ++i) {
    const UnitTasks tasks = random_tasks(random, 9);
    const CertificateFiles files = certificate(tasks);
    const kernel::Result result = check_certificate(files);
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
    if (!files.contains("bound.json")) ++searched;
  }
  CHECK(searched > 0);
}

TEST_CASE("clauses say the same as the search, also where a bound would do") {
  std::mt19937_64 random(32);
  for (int i = 0; i < 300; ++i) {
    const UnitTasks tasks = random_tasks(random, 7);
    const TaskSchedule best = solve(tasks).schedule;
    const kernel::Result result = check_certificate(by_clauses(tasks, best));
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
    CHECK(cnf::refute_shorter_schedule(tasks, best.makespan + 1, {}).outcome == Outcome::Refuted);
  }
}

TEST_CASE("the example of docs/certificates.md is accepted") {
  CertificateFiles files = {
      {"schedule.json",
       R"({"tasks":[{"size":3,"sender_hosts":[0,1],"receiver_hosts":[0],"sender":0,"start":0},
                    {"size":2,"sender_hosts":[0,1],"receiver_hosts":[1],"sender":1,"start":0},
                    {"size":2,"sender_hosts":[0,1],"receiver_hosts":[2],"sender":1,"start":2}],
           "makespan":4})"},
      {"bound.json", R"({"tasks":[0,1,2],"senders":[0,1]})"}};
  add_manifest("reshard-schedule", {}, files);
  const kernel::Result result = check_certificate(files);
  CHECK(result.reason.starts_with(
      "no schedule of the 3 tasks is shorter than 4, this one takes 4 (3 from 0,1 to 0; 2 from 0,1 "
      "to 1; 2 from 0,1 to 2), claim "));
}

using Value = nlohmann::json;

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
    CHECK(result.reason.starts_with("no schedule of the " + std::to_string(tasks.size()) + " task" +
                                    (tasks.size() == 1 ? "" : "s") + " is shorter than " +
                                    bound["least"].dump() + ", this one takes " +
                                    std::to_string(naive.makespan) + " ("));
    CHECK(result.verdict == Verdict::Accepted);
    CHECK(after(files, "bound.json", [](auto& value) { value.erase("least"); }) ==
          Verdict::Rejected);
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
    const Value said = Value::parse(files.at("schedule.json"));
    const Value bound = Value::parse(files.at("bound.json"));
    if (!bound.contains("least")) continue;
    const std::int64_t least = bound["least"];
    for (const auto& change : changes_by_one(said)) {
      const bool accepted = after(files, "schedule.json", change) == Verdict::Accepted;
      Value changed = said;
      change(changed);
      if (accepted) CHECK_MESSAGE(is_true(changed, least), changed.dump());
      (accepted ? kept : refused) += 1;
    }
    const auto says = [&](std::int64_t number) {
      return after(files, "bound.json", [&](Value& value) { value["least"] = number; });
    };
    CHECK(says(least) == Verdict::Accepted);
    CHECK(says(least - 1) == Verdict::Accepted);
    CHECK(says(least + 1) == Verdict::Rejected);
    CHECK(says(said["makespan"]) == Verdict::Rejected);
    for (std::size_t left_out = 0; left_out < bound["tasks"].size(); ++left_out) {
      CHECK(after(files, "bound.json", [&](Value& value) { value["tasks"].erase(left_out); }) !=
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

TEST_CASE("a schedule one unit longer is rejected, whatever it is said to take") {
  std::mt19937_64 random(33);
  for (int i = 0; i < 300; ++i) {
    const CertificateFiles files = certificate(random_tasks(random, 7));
    const Value said = Value::parse(files.at("schedule.json"));
    const int makespan = said["makespan"];
    std::size_t last = 0;
    while (said["tasks"][last]["start"].get<int>() + said["tasks"][last]["size"].get<int>() <
           makespan) {
      ++last;
    }
    const auto delay = [&](Value& value) {
      value["tasks"][last]["start"] = value["tasks"][last]["start"].get<int>() + 1;
    };
    CHECK(after(files, "schedule.json", delay) == Verdict::Rejected);
    CHECK(after(files, "schedule.json", [&](Value& value) {
            delay(value);
            value["makespan"] = makespan + 1;
          }) == Verdict::Rejected);
    CHECK(after(files, "schedule.json", [&](Value& value) { value["makespan"] = makespan + 1; }) ==
          Verdict::Rejected);
  }
}

TEST_CASE("no number of a schedule or its tasks can be changed without the claim staying true") {
  std::mt19937_64 random(34);
  std::vector<UnitTasks> all{kSearched};
  for (int i = 0; i < 120; ++i) all.push_back(random_tasks(random, 6));
  std::size_t refused = 0;
  std::size_t kept = 0;
  for (const UnitTasks& tasks : all) {
    const CertificateFiles files = certificate(tasks);
    const Value said = Value::parse(files.at("schedule.json"));
    for (const auto& change : changes_by_one(said)) {
      const bool accepted = after(files, "schedule.json", change) == Verdict::Accepted;
      Value changed = said;
      change(changed);
      if (accepted) CHECK_MESSAGE(is_true(changed), changed.dump());
      (accepted ? kept : refused) += 1;
    }
  }
  CHECK(refused > 1000);
  CHECK(kept > 0);
}

TEST_CASE("a refutation with a clause, literal or step changed is rejected or still one") {
  const CertificateFiles files = certificate(kSearched);
  REQUIRE(files.contains("problem.cnf"));
  REQUIRE(check_certificate(files).verdict == Verdict::Accepted);
  for (const char* name : {"problem.cnf", "proof.lrat"}) {
    std::size_t refused = 0;
    const std::string& text = files.at(name);
    for (std::size_t at = 0; at < text.size(); ++at) {
      CertificateFiles changed = files;
      if (text[at] < '0' || text[at] > '9') continue;
      changed[name][at] = text[at] == '9' ? '1' : static_cast<char>(text[at] + 1);
      add_manifest("reshard-schedule-clauses", {}, changed);
      refused += check_certificate(changed).verdict != Verdict::Accepted;
    }
    CHECK(refused > text.size() / 4);
    // The same refutation for a bound that does not hold.
    CertificateFiles other = files;
    other[name] = certificate({{1, {0}, {0}}, {1, {0}, {1}}, {1, {0}, {2}}}).begin()->second;
    add_manifest("reshard-schedule-clauses", {}, other);
    CHECK(check_certificate(other).verdict != Verdict::Accepted);
  }
}

TEST_CASE("evidence that says too little is rejected, and what has no form is no certificate") {
  const UnitTasks tasks{{3, {0, 1}, {0}}, {2, {0, 1}, {1}}, {2, {0, 1}, {2}}, {1, {2}, {3}}};
  const CertificateFiles files = certificate(tasks);
  REQUIRE(check_certificate(files).verdict == Verdict::Accepted);
  const auto bound = [&](const char* text) {
    return after(files, "bound.json", [&](Value& value) { value = Value::parse(text); });
  };
  CHECK(bound(R"({"tasks":[0,1,2],"senders":[0,1]})") == Verdict::Accepted);
  CHECK(bound(R"({"tasks":[0,1],"senders":[0,1]})") == Verdict::Rejected);
  CHECK(bound(R"({"tasks":[0,1,2],"senders":[0,1,2]})") == Verdict::Rejected);
  CHECK(bound(R"({"tasks":[0,1,2],"senders":[0]})") == Verdict::Rejected);
  CHECK(bound(R"({"tasks":[0,1,2,3],"senders":[0,1]})") == Verdict::Rejected);
  CHECK(bound(R"({"tasks":[0,1,2],"senders":[]})") == Verdict::Rejected);
  CHECK(bound(R"({"tasks":[0,1,1,2],"senders":[0,1]})") == Verdict::NotACertificate);
  CHECK(bound(R"({"tasks":[0,1,4],"senders":[0,1]})") == Verdict::NotACertificate);
  CHECK(bound(R"({"tasks":[],"senders":[0,1]})") == Verdict::NotACertificate);
  CHECK(bound(R"({"tasks":[0,1,2]})") == Verdict::NotACertificate);
  const auto schedule = [&](const std::function<void(Value&)>& change) {
    return after(files, "schedule.json", change);
  };
  CHECK(schedule([](Value& value) { value["tasks"][0].erase("start"); }) ==
        Verdict::NotACertificate);
  CHECK(schedule([](Value& value) { value["tasks"][0]["size"] = -1; }) == Verdict::NotACertificate);
  CHECK(schedule([](Value& value) {
          value["tasks"][0]["sender_hosts"] = {1, 0};
        }) == Verdict::NotACertificate);
  CHECK(schedule([](Value& value) { value["makespan"] = std::int64_t{1} << 42; }) ==
        Verdict::NotACertificate);
  CHECK(schedule([](Value& value) { value["tasks"][0]["start"] = (std::int64_t{1} << 42) - 1; }) ==
        Verdict::Rejected);
}
