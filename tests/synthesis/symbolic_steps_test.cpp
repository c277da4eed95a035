// The approximations of symbolic/ step by step: what their states say of devices is what the
// explicit engine says of them, and each rule is right of any group of such devices, also of
// devices that no program brings together.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "engine/collective/kernels.h"
#include "engine/program/symbolic/chunk_tables.h"
#include "tests/program/instances.h"

namespace p2 {

/// What states of the approximations say.
struct Approximations {
  using Device = ChunkTables::Device;

  static constexpr std::uint32_t kNothing = UINT32_MAX;

  static std::vector<std::uint32_t> members(const PointSets& sets, std::uint32_t set) {
    std::vector<std::uint32_t> all;
    const auto words = sets.table_[set];
    for (std::uint32_t point = 0; point < 32 * words.size(); ++point) {
      if ((words[point / 32] >> (point % 32) & 1U) != 0) all.push_back(point);
    }
    return all;
  }

  static Device device(const ChunkTables& tables, std::uint32_t state, std::uint32_t point) {
    const auto words = tables.states_[state];
    return {words[2 * point], words[2 * point + 1]};
  }

  /// The number of chunks that E says a device holds.
  static std::uint64_t chunks(const ChunkTables& tables, Device device) {
    if (device.divided == kNothing) return 0;
    std::uint64_t divisor = 1;
    for (std::size_t f = 0; f < tables.problem_.factors.size(); ++f) {
      if ((device.divided >> f & 1U) != 0) divisor *= tables.problem_.factors[f].size;
    }
    return tables.problem_.chunks() / divisor;
  }

  /// The state of a device, chunk by chunk.
  static StateId state(ChunkTables& tables, Device device, StateTable& states) {
    if (device.divided == kNothing) return kHoldsNothing;
    const ChunkTables::Table table = tables.table(device.table);
    std::vector<Piece> pieces;
    for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
      std::uint32_t combination = 0;
      for (const std::uint32_t each : table.coordinates) {
        const std::uint32_t value = tables.values_by_chunk(each)[chunk];
        const auto known = tables.value_at(each, chunk);
        CHECK((!known || *known == value));
        combination = combination * tables.values_of(each) + value;
      }
      for (const auto& entry : table.entries) {
        if (entry.combination != combination) continue;
        pieces.push_back({states.sets().range(chunk, chunk + 1),
                          states.sets().of(members(tables.sets_, entry.contributors))});
      }
    }
    return states.intern(pieces);
  }

  /// A device that holds the same chunks, each from one contributor alone.
  static Device from_one(ChunkTables& tables, Device device, std::uint32_t contributor) {
    if (device.divided == kNothing) return device;
    ChunkTables::Table table = tables.table(device.table);
    for (auto& entry : table.entries) entry.contributors = tables.sets_.of({&contributor, 1});
    return {device.divided, tables.intern(std::move(table))};
  }

  /// Runs a collective on any group. `after` is written if it is legal.
  static Replayed::Kind run(ChunkTables& tables, std::uint32_t move,
                            const std::vector<Device>& before, std::vector<Device>& after) {
    std::vector<std::uint32_t> words;
    for (const Device& each : before) words.insert(words.end(), {each.divided, each.table});
    const std::uint32_t result = tables.run(move, words);
    if (result == UINT32_MAX) return Replayed::Kind::Undecided;
    if (result == UINT32_MAX - 1) return Replayed::Kind::Illegal;
    after.assign(tables.after_.begin() + result, tables.after_.begin() + result + before.size());
    return Replayed::Kind::Legal;
  }

  static std::uint32_t holding(const TwoChunks& chunks, std::uint32_t state, std::uint32_t point) {
    return chunks.states_[state][point];
  }
  /// Whether TwoChunks refuses any group.
  static bool refuses(TwoChunks& chunks, std::uint32_t move,
                      const std::vector<std::uint32_t>& holdings) {
    return chunks.run(move, holdings) == UINT32_MAX;
  }

  /// What TwoChunks says of a device.
  struct Seen {
    std::uint64_t chunks = 0;
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> last;
    std::uint32_t label = 0;
  };
  static Seen seen(const TwoChunks& chunks, std::uint32_t state, std::uint32_t point) {
    const auto words = chunks.states_[state];
    const TwoChunks::Holding held = chunks.holding(words[point]);
    return {held.chunks, members(chunks.sets_, held.first), members(chunks.sets_, held.last),
            words[chunks.grid_.points() + point]};
  }
};

}  // namespace p2

namespace p2::symbolic_steps {
namespace {

constexpr bool kCampaign = P2_SYMBOLIC_DEVICES > 8;

/// The devices of a problem, on which moves run one by one.
class Devices {
 public:
  explicit Devices(const Problem& problem)
      : problem_(problem), states(problem.chunks()), kernels(states) {
    for (std::uint32_t device = 0; device < problem.devices; ++device) {
      now.push_back(states.whole(states.sets().range(device, device + 1)));
    }
  }

  std::vector<Group> groups(std::uint32_t move) const {
    const auto [varied, pinned] = problem_.moves[move].pattern;
    const FactorSet all = (FactorSet{1} << problem_.factors.size()) - 1;
    const auto offsets = digit_sums(problem_.factors, varied);
    std::vector<Group> all_groups;
    for (const std::uint32_t base : digit_sums(problem_.factors, all & ~(varied | pinned))) {
      Group& group = all_groups.emplace_back(offsets);
      for (std::uint32_t& device : group) device += base;
    }
    return all_groups;
  }
  std::vector<StateId> of(const Group& group) const {
    std::vector<StateId> some;
    for (const std::uint32_t device : group) some.push_back(now[device]);
    return some;
  }
  /// Whether the move is legal; takes it then.
  bool take(std::uint32_t move) {
    std::vector<StateId> next = now;
    for (const Group& group : groups(move)) {
      const std::vector<StateId> before = of(group);
      std::vector<StateId> after(before.size());
      if (!run(problem_.moves[move].collective, before, after)) return false;
      for (std::size_t i = 0; i < group.size(); ++i) next[group[i]] = after[i];
    }
    now = std::move(next);
    return true;
  }
  bool run(Collective collective, const std::vector<StateId>& before, std::vector<StateId>& after) {
    return std::ranges::any_of(before, [](StateId id) { return id != kHoldsNothing; }) &&
           kernels.apply(collective, before, after);
  }
  std::uint32_t held(StateId id) const { return states.sets().size(states.held(id)); }
  IndexSetId first(StateId id) const { return states.row(id, 0); }
  IndexSetId last(StateId id) const { return states.row(id, states.chunks() - 1); }

  /// Whether a premise fails for the first chunk, the last one, or the numbers of chunks: what
  /// TwoChunks must see.
  bool fails_visibly(Collective collective, const std::vector<StateId>& group) {
    IndexSetTable& sets = states.sets();
    const StateId root = group[0];
    std::vector<IndexSetId> firsts;
    std::vector<IndexSetId> lasts;
    bool some = false;
    bool equal = true;  // counts
    bool alike = true;  // who holds the two chunks
    bool contained = held(root) > 0;
    for (const StateId each : group) {
      some = some || each != kHoldsNothing;
      equal = equal && held(each) == held(root);
      alike = alike && (first(each) == 0) == (first(root) == 0) &&
              (last(each) == 0) == (last(root) == 0);
      contained = contained && held(each) <= held(root) && sets.subset(first(each), first(root)) &&
                  sets.subset(last(each), last(root));
      if (first(each) != 0) firsts.push_back(first(each));
      if (last(each) != 0) lasts.push_back(last(each));
    }
    const auto disjoint = [&](const std::vector<IndexSetId>& all) {
      std::size_t members = 0;
      for (const IndexSetId set : all) members += sets.size(set);
      return sets.size(sets.unite(all)) == members;
    };
    if (!some) return true;
    if (collective == Collective::Broadcast) return !contained;
    if (collective == Collective::AllGather) {
      return !equal || firsts.size() > 1 || lasts.size() > 1 ||
             std::uint64_t{held(root)} * group.size() > states.chunks();
    }
    const bool divisible =
        collective != Collective::ReduceScatter || held(root) % group.size() == 0;
    return !equal || !alike || !divisible || !disjoint(firsts) || !disjoint(lasts);
  }

 private:
  const Problem& problem_;

 public:
  StateTable states;
  Kernels kernels;
  std::vector<StateId> now;
};

constexpr std::pair<const char*, const char*> kSystems[] = {
    {"2,2", "[[2 2]]"},     {"3,2", "[[3 2]]"},     {"2,3", "[[2 3]]"},     {"3,3", "[[3 3]]"},
    {"2,2,2", "[[2 2 2]]"}, {"2,3,2", "[[2 3 2]]"}, {"4,2,2", "[[4 2 2]]"},
};

Problem lattice(const char* hierarchy, const char* placement, Dialect dialect) {
  const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
  return make_problem(instance_of(hierarchy, axes.c_str(), "0", placement, HierarchyKind::Lattice),
                      dialect)
      .problem;
}

void compare_states(const Problem& problem, ChunkTables& lower, std::optional<std::uint32_t> below,
                    const TwoChunks& upper, std::uint32_t above, Devices& devices) {
  const IndexSetTable& sets = devices.states.sets();
  std::map<std::uint32_t, StateId> of_label;
  for (std::uint32_t device = 0; device < problem.devices; ++device) {
    const StateId state = devices.now[device];
    if (below) {
      const auto held = Approximations::device(lower, *below, device);
      CHECK(Approximations::state(lower, held, devices.states) == state);
      CHECK(Approximations::chunks(lower, held) == devices.held(state));
    }
    const auto seen = Approximations::seen(upper, above, device);
    CHECK(seen.chunks == devices.held(state));
    CHECK(seen.first == sets.members(devices.first(state)));
    CHECK(seen.last == sets.members(devices.last(state)));
    CHECK((seen.label == 0) == (state == kHoldsNothing));
    CHECK(of_label.try_emplace(seen.label, state).first->second == state);
  }
}

}  // namespace

TEST_CASE("the approximations' states are the devices' after every step of random programs") {
  std::mt19937 random(23);
  std::size_t steps = 0;
  std::size_t below_too = 0;
  for (const auto& [hierarchy, placement] : kSystems) {
    for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
      const Problem problem = lattice(hierarchy, placement, dialect);
      ChunkTables lower(problem, UINT32_MAX);
      TwoChunks upper(problem);
      for (int program = 0; program < (kCampaign ? 1000 : 40); ++program) {
        Devices devices(problem);
        std::optional<std::uint32_t> below = lower.initial();
        std::uint32_t above = upper.initial();
        compare_states(problem, lower, below, upper, above, devices);
        std::string text;
        for (std::uint32_t tried = 0, taken = 0; taken < 8 && tried < 120; ++tried) {
          const auto move = static_cast<std::uint32_t>(random() % problem.moves.size());
          const Collective collective = problem.moves[move].collective;
          bool visible = false;
          for (const Group& group : devices.groups(move)) {
            visible = visible || devices.fails_visibly(collective, devices.of(group));
          }
          const auto next = upper.step(above, move);
          CAPTURE(hierarchy);
          CAPTURE(text);
          CAPTURE(move);
          // Labels may refuse a Broadcast more.
          CHECK((!visible || !next));
          if (collective != Collective::Broadcast) CHECK(visible == !next.has_value());
          if (!devices.take(move)) continue;
          REQUIRE(next);
          above = *next;
          const Replayed replayed = below ? lower.replay(*below, move) : Replayed{};
          CHECK(replayed.kind != Replayed::Kind::Illegal);
          below =
              replayed.kind == Replayed::Kind::Legal ? std::optional(replayed.state) : std::nullopt;
          text += std::to_string(move) + " ";
          compare_states(problem, lower, below, upper, above, devices);
          ++taken;
          ++steps;
          below_too += below ? 1 : 0;
        }
      }
    }
  }
  CHECK(steps > 1000);
  CHECK(below_too * 10 > steps * 9);
}

TEST_CASE("what is seen of two chunks refuses just what it shows, of any devices") {
  std::mt19937 random(26);
  std::map<Collective, std::size_t> refused;
  std::size_t taken = 0;
  for (const auto& [hierarchy, placement] : kSystems) {
    const Problem problem = lattice(hierarchy, placement, Dialect::Printed);
    TwoChunks upper(problem);
    Devices devices(problem);
    const std::vector<StateId> begin = devices.now;
    std::set<std::pair<std::uint32_t, StateId>> pool;  // holding, state
    for (int program = 0; program < 60; ++program) {
      devices.now = begin;
      std::uint32_t state = upper.initial();
      for (int tried = 0; tried < 60; ++tried) {
        for (std::uint32_t device = 0; device < problem.devices; ++device) {
          pool.emplace(Approximations::holding(upper, state, device), devices.now[device]);
        }
        const auto move = static_cast<std::uint32_t>(random() % problem.moves.size());
        if (devices.take(move)) state = *upper.step(state, move);
      }
    }
    const std::vector<std::pair<std::uint32_t, StateId>> all(pool.begin(), pool.end());
    for (int round = 0; round < (kCampaign ? 100'000 : 10'000); ++round) {
      const auto move = static_cast<std::uint32_t>(random() % problem.moves.size());
      const Collective collective = problem.moves[move].collective;
      std::vector<std::uint32_t> holdings;
      std::vector<StateId> states;
      const auto& root = all[random() % all.size()];
      for (std::size_t i = 0; i < devices.groups(move)[0].size(); ++i) {
        // Mostly one that holds of the two chunks what the root does, or nothing of them.
        const auto* next = &all[random() % all.size()];
        for (int more = 0; more < 20 && random() % 4 != 0; ++more) {
          const bool alike =
              (devices.first(next->second) == 0) == (devices.first(root.second) == 0) &&
              (devices.last(next->second) == 0) == (devices.last(root.second) == 0);
          if (alike) break;
          next = &all[random() % all.size()];
        }
        holdings.push_back(i == 0 ? root.first : next->first);
        states.push_back(i == 0 ? root.second : next->second);
      }
      const bool visible = devices.fails_visibly(collective, states);
      CAPTURE(hierarchy);
      CAPTURE(move);
      CHECK(Approximations::refuses(upper, move, holdings) == visible);
      refused[collective] += visible ? 1 : 0;
      taken += visible ? 0 : 1;
    }
  }
  CHECK(taken > 1000);
  for (const Collective collective : kCollectives) CHECK(refused[collective] > 1000);
}

TEST_CASE(
    "every rule of the tables is right of any devices, also of those no program brings together") {
  using Device = Approximations::Device;
  std::mt19937 random(24);
  std::size_t legal = 0;
  std::size_t illegal = 0;
  std::size_t all = 0;
  for (const auto& [hierarchy, placement] : kSystems) {
    const Problem problem = lattice(hierarchy, placement, Dialect::Printed);
    ChunkTables tables(problem, UINT32_MAX);
    Devices devices(problem);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    std::vector<Device> pool;
    std::set<std::pair<std::uint32_t, std::uint32_t>> known;
    const auto add = [&](const Device& device) {
      if (device.divided != Approximations::kNothing &&
          known.emplace(device.divided, device.table).second) {
        pool.push_back(device);
      }
    };
    // Devices of programs, then what the rules make of any of them.
    for (int program = 0; program < 40; ++program) {
      std::uint32_t state = tables.initial();
      for (int step = 0; step < 30; ++step) {
        for (std::uint32_t device = 0; device < problem.devices; ++device) {
          add(Approximations::device(tables, state, device));
        }
        const auto next =
            tables.step(state, static_cast<std::uint32_t>(below(problem.moves.size())));
        if (next) state = *next;
      }
    }
    const int rounds = kCampaign ? 100'000 : 6'000;
    for (int round = 0; round < rounds; ++round) {
      const auto move = static_cast<std::uint32_t>(below(problem.moves.size()));
      const Collective collective = problem.moves[move].collective;
      const Device root = pool[below(pool.size())];
      const std::size_t kind = below(5);
      std::vector<Device> before;
      for (std::size_t i = 0; i < devices.groups(move)[0].size(); ++i) {
        Device next = pool[below(pool.size())];
        // Mostly of the root's E, or its table, or nothing: any others are refused at once.
        for (int more = 0; kind < 2 && more < 40 && next.divided != root.divided; ++more) {
          next = pool[below(pool.size())];
        }
        if (kind == 2) next.table = root.table, next.divided = root.divided;
        if (kind == 3 && below(2) == 0) next = {Approximations::kNothing, 0};
        if (kind == 4) {
          next = Approximations::from_one(tables, root, static_cast<std::uint32_t>(i));
          if (i == 0) before.push_back(next);
        }
        if (kind != 4 || i > 0) before.push_back(i == 0 ? root : next);
      }
      std::vector<StateId> states;
      for (const Device& each : before) {
        states.push_back(Approximations::state(tables, each, devices.states));
      }
      std::vector<StateId> expected(states.size());
      const bool is_legal = devices.run(collective, states, expected);
      std::vector<Device> after;
      const Replayed::Kind found = Approximations::run(tables, move, before, after);
      CAPTURE(hierarchy);
      CAPTURE(move);
      CAPTURE(collective);
      CHECK((found != Replayed::Kind::Legal || is_legal));
      CHECK((found != Replayed::Kind::Illegal || !is_legal));
      ++all;
      illegal += is_legal ? 0 : 1;
      if (found != Replayed::Kind::Legal || !is_legal) continue;
      ++legal;
      for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK(Approximations::state(tables, after[i], devices.states) == expected[i]);
        CHECK(Approximations::chunks(tables, after[i]) == devices.held(expected[i]));
        if (pool.size() < 4000) add(after[i]);
      }
    }
  }
  CAPTURE(legal);
  CAPTURE(illegal);
  CHECK(legal * 50 > all);
  CHECK(illegal * 10 > all);
}

}  // namespace p2::symbolic_steps
