// p2-check's complete lists in dialect printed against the explicit engine: what is not the exact
// list must not be accepted, and the exact one is.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/symbolic/all_sizes.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;
using namespace p2::proofs;

namespace {

using Programs = std::vector<std::vector<std::uint32_t>>;

/// By the explicit engine.
struct Listed {
  Listed(const Instance& of, std::uint32_t steps) : instance(of), size(steps) {
    const NamedProblem named = make_problem(instance, Dialect::Printed);
    for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
      choices.push_back(
          {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
    }
    ProgramList(named.problem, size, {}).for_each([&](std::span<const std::uint32_t> moves) {
      programs.emplace_back(moves.begin(), moves.end());
    });
    std::ranges::sort(programs);
  }
  kernel::Result judge(const Programs& listed) const {
    return check_certificate(large_sizes_certificate(instance, choices, listed, size, {}));
  }

  Instance instance;
  std::uint32_t size;
  std::vector<Step> choices;
  Programs programs;
};

struct Counts {
  std::size_t lists = 0, accepted = 0, programs = 0, forged = 0;

  void compare(const Listed& list) {
    const kernel::Result result = list.judge(list.programs);
    CAPTURE(result.reason);
    CHECK((result.verdict == kernel::Verdict::Accepted ||
           result.reason.find("tables do not decide") != std::string::npos));
    ++lists;
    accepted += result.verdict == kernel::Verdict::Accepted ? 1 : 0;
    programs += list.programs.size();
  }

  /// One program is left out, or replaced, each in turn, or about so many.
  void forge(const Listed& list, std::size_t at_most) {
    const std::size_t apart = 1 + list.programs.size() / at_most;
    for (std::size_t i = lists % apart; i < list.programs.size(); i += apart) {
      Programs fewer = list.programs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(list.judge(fewer).verdict == kernel::Verdict::Rejected);
      Programs other = list.programs;
      other[i].push_back(0);  // goes on after the goal
      CHECK(list.judge(other).verdict == kernel::Verdict::Rejected);
      ++forged;
    }
  }
};

}  // namespace

TEST_CASE("complete lists of large sizes are the explicit ones: all systems of 2 to 8 devices") {
  Counts counts;
  std::set<Problem> known;
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const NamedProblem named = make_problem(instance, dialect);
      if (dialect != Dialect::Printed || !known.insert(named.problem).second) return;
      const Listed list(instance, 3);
      CAPTURE(to_string(instance.grid.placement()));
      counts.compare(list);
      counts.forge(list, 6);
      counts.compare(Listed(instance, 4));
    });
  }
  MESSAGE(counts.accepted << " of " << counts.lists << " lists, " << counts.programs
                          << " programs, " << counts.forged << " forged");
  CHECK(counts.accepted == counts.lists);
  CHECK(counts.lists > 100);
  CHECK(counts.programs > 10000);
  CHECK(counts.forged > 400);
}

TEST_CASE("complete lists of large sizes are the explicit ones: unequal and prime sizes") {
  Counts counts;
  for (const auto& [hierarchy, placement] :
       {std::pair{"2,3,2", "[[2 3 2]]"}, std::pair{"3,2,5", "[[3 2 5]]"},
        std::pair{"7,6", "[[7 6]]"}, std::pair{"11,5", "[[11 5]]"}, std::pair{"4,3", "[[4 3]]"},
        std::pair{"2,4", "[[2 4]]"}, std::pair{"2,5,3", "[[2 5 3]]"}, std::pair{"8,8", "[[8 8]]"},
        std::pair{"13", "[[13]]"}}) {
    const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
    for (const HierarchyKind kind : {HierarchyKind::Lattice, HierarchyKind::Reduction}) {
      const Instance instance = instance_of(hierarchy, axes.c_str(), "0", placement, kind);
      CAPTURE(hierarchy);
      const Listed list(instance, 4);
      counts.compare(list);
      counts.forge(list, 4);
    }
  }
  MESSAGE(counts.accepted << " of " << counts.lists << " lists, " << counts.programs
                          << " programs, " << counts.forged << " forged");
  CHECK(counts.accepted == counts.lists);
  CHECK(counts.programs > 5000);
  CHECK(counts.forged > 40);
}

TEST_CASE("lists of large sizes that are not all the valid programs, each once, are rejected") {
  const Listed list(instance_of("2,3", "6", "0", "[[2 3]]", HierarchyKind::Lattice), 3);
  const auto rejects = [&](const Programs& programs, const char* reason) {
    const kernel::Result result = list.judge(programs);
    CAPTURE(result.reason);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK(result.reason.find(reason) != std::string::npos);
  };
  for (std::size_t i = 0; i < list.programs.size(); ++i) {
    Programs twice = list.programs;
    twice.push_back(list.programs[i]);
    const bool is_last = i + 1 == list.programs.size();
    rejects(twice, is_last ? "has one that is not valid" : "is another, or is missing");
  }
  // Every sequence of one or two choices that is not valid.
  for (std::uint32_t first = 0; first < list.choices.size(); ++first) {
    for (std::uint32_t second = 0; second < list.choices.size(); ++second) {
      for (const auto& program : {std::vector{first}, std::vector{first, second}}) {
        if (std::ranges::count(list.programs, program) > 0) continue;
        Programs more = list.programs;
        more.push_back(program);
        CHECK(list.judge(more).verdict == kernel::Verdict::Rejected);
      }
    }
  }
  rejects({}, "is another, or is missing");

  const CertificateFiles files =
      large_sizes_certificate(list.instance, list.choices, list.programs, 3, {});
  const json problem = json::parse(files.at("problem.json"));
  const auto changed = [&](const std::string& key, const json& value) {
    return check_changed(files, key, value);
  };
  CHECK(check_certificate(files).verdict == kernel::Verdict::Accepted);
  CHECK(changed("size", 2).verdict == kernel::Verdict::Rejected);
  CHECK(changed("size", 4).reason.find("is another, or is missing") != std::string::npos);
  CHECK(changed("size", 65).verdict == kernel::Verdict::NotACertificate);
  CHECK(changed("dialect", "printed").verdict == kernel::Verdict::NotACertificate);
  json fewer = problem["choices"];
  fewer.erase(fewer.size() - 1);
  CHECK(changed("choices", fewer).verdict != kernel::Verdict::Accepted);
  json twice = problem["choices"];
  twice.push_back(twice[0]);
  CHECK(changed("choices", twice).reason.find("choices has one twice") != std::string::npos);
  CHECK(changed("synthesis_hierarchy", "collapsed").verdict != kernel::Verdict::Accepted);

  // In dialect published most choices of pinned groups are none, and there are fewer programs.
  CertificateFiles published = files;
  std::string& manifest = published["manifest.json"];
  const std::size_t at = manifest.find("large-sizes");
  REQUIRE(at != std::string::npos);
  manifest.replace(at, 5, "all");
  CHECK(check_changed(published, "size", 3).reason.find("not allowed with Master") !=
        std::string::npos);
  Programs without_pinned;
  for (const auto& program : list.programs) {
    const bool pins = std::ranges::any_of(program, [&](std::uint32_t choice) {
      return list.choices[choice].shape->pattern.pinned != 0 &&
             list.choices[choice].collective != Collective::AllReduce;
    });
    if (!pins) without_pinned.push_back(program);
  }
  CHECK(without_pinned.size() < list.programs.size());
  rejects(without_pinned, "is another, or is missing");
}

TEST_CASE("a list on 65536 devices in printed takes 20 bytes for a program") {
  const Instance instance = instance_of("16,16,16,16", "65536", "0", "[[16 16 16 16]]");
  const NamedProblem named = make_problem(instance, Dialect::Printed);
  std::vector<Step> choices;
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    choices.push_back(
        {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  Programs programs;
  const auto found = bracketed_programs(named.problem, 4, {});
  REQUIRE(found);
  found->for_each([&](std::span<const std::uint32_t> moves) {
    programs.emplace_back(moves.begin(), moves.end());
  });
  CHECK(programs.size() == 1054);
  const CertificateFiles files = large_sizes_certificate(instance, choices, programs, 4, {});
  CHECK(files.at("problem.json").size() < 20 * programs.size());
  const kernel::Result result = check_certificate(files);
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.find("where those from 5 on are any others from 5 on, by tables") !=
        std::string::npos);
  programs.erase(programs.begin() + 500);
  CHECK(check_certificate(large_sizes_certificate(instance, choices, programs, 4, {})).verdict ==
        kernel::Verdict::Rejected);
}
