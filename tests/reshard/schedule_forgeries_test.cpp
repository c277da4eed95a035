#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/reshard/schedule_certificates.h"

using namespace p2;
using Json = nlohmann::json;
using kernel::Verdict;

TEST_CASE("a schedule one unit longer is rejected, whatever it is said to take") {
  std::mt19937_64 random(33);
  for (int i = 0; i < 300; ++i) {
    const CertificateFiles files = certificate(random_tasks(random, 7));
    const Json said = Json::parse(files.at("schedule.json"));
    const int makespan = said["makespan"];
    std::size_t last = 0;
    while (said["tasks"][last]["start"].get<int>() + said["tasks"][last]["size"].get<int>() <
           makespan) {
      ++last;
    }
    const auto delay = [&](Json& json) {
      json["tasks"][last]["start"] = json["tasks"][last]["start"].get<int>() + 1;
    };
    CHECK(after(files, "schedule.json", delay) == Verdict::Rejected);
    CHECK(after(files, "schedule.json", [&](Json& json) {
            delay(json);
            json["makespan"] = makespan + 1;
          }) == Verdict::Rejected);
    CHECK(after(files, "schedule.json", [&](Json& json) { json["makespan"] = makespan + 1; }) ==
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
    const Json said = Json::parse(files.at("schedule.json"));
    for (const auto& change : changes_by_one(said)) {
      const bool accepted = after(files, "schedule.json", change) == Verdict::Accepted;
      Json changed = said;
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
    return after(files, "bound.json", [&](Json& json) { json = Json::parse(text); });
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
  const auto schedule = [&](const std::function<void(Json&)>& change) {
    return after(files, "schedule.json", change);
  };
  CHECK(schedule([](Json& json) { json["tasks"][0].erase("start"); }) == Verdict::NotACertificate);
  CHECK(schedule([](Json& json) { json["tasks"][0]["size"] = -1; }) == Verdict::NotACertificate);
  CHECK(schedule([](Json& json) {
          json["tasks"][0]["sender_hosts"] = {1, 0};
        }) == Verdict::NotACertificate);
  CHECK(schedule([](Json& json) { json["makespan"] = std::int64_t{1} << 42; }) ==
        Verdict::NotACertificate);
  CHECK(schedule([](Json& json) { json["tasks"][0]["start"] = (std::int64_t{1} << 42) - 1; }) ==
        Verdict::Rejected);
}
