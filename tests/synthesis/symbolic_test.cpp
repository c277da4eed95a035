// The engines whose cost does not depend on sizes against the explicit one. P2_SYMBOLIC_DEVICES is
// the largest system of which everything is tried: a few devices in every ctest, 16 in the
// campaign.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/symbolic/all_sizes.h"
#include "engine/program/symbolic/chunk_tables.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/symbolic/machine.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;

namespace {

constexpr std::uint32_t kAllValues = UINT32_MAX;
constexpr bool kCampaign = P2_SYMBOLIC_DEVICES > 8;

using Programs = std::vector<std::vector<std::uint32_t>>;

Programs programs_of(const ProgramList& list) {
  Programs all;
  list.for_each(
      [&](std::span<const std::uint32_t> moves) { all.emplace_back(moves.begin(), moves.end()); });
  return all;
}

template <typename Domain>
Programs programs_of(Domain domain, const Problem& problem, std::uint32_t size) {
  return programs_of(
      ProgramList(explore(domain, problem.moves.size(), size, {}, nullptr), SearchEngine::Bracket));
}

std::string described(const Problem& problem) {
  std::string text = "sizes";
  for (const Factor& factor : problem.factors) text += " " + std::to_string(factor.size);
  text += ", reduction " + std::to_string(problem.reduction) + ", moves";
  for (const Move& move : problem.moves) {
    text += " " + std::to_string(move.pattern.reduced) + "/" + std::to_string(move.pattern.pinned) +
            "/" + std::to_string(static_cast<int>(move.collective));
  }
  return text;
}

/// All engines list the same programs in the same order.
void compare(const Problem& problem, std::uint32_t size) {
  CAPTURE(described(problem));
  const Programs expected = programs_of(ProgramList(problem, size, {}));
  CHECK(programs_of(TwoChunks(problem), problem, size) == expected);
  CHECK(programs_of(ChunkTables(problem, kAllValues), problem, size) == expected);
  CHECK(programs_of(ChunkTables(problem, 5), problem, size) == expected);
  if (Machine::covers(problem, {})) CHECK(programs_of(Machine(problem), problem, size) == expected);
  const auto bracketed = bracketed_programs(problem, size, {});
  REQUIRE(bracketed.has_value());
  CHECK(programs_of(*bracketed) == expected);
}

std::vector<Problem> all_problems(std::uint32_t devices) {
  std::set<Problem> known;
  for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
    known.insert(make_problem(instance, dialect).problem);
  });
  return {known.begin(), known.end()};
}

struct Bigger {
  const char* hierarchy;
  const char* axes;
  const char* reduce;
};

constexpr Bigger kBigger[] = {{"2,3,5", "30", "0"},    {"5,2,3", "30", "0"}, {"2,2,2,3", "24", "0"},
                              {"6,10", "60", "0"},     {"7,11", "77", "0"},  {"3,3,3", "27", "0"},
                              {"6,6", "6,6", "0"},     {"4,6", "2,12", "0"}, {"4,6", "2,12", "0,1"},
                              {"3,6", "3,3,2", "0,2"}, {"2,9", "6,3", "1"}};

template <typename Visit>
void for_each_bigger(Visit visit) {
  for (const Bigger& row : kBigger) {
    const Hierarchy hierarchy = parse_hierarchy("h", row.hierarchy);
    const Axes axes = parse_axes("a", row.axes);
    for (const Placement& placement : enumerate_placements(hierarchy, axes, {"a"})) {
      for (const HierarchyKind kind : kHierarchyKinds) {
        for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
          visit(Instance(DeviceGrid(hierarchy, axes, placement),
                         parse_reduction("r", row.reduce, axes), kind),
                dialect);
        }
      }
    }
  }
}

/// Runs one random program on the devices and in both approximations.
class Walk {
 public:
  Walk(const Instance& instance, Dialect dialect)
      : instance_(instance),
        dialect_(dialect),
        named_(make_problem(instance, dialect)),
        lower_(named_.problem, 6),
        upper_(named_.problem) {}

  void run(std::mt19937& random, std::uint32_t steps) {
    StateTable states(instance_.grid.devices());
    Kernels kernels(states);
    SystemState devices = initial_state(instance_.grid.devices(), states);
    std::optional<std::uint32_t> below = lower_.initial();
    std::uint32_t above = upper_.initial();
    std::string program;
    for (std::uint32_t taken = 0, tried = 0; taken < steps && tried < 20 * steps; ++tried) {
      const auto move = static_cast<std::uint32_t>(random() % named_.problem.moves.size());
      const GroupShape& shape = named_.shapes[named_.shape_of[move]];
      const Step step = lower(instance_.grid, shape, named_.problem.moves[move].collective);
      SystemState after = devices;
      const bool legal = !run_step(step, dialect_, after, states, kernels);
      const auto next_above = upper_.step(above, move);
      const Replayed below_after = below ? lower_.replay(*below, move) : Replayed{};
      const bool accepted = below_after.kind == Replayed::Kind::Legal;
      const bool refused = below_after.kind == Replayed::Kind::Illegal;
      const std::string text = program + to_string(step, &instance_);
      CAPTURE(text);
      CHECK((!accepted || legal));
      CHECK((!refused || !legal));
      CHECK((!legal || next_above));
      decided += accepted || refused || !next_above ? 1 : 0;
      ++all;
      if (!legal || !next_above) continue;
      devices = std::move(after);
      above = *next_above;
      below = accepted ? std::optional(below_after.state) : std::nullopt;
      program = text + "; ";
      ++taken;
    }
  }

  std::size_t decided = 0;  ///< steps on which the approximations agree
  std::size_t all = 0;

 private:
  const Instance& instance_;
  Dialect dialect_;
  NamedProblem named_;
  ChunkTables lower_;
  TwoChunks upper_;
};

}  // namespace

TEST_CASE("all engines list the same programs: all systems of 2 devices and more") {
  for (std::uint32_t devices = 2; devices <= P2_SYMBOLIC_DEVICES; ++devices) {
    const std::uint32_t size = !kCampaign ? (devices <= 6 ? 4 : 3) : devices <= 8 ? 5 : 4;
    const std::vector<Problem> problems = all_problems(devices);
    for (const Problem& problem : problems) {
      // Millions of programs over the lattice of four factors.
      compare(problem, problem.moves.size() > 200 ? std::min(size, 3U) : size);
    }
    if (kCampaign) MESSAGE(devices, " devices: ", problems.size(), " problems");
  }
}

TEST_CASE("where the first and the last chunk admit more, the tables decide: six steps") {
  // In printed eight programs more: a Broadcast whose root lacks a chunk in the middle.
  for (const auto& [hierarchy, placement] :
       {std::pair{"2,2,2", "[[2 2 2]]"}, std::pair{"2,3,2", "[[2 3 2]]"}}) {
    for (const auto& [dialect, more] :
         {std::pair{Dialect::Printed, 8U}, std::pair{Dialect::Published, 0U}}) {
      const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
      const Problem problem = make_problem(instance_of(hierarchy, axes.c_str(), "0", placement,
                                                       HierarchyKind::Reduction),
                                           dialect)
                                  .problem;
      const Programs expected = programs_of(ProgramList(problem, 6, {}));
      CHECK(programs_of(TwoChunks(problem), problem, 6).size() == expected.size() + more);
      CHECK(programs_of(ChunkTables(problem, kAllValues), problem, 6) == expected);
      const auto bracketed = bracketed_programs(problem, 6, {});
      REQUIRE(bracketed.has_value());
      CHECK(programs_of(*bracketed) == expected);
      if (Machine::covers(problem, {})) {
        CHECK(programs_of(Machine(problem), problem, 6) == expected);
      }
    }
  }
}

TEST_CASE("all engines list the same programs: unequal and prime sizes") {
  std::set<Problem> known;
  for_each_bigger([&](const Instance& instance, Dialect dialect) {
    const Problem problem = make_problem(instance, dialect).problem;
    const bool lattice = instance.hierarchy.is_lattice();
    if (!kCampaign && (problem.devices > 40 || lattice)) return;
    if (known.insert(problem).second) compare(problem, kCampaign && !lattice ? 4 : 3);
  });
  CHECK(known.size() > 50);
}

namespace {

/// Two to five levels of 2 to 13, of which at most three axes take factors, all axes up to
/// `devices` devices together.
Instance random_bigger_instance(std::mt19937& random, std::uint32_t devices) {
  const auto below = [&](std::size_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  constexpr std::uint32_t kSizes[] = {2, 2, 3, 3, 4, 5, 6, 7, 9, 11, 13};
  for (;;) {
    const std::uint32_t axis_count = 1 + below(3);
    std::vector<Level> levels(2 + below(4));
    std::vector<Axis> axes(axis_count);
    Placement placement{std::vector(axis_count, std::vector<std::uint32_t>(levels.size(), 1))};
    std::uint32_t all = 1;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      std::uint32_t left = kSizes[below(std::size(kSizes))];
      levels[level] = {"l" + std::to_string(level), left};
      all *= left;
      for (std::uint32_t prime = 2; left > 1; ++prime) {
        for (; left % prime == 0; left /= prime) {
          placement.factors[below(axis_count)][level] *= prime;
        }
      }
    }
    if (all < 16 || all > devices) continue;
    for (std::uint32_t axis = 0; axis < axis_count; ++axis) {
      axes[axis].name = "a" + std::to_string(axis);
      for (const std::uint32_t factor : placement.factors[axis]) axes[axis].size *= factor;
    }
    ReductionAxes reduction;
    for (std::uint32_t axis = 0; axis < axis_count; ++axis) {
      if (axis + 1 == axis_count ? reduction.empty() : below(2) == 0) reduction.push_back(axis);
    }
    return {DeviceGrid(Hierarchy(levels, {"h"}), Axes(axes, {"a"}), placement), reduction,
            kHierarchyKinds[below(std::size(kHierarchyKinds))]};
  }
}

}  // namespace

TEST_CASE("the engines that know no sizes list what the explicit one does: random systems") {
  std::mt19937 random(22);
  std::set<Problem> known;
  std::size_t by_machine = 0;
  std::size_t by_bracket = 0;
  while (known.size() < (kCampaign ? 300U : 40U)) {
    const Instance instance = random_bigger_instance(random, kCampaign ? 400 : 200);
    SynthesisOptions options;
    options.dialect = random() % 2 == 0 ? Dialect::Printed : Dialect::Published;
    const Problem problem = make_problem(instance, options.dialect).problem;
    // What the explicit engine would take minutes for.
    if (problem.devices < 8 || problem.moves.size() > 400) continue;
    if (problem.devices * problem.moves.size() > (kCampaign ? 60'000U : 12'000U)) continue;
    options.size = problem.devices * problem.moves.size() > 5'000 ? 3 : 4;
    const ProgramList found = search_programs(problem, options);
    if (found.engine() == SearchEngine::Explicit || !known.insert(problem).second) continue;
    ++(found.engine() == SearchEngine::Machine ? by_machine : by_bracket);
    CAPTURE(described(problem));
    const Programs expected = programs_of(ProgramList(problem, options.size, {}));
    CHECK(programs_of(found) == expected);
    CHECK(programs_of(TwoChunks(problem), problem, options.size) == expected);
    CHECK(programs_of(ChunkTables(problem, 5), problem, options.size) == expected);
  }
  CHECK(by_machine > 10);
  CHECK(by_bracket > 10);
}

TEST_CASE("whatever ChunkTables accepts is legal, and whatever is legal TwoChunks accepts") {
  std::mt19937 random(20);
  std::size_t decided = 0;
  std::size_t all = 0;
  const auto walk = [&](const Instance& instance, Dialect dialect, std::uint32_t programs) {
    Walk steps(instance, dialect);
    for (std::uint32_t i = 0; i < programs; ++i) steps.run(random, 8);
    decided += steps.decided;
    all += steps.all;
  };
  for (const std::uint32_t devices : {4U, 6U, 8U}) {
    std::size_t question = 0;
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      if (kCampaign || question++ % 8 == 0) walk(instance, dialect, 20);
    });
  }
  std::size_t question = 0;
  for_each_bigger([&](const Instance& instance, Dialect dialect) {
    if (kCampaign || question++ % 8 == 0) walk(instance, dialect, kCampaign ? 200 : 20);
  });
  CAPTURE(decided);
  CAPTURE(all);
  CHECK(all > 5000);
  CHECK(decided * 10 > all * 9);
}

TEST_CASE("an AllGather of devices that hold unequal amounts is illegal in the tables too") {
  for (const auto& [hierarchy, placement] :
       {std::pair{"2,2", "[[2 2]]"}, std::pair{"3,2", "[[3 2]]"}, std::pair{"3,3", "[[3 3]]"}}) {
    const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
    const Instance instance =
        instance_of(hierarchy, axes.c_str(), "0", placement, HierarchyKind::Hardware);
    const NamedProblem named = make_problem(instance, Dialect::Printed);
    TextCursor cursor("test",
                      "ReduceScatter(l0, Parallel(root)); ReduceScatter(l0, InsideGroup); "
                      "AllGather(l0, Master(root)); AllGather(l0, InsideGroup)");
    const auto steps = parse_steps(cursor, instance.grid.devices(), &instance);
    const auto moves = moves_of(named, steps);
    REQUIRE(moves.has_value());
    StateTable states(instance.grid.devices());
    Kernels kernels(states);
    SystemState devices = initial_state(instance.grid.devices(), states);
    ChunkTables tables(named.problem, 5);
    std::uint32_t state = tables.initial();
    for (std::size_t step = 0; step < steps.size(); ++step) {
      CAPTURE(step);
      const bool last = step + 1 == steps.size();
      CHECK(run_step(steps[step], Dialect::Printed, devices, states, kernels).has_value() == last);
      const Replayed after = tables.replay(state, (*moves)[step]);
      CHECK((after.kind == Replayed::Kind::Legal) == !last);
      state = after.state;
    }
  }
}

TEST_CASE("the approximations are right of long programs over the lattice") {
  std::mt19937 random(21);
  for (const auto& [hierarchy, placement] :
       {std::pair{"2,2,2", "[[2 2 2]]"}, std::pair{"3,2,2", "[[3 2 2]]"},
        std::pair{"2,3,2", "[[2 3 2]]"}, std::pair{"2,2,2,2", "[[2 2 2 2]]"}}) {
    const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
    const Instance instance =
        instance_of(hierarchy, axes.c_str(), "0", placement, HierarchyKind::Lattice);
    Walk walk(instance, Dialect::Printed);
    for (int i = 0; i < (kCampaign ? 20000 : 1000); ++i) walk.run(random, 12);
    CHECK(walk.decided * 10 > walk.all * 9);
  }
}

TEST_CASE("one, two and three levels have the same programs for all sizes") {
  for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
    const bool published = dialect == Dialect::Published;
    const auto count = [&](const char* hierarchy, const char* placement, std::uint32_t size,
                           bool pins) {
      const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
      SynthesisOptions options;
      options.dialect = dialect;
      options.size = size;
      const auto found = find_programs(
          {instance_of(hierarchy, axes.c_str(), "0", placement, HierarchyKind::Reduction)},
          options);
      CHECK(found[0].list().engine() ==
            (published || !pins ? SearchEngine::Machine : SearchEngine::Bracket));
      return found[0].list().count();
    };
    CHECK(count("1048576", "[[1048576]]", 5, false) == 3);
    CHECK(count("1024,1024", "[[1024 1024]]", 5, true) == (published ? 47 : 93));
    CHECK(count("101,103,97", "[[101 103 97]]", 4, true) == (published ? 262 : 385));
  }
}

TEST_CASE("the formulas for any number of levels count what the engines list") {
  CHECK(!count_over_d(0, 4));
  CHECK(!count_over_d(3, 6));
  CHECK(!count_over_d(3, 2));
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t levels = 1; levels <= 8; ++levels) {
    sizes.push_back(levels % 3 == 0 ? 3 : 2);
    std::vector<Level> named;
    std::uint32_t devices = 1;
    for (const std::uint32_t size : sizes) {
      named.push_back({"l" + std::to_string(named.size()), size});
      devices *= size;
    }
    for (const std::uint32_t size : {3U, 4U, 5U}) {
      for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
        const Instance instance(
            DeviceGrid(Hierarchy(named, {"h"}), Axes({{"a", devices}}, {"a"}), {{sizes}}), {0},
            kind);
        SynthesisOptions options;
        options.size = size;
        const auto listed = find_programs({instance}, options);
        options.count_only = true;
        const auto counted = find_programs({instance}, options);
        CAPTURE(levels);
        CHECK(counted[0].list().engine() == SearchEngine::Formula);
        CHECK(counted[0].list().settled() == size);
        CHECK(programs_of(listed[0].list()).size() == counted[0].list().count());
        if (levels > 4) continue;
        const Problem problem = make_problem(instance, Dialect::Published).problem;
        CHECK(ProgramList(problem, size, {}).count() == counted[0].list().count());
      }
    }
  }
  // Several axes, the lattice and printed have no formula.
  SynthesisOptions options;
  options.count_only = true;
  options.size = 3;
  const auto engine = [&](const Instance& instance) {
    return find_programs({instance}, options)[0].list().engine();
  };
  CHECK(engine(instance_of("2,2", "2,2", "0,1", "[[2 1] [1 2]]", HierarchyKind::Reduction)) ==
        SearchEngine::Machine);
  CHECK(engine(instance_of("2,2", "4", "0", "[[2 2]]", HierarchyKind::Lattice)) ==
        SearchEngine::Machine);
  options.dialect = Dialect::Printed;
  CHECK(engine(instance_of("2,2", "4", "0", "[[2 2]]", HierarchyKind::Reduction)) ==
        SearchEngine::Explicit);
}

TEST_CASE("a count that is unknown for some sizes never refuses") {
  const Problem problem =
      make_problem(instance_of("2,3", "6", "0", "[[2 3]]"), Dialect::Printed).problem;
  const ChunkCounts exact(problem, false);
  CHECK(exact.all() == 6);
  CHECK(exact.divide(6, 1, 2) == 3);
  CHECK(!exact.divide(3, 1, 2));
  CHECK(exact.multiply(3, 1, 2) == 6);
  CHECK(!exact.multiply(3, 2, 3));
  CHECK(!exact.may_equal(3, 2));
  CHECK(!exact.may_reach(2, 3));

  const ChunkCounts any(problem, true);
  const auto by_node = *any.divide(any.all(), 1, 2);
  const auto by_gpu = *any.divide(any.all(), 2, 3);
  const auto by_both = *any.divide(by_node, 2, 3);
  CHECK(any.may_equal(by_node, by_gpu));  // for equal sizes
  CHECK(!any.may_equal(by_node, any.all()));
  CHECK(!any.may_equal(by_both, by_gpu));
  CHECK(!any.may_equal(by_node, 0));
  CHECK(any.may_reach(by_node, by_gpu));
  CHECK(!any.may_reach(by_both, by_gpu));
  CHECK(any.multiply(by_both, 1, 2) == by_gpu);
  CHECK(!any.multiply(any.all(), 1, 2));
  auto often = any.all();
  for (int i = 0; i < 10; ++i) often = *any.divide(often, 1, 2);
  CHECK(any.may_equal(often, by_node));
}
