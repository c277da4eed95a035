#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "engine/program/program.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/kernel/cost.h"
#include "tests/proofs/certificates.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Classes = std::vector<Group>;
using Judged = kernel::Verdict;

ProgramFile bare(const std::string& text, const Classes& classes) {
  std::uint32_t devices = 0;
  for (const Group& members : classes) devices += static_cast<std::uint32_t>(members.size());
  TextCursor cursor("program", text);
  return {{devices, classes, parse_steps(cursor, devices, nullptr)}, std::nullopt};
}

CertificateFiles certify_cheapest(const Classes& classes, const std::vector<std::string>& programs,
                                  const std::vector<Uplink>& uplinks = {},
                                  const std::string& among = "all") {
  CheapestClaim claim;
  claim.classes = classes;
  claim.uplinks = uplinks;
  claim.among = among;
  for (const std::string& text : programs) claim.programs.push_back(bare(text, classes));
  claim.devices = claim.programs.at(0).program.devices;
  return cheapest_certificate(claim, {});
}

kernel::Result judge(const Classes& classes, const std::vector<std::string>& programs,
                     const std::vector<Uplink>& uplinks = {}, const std::string& among = "all") {
  return check_certificate(certify_cheapest(classes, programs, uplinks, among));
}

/// A step leads to where less is left to pay than the potential says.
const char* const kNotLeast = "a potential is above step and potential after it";
const Classes kFour = {{0, 1, 2, 3}};
const Classes kTwoPairs = {{0, 1}, {2, 3}};
const char* const kBest = "ReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}";

}  // namespace

TEST_CASE("a program that is the cheapest is accepted, with and without shared links") {
  const kernel::Result result = judge(kFour, {kBest});
  CHECK(result.reason.starts_with(
      "no program over any disjoint groups costs less than the listed ones, all, of 4 rounds and "
      "3/2 buffers (4 devices, reduction classes {0,1,2,3}, dialect published, uplinks []), "
      "claim "));
  CHECK(judge(kFour, {kBest}, {{2, 10}}).verdict == Judged::Accepted);
  CHECK(judge(kTwoPairs, {"AllReduce{0,1},{2,3}"}, {{2, 10}}, "unmixed").verdict ==
        Judged::Accepted);
  // It takes two to be the cheapest on five devices.
  const Classes five = {{0, 1, 2, 3, 4}};
  const std::string tree = "Reduce{0,1},{2,3}; AllReduce{0,2,4}; Broadcast{0,1},{2,3}";
  CHECK(judge(five, {tree, "AllReduce{0,1,2,3,4}"}).verdict == Judged::Accepted);
  CHECK(judge(five, {tree}).reason == kNotLeast);
  CHECK(judge(five, {"AllReduce{0,1,2,3,4}"}).reason == kNotLeast);
}

TEST_CASE("what is not the cheapest for some α : β is rejected") {
  CHECK(judge(kFour, {"AllReduce{0,1,2,3}"}).reason == kNotLeast);
  CHECK(judge(kFour, {"Reduce{0,1,2,3}; Broadcast{0,1,2,3}"}).reason == kNotLeast);
  // The other way round the slow links are used more.
  const std::string across = "ReduceScatter{0,2},{1,3}; AllReduce{0,1},{2,3}; AllGather{0,2},{1,3}";
  CHECK(judge(kFour, {across}).verdict == Judged::Accepted);
  CHECK(judge(kFour, {across}, {{2, 10}}).reason == kNotLeast);
}

TEST_CASE("a listed program has to be what is said of it") {
  const auto reason = [](const Classes& classes, const std::string& program,
                         const std::string& among) {
    return judge(classes, {program}, {}, among).reason;
  };
  CHECK(reason(kFour, "AllReduce{0,1},{2,3}", "all") == "program 0: the goal is not reached");
  CHECK(reason(kFour, "AllReduce{0,1,2,3}; Reduce{0,1}", "all") ==
        "program 0: steps after the goal");
  CHECK(reason(kFour, "AllGather{0,1,2,3}", "all") == "program 0: a step is not legal");
  CHECK(reason(kFour, kBest, "hierarchies") == "program 0: it has bare groups");
  CHECK(reason(kTwoPairs, "Reduce{2,3}; Broadcast{1,3}; Reduce{0,3}; Broadcast{0,1},{2,3}",
               "unmixed") == "program 0: it mixes classes");
  CHECK(reason(kFour, kBest, "any") == "among is unknown");
  // Three devices take longer for α, two that hold more for β.
  CHECK(reason({{0, 1, 2}, {3, 4}}, "ReduceScatter{0,1,2}; AllReduce{0,1},{3,4}; AllGather{0,1,2}",
               "all") == "program 0: a step is not legal");
}

TEST_CASE("a cheapest certificate with another claim and right hashes is not accepted") {
  const CertificateFiles files = certify_cheapest(kFour, {kBest}, {{2, 10}});
  CHECK(claim_of(files) == "cheapest");
  struct Forgery {
    const char* key;
    json value;
    Judged verdict;
    const char* reason;
  };
  const json program = json::parse(files.at("problem.json"))["programs"][0];
  json other = program;
  other["classes"] = {{0, 1}, {2, 3}};
  json printed = program;
  printed["dialect"] = "printed";
  const Forgery forgeries[] = {
      {"uplinks",
       {{3, 10}},
       Judged::Rejected,
       "the potential of the first state is below the least listed cost"},
      {"uplinks", {{0, 10}}, Judged::NotACertificate, "an uplink is not [span, slowdown]"},
      {"uplinks", {{2, 10, 3}}, Judged::NotACertificate, "an uplink is not [span, slowdown]"},
      {"classes", {{0, 1}, {2, 3}}, Judged::Rejected, "program 0: it is for a different system"},
      {"dialect", "printed", Judged::Rejected, "program 0: it is for a different system"},
      {"programs", json::array(), Judged::NotACertificate, "there are no programs"},
      {"programs", {other}, Judged::Rejected, "program 0: it is for a different system"},
      {"programs", {printed}, Judged::Rejected, "program 0: it is for a different system"},
      {"among", "hierarchies", Judged::Rejected, "program 0: it has bare groups"},
      {"devices", 5, Judged::Rejected, "a device is in no class"},
      {"size", 3, Judged::NotACertificate, "an object with the keys"}};
  for (const Forgery& forgery : forgeries) {
    CAPTURE(forgery.key);
    const kernel::Result result = check_changed(files, forgery.key, forgery.value);
    CHECK(word(result.verdict) == word(forgery.verdict));
    CHECK_MESSAGE(result.reason.find(forgery.reason) != std::string::npos, result.reason);
  }
  const Classes seven = {{0, 1, 2, 3, 4, 5, 6}};
  CHECK_THROWS_AS(certify_cheapest(seven, {"AllReduce{0,1,2,3,4,5,6}"}), LimitReached);
  CertificateFiles large = files;
  json problem = json::parse(files.at("problem.json"));
  problem["devices"] = 7;
  problem["classes"] = seven;
  problem["programs"] =
      json::array({json::object({{"devices", 7},
                                 {"classes", seven},
                                 {"dialect", "published"},
                                 {"steps", {{{"collective", "AllReduce"}, {"groups", seven}}}}})});
  large["problem.json"] = problem.dump();
  reseal("cheapest", large);
  CHECK(check_certificate(large).verdict == Judged::Incomplete);
}

namespace {

using Classes = std::vector<Group>;

/// What the rules leave of one moment, for the checker and for the brute force.
kernel::Holdings holdings_of(const brute_force::Matrices& state) {
  kernel::Holdings holdings;
  for (const auto& device : state) {
    for (const std::uint64_t row : device) holdings.push_back(static_cast<char16_t>(row));
  }
  return holdings;
}

brute_force::Matrices initial_matrices(std::uint32_t devices) {
  brute_force::Matrices state;
  for (std::uint32_t d = 0; d < devices; ++d) {
    state.emplace_back(devices, std::uint64_t{1} << d);
  }
  return state;
}

kernel::PricedSystem priced(const Classes& classes, std::uint32_t devices, const json& uplinks) {
  kernel::Problem problem;
  problem.devices = devices;
  problem.classes = classes;
  return {problem, uplinks};
}

/// The first `most` states that some steps lead to, all if they are fewer; and the least rounds and
/// bytes from there to the goal through them, by relaxation, without any bound.
class Everything {
 public:
  Everything(const Classes& classes, std::uint32_t devices, const json& uplinks, std::size_t most)
      : system_(priced(classes, devices, uplinks)), moves_(claims::all_bare_moves(devices)) {
    reach(initial_matrices(devices));
    for (std::size_t i = 0; i < std::min(states_.size(), most); ++i) expand(i);
    next_.resize(states_.size());
    least_.assign(states_.size(), {kNone, kNone, kNone, kNone, kNone});
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < states_.size(); ++i) changed = improve(i) || changed;
    }
  }

  std::size_t size() const { return states_.size(); }
  /// From how many of them there is a way to the goal.
  std::size_t ways() const {
    return static_cast<std::size_t>(std::count_if(
        least_.begin(), least_.end(), [](const auto& least) { return least[0] != kNone; }));
  }
  std::size_t differences() const { return differences_; }

  /// How often the bound is above what the rest really takes, or says that there is no way where
  /// there is one.
  std::size_t bounds_that_are_too_high() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const kernel::Holdings holdings = holdings_of(states_[i]);
      for (std::size_t which = 0; which < kRatios.size(); ++which) {
        if (least_[i][which] == kNone) continue;
        const auto bound = system_.least(holdings, kRatios[which]);
        if (!bound || *bound > least_[i][which]) ++wrong;
      }
    }
    return wrong;
  }

 private:
  static constexpr kernel::Amount kNone = INT64_MAX / 2;
  /// A chunk has 6 parts for three devices, 60 for five.
  static constexpr std::array<kernel::Ratio, 5> kRatios = {
      {{1, 0}, {0, 1}, {3, 1}, {12, 1}, {70, 1}}};
  using Prices = std::array<kernel::Amount, kRatios.size()>;

  struct Transition {
    std::size_t to = 0;
    Prices prices = {};
  };

  std::size_t reach(const brute_force::Matrices& state) {
    const auto [found, is_new] = numbers_.emplace(state, states_.size());
    if (is_new) states_.push_back(state);
    return found->second;
  }

  static kernel::Step step_of(const claims::BareMove& move) {
    kernel::Step step;
    step.collective = to_string(move.collective);
    step.groups = move.groups;
    return step;
  }

  void expand(std::size_t number) {
    next_.emplace_back();
    const brute_force::Matrices state = states_[number];
    for (const claims::BareMove& move : moves_) {
      brute_force::Matrices after = state;
      const bool legal =
          std::all_of(move.groups.begin(), move.groups.end(), [&](const Group& group) {
            const bool empty = std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
              return state[device] == std::vector<std::uint64_t>(state.size(), 0);
            });
            return !empty && brute_force::apply(move.collective, group, after);
          });
      kernel::Holdings holdings = holdings_of(state);
      const auto charges = system_.take(step_of(move), holdings);
      if (charges.has_value() != legal || (legal && holdings != holdings_of(after))) ++differences_;
      if (!legal || !charges) continue;
      Transition way{reach(after)};
      for (const kernel::Charge& charge : *charges) {
        for (std::size_t i = 0; i < kRatios.size(); ++i) {
          way.prices[i] = std::max(way.prices[i], kRatios[i].price(charge));
        }
      }
      next_[number].push_back(way);
    }
  }

  bool improve(std::size_t number) {
    Prices& least = least_[number];
    const Prices before = least;
    if (holdings_of(states_[number]) == system_.goal) least = {};
    for (const Transition& way : next_[number]) {
      for (std::size_t i = 0; i < kRatios.size(); ++i) {
        least[i] = std::min(least[i], way.prices[i] + least_[way.to][i]);
      }
    }
    return least != before;
  }

  kernel::PricedSystem system_;
  std::vector<claims::BareMove> moves_;
  std::map<brute_force::Matrices, std::size_t> numbers_;
  std::vector<brute_force::Matrices> states_;
  std::vector<std::vector<Transition>> next_;
  std::vector<Prices> least_;
  std::size_t differences_ = 0;
};

}  // namespace

TEST_CASE("the checker's compact rules, and its bounds, against all states of three devices") {
  for (const Classes& classes : {Classes{{0, 1, 2}}, Classes{{0, 1}, {2}}, Classes{{0, 2}, {1}}}) {
    const Everything all(classes, 3, json::array(), 100'000);
    CHECK(all.ways() > 2);
    CHECK(all.differences() == 0);
    CHECK(all.bounds_that_are_too_high() == 0);
  }
}

TEST_CASE("the same on the first states of four and five devices, also with shared links") {
  const json alone = json::array();
  const json nodes = json::parse("[[2,10]]");
  for (const Classes& classes :
       {kFour, kTwoPairs, Classes{{0, 3}, {1, 2}}, Classes{{0, 1, 2}, {3}}}) {
    for (const json& uplinks : {alone, nodes}) {
      const Everything all(classes, 4, uplinks, 3'000);
      CHECK(all.ways() > 10);
      CHECK(all.differences() == 0);
      CHECK(all.bounds_that_are_too_high() == 0);
    }
  }
  const Everything five({{0, 1, 2, 3, 4}}, 5, alone, 300);
  CHECK(five.ways() > 10);
  CHECK(five.differences() == 0);
  CHECK(five.bounds_that_are_too_high() == 0);
}

namespace {

/// The certificate of the best program on four devices in two nodes with another potential.json.
kernel::Result judge_potential(const std::function<void(json&)>& change) {
  static const CertificateFiles kFiles = certify_cheapest(kFour, {kBest}, {{2, 10}});
  CertificateFiles files = kFiles;
  json potential = json::parse(files.at("potential.json"));
  change(potential);
  files["potential.json"] = potential.dump();
  reseal("cheapest", files);
  return check_certificate(files);
}

}  // namespace

TEST_CASE("a potential is believed where every step agrees with it, and nowhere else") {
  CHECK(judge_potential([](json&) {}).verdict == Judged::Accepted);
  std::size_t states = 0, accepted = 0, needed = 0;
  judge_potential([&](json& potential) { states = potential["states"].size(); });
  REQUIRE(states > 10);
  for (std::size_t i = 0; i < states; ++i) {
    for (std::size_t ratio = 0; ratio < 2; ++ratio) {
      const auto with = [&](auto value) {
        return judge_potential([&](json& potential) {
          json& place = potential["ratios"][ratio]["potential"][i];
          place = value(place.template get<std::int64_t>());
        });
      };
      // A state from which there is a way to the goal has one that costs less than that.
      accepted +=
          with([](std::int64_t) { return std::int64_t{1} << 60; }).verdict == Judged::Accepted;
      needed += with([](std::int64_t) { return std::int64_t{0}; }).verdict == Judged::Rejected;
    }
  }
  CHECK(accepted == 0);
  CHECK(needed > states / 2);
  const auto reason = [](const std::function<void(json&)>& change) {
    return judge_potential(change).reason;
  };
  CHECK(reason([](json& p) { p["ratios"].erase(0); }) == "ratios mismatch");
  CHECK(reason([](json& p) { p["ratios"][1]["alpha"] = 2; }) == "ratios mismatch");
  CHECK(reason([](json& p) { std::swap(p["ratios"][0], p["ratios"][1]); }) == "ratios mismatch");
  CHECK(reason([](json& p) { p["ratios"][0]["potential"].push_back(1); }) ==
        "not every state has a potential");
  CHECK(reason([](json& p) { p["states"][1] = p["states"][0]; }) == "duplicate state");
  CHECK(reason([](json& p) { p["states"][0].push_back(1); }) ==
        "a state does not have a number for every chunk");
  CHECK(reason([](json& p) { p["states"][0] = std::vector<int>(16, 15); }) ==
        "the goal has a potential");
  CHECK(reason([](json& p) {
          for (json& ratio : p["ratios"]) {
            for (json& value : ratio["potential"]) value = 0;
          }
        }) == "the potential of the first state is below the least listed cost");
}
