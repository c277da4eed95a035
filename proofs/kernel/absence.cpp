#include <algorithm>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

using Literal = std::int32_t;
constexpr Literal kTrue = 1;

/// All by device: its cells chunk by chunk, its rows, of how many of the first chunks it holds at
/// least so many, and whether it holds exactly 1, 2, … chunks.
struct Moment {
  Clause picks;  ///< of the step that follows
  std::vector<Clause> cells, rows;
  std::vector<std::vector<Clause>> at_least;
  std::vector<Clause> exactly;
  Literal done = 0;
};

/// The i-th literals of the group's devices.
Clause column(const std::vector<Clause>& by_device, const Numbers& group, std::size_t i) {
  Clause literals;
  for (const std::uint32_t d : group) literals.push_back(by_device[d][i]);
  return literals;
}

class Encoder {
 public:
  Encoder(const Stage& stage, const std::function<void(const Clause&)>& sink)
      : stage_(stage), sink_(sink) {}

  Variables encode(const Search& search) {
    const std::uint32_t size = search.size;
    fresh();
    sink_({kTrue});
    moments_.resize(size + 1);
    for (std::uint32_t t = 0; t < size; ++t) moments_[t].picks = fresh_list(stage_.steps.size());
    for (Moment& moment : moments_) define(moment);
    for (std::uint32_t d = 0; d < stage_.devices; ++d) {
      for (std::size_t i = 0; i < width_; ++i) {
        sink_({(i % stage_.devices == d ? 1 : -1) * moments_[0].cells[d][i]});
      }
    }
    for (std::uint32_t t = 0; t < size; ++t) take_step(moments_[t], moments_[t + 1]);
    sink_({moments_.back().done});
    Clause used;
    for (std::uint32_t t = 0; search.uses && t < size; ++t) {
      for (const std::uint32_t choice : *search.uses) used.push_back(moments_[t].picks[choice]);
    }
    if (search.uses) sink_(used);
    for (const Numbers& program : search.programs) {
      Clause other;
      for (const std::uint32_t choice : program) {
        other.push_back(-moments_[other.size()].picks[choice]);
      }
      sink_(other);
    }
    return {last_, varmap()};
  }

 private:
  Literal fresh() {
    if (last_ == INT32_MAX) reject("there are too many variables");
    return ++last_;
  }
  Clause fresh_list(std::size_t count) {
    Clause literals;
    while (literals.size() < count) literals.push_back(fresh());
    return literals;
  }

  Literal all_of(const Clause& literals) { return gate(1, literals); }
  Literal any_of(const Clause& literals) { return gate(-1, literals); }
  /// A variable that is true if all the literals are; or, all signs turned, false if all are false.
  Literal gate(Literal sign, const Clause& literals) {
    const Literal output = fresh();
    Clause whole = {sign * output};
    for (const Literal literal : literals) {
      sink_({-sign * output, sign * literal});
      whole.push_back(-sign * literal);
    }
    sink_(whole);
    return output;
  }

  void equal_if(Literal guard, const Clause& a, const Clause& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      sink_({-guard, -a[i], b[i]});
      sink_({-guard, a[i], -b[i]});
    }
  }

  void at_most_one_if(Literal guard, const Clause& literals) {
    for (std::size_t i = 0; i < literals.size(); ++i) {
      for (std::size_t j = i + 1; j < literals.size(); ++j) {
        sink_({-guard, -literals[i], -literals[j]});
      }
    }
  }

  void define(Moment& at) {
    for (std::uint32_t d = 0; d < stage_.devices; ++d) at.cells.push_back(fresh_list(width_));
    Clause goal;
    for (std::uint32_t d = 0; d < stage_.devices; ++d) {
      Clause& rows = at.rows.emplace_back();
      for (auto cell = at.cells[d].begin(); cell != at.cells[d].end(); cell += stage_.devices) {
        rows.push_back(any_of({cell, cell + stage_.devices}));
      }
      const auto holds = [&](const Numbers& all) { return std::ranges::binary_search(all, d); };
      const Numbers& wanted = *std::ranges::find_if(stage_.classes, holds);
      for (std::size_t i = 0; i < width_; ++i) {
        const bool in_class = std::ranges::binary_search(wanted, i % stage_.devices);
        goal.push_back((in_class ? 1 : -1) * at.cells[d][i]);
      }
    }
    at.done = all_of(goal);
  }

  std::string varmap() const {
    std::string text = "true 1\n";
    for (std::size_t t = 0; t < moments_.size(); ++t) {
      const auto line = [&](const char* what, Literal variable) {
        text += what + std::to_string(t) + " " + std::to_string(variable) + "\n";
      };
      if (!moments_[t].picks.empty()) line("picked ", moments_[t].picks[0]);
      line("cells ", moments_[t].cells[0][0]);
      line("done ", moments_[t].done);
    }
    return text;
  }

  void take_step(Moment& at, const Moment& next) {
    for (std::uint32_t d = 0; d < stage_.devices; ++d) count_chunks(at, d);
    Clause options = at.picks;
    options.push_back(at.done);
    sink_(options);
    at_most_one_if(kTrue, options);
    sink_({-at.done, next.done});
    Clause picks;  // of the choices that form the same groups as choice m
    for (std::size_t m = 0; m < stage_.steps.size(); ++m) {
      picks.push_back(at.picks[m]);
      const bool last =
          m + 1 == stage_.steps.size() || stage_.steps[m + 1].collective == kCollectives[0];
      if (last) use_groups(at, next, stage_.steps[m].groups, std::exchange(picks, {}));
    }
  }

  void count_chunks(Moment& at, std::uint32_t d) {
    auto& counts = at.at_least.emplace_back(1, Clause{kTrue});
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      Clause now = {kTrue};
      counts[r].push_back(-kTrue);
      for (std::uint32_t j = 1; j <= r + 1; ++j) {
        now.push_back(any_of({counts[r][j], all_of({counts[r][j - 1], at.rows[d][r]})}));
      }
      counts.push_back(now);
    }
    const Clause& total = counts[chunks_];
    Clause& exactly = at.exactly.emplace_back();
    for (std::uint32_t j = 1; j < chunks_; ++j)
      exactly.push_back(all_of({total[j], -total[j + 1]}));
    exactly.push_back(total[chunks_]);
  }

  /// The choices that form the same groups: all five collectives, or AllReduce alone.
  void use_groups(const Moment& at, const Moment& next, const std::vector<Numbers>& groups,
                  const Clause& p) {
    const bool all = p.size() > 1;
    const Literal used = all ? any_of(p) : p[0];
    const Literal adds = all ? any_of({p[0], p[1], p[3]}) : p[0];
    const Literal unites = all ? any_of({p[0], p[2]}) : p[0];
    std::vector<bool> idle(stage_.devices, true);
    for (const Numbers& group : groups) {
      Clause some = {-used};
      for (const std::uint32_t d : group) {
        idle[d] = false;
        some.insert(some.end(), at.rows[d].begin(), at.rows[d].end());
      }
      sink_(some);
      add(at, group, adds);
      Clause united;
      for (std::size_t i = 0; i < width_; ++i) united.push_back(any_of(column(at.cells, group, i)));
      for (const std::uint32_t d : group) equal_if(unites, next.cells[d], united);
      if (!all) continue;
      scatter(at, next, group, united, p[1]);
      gather(at, group, p[2]);
      equal_if(p[3], next.cells[group[0]], united);
      for (const std::uint32_t d : group) {
        for (const Literal cell : next.cells[d]) {
          if (d != group[0]) sink_({-p[3], -cell});
        }
      }
      broadcast(at, next, group, p[4]);
    }
    for (std::uint32_t d = 0; d < stage_.devices; ++d) {
      if (idle[d]) equal_if(used, next.cells[d], at.cells[d]);
    }
  }

  void add(const Moment& at, const Numbers& group, Literal guard) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      const Clause rows = column(at.rows, group, r);
      equal_if(guard, {rows.begin(), rows.end() - 1}, {rows.begin() + 1, rows.end()});
    }
    for (std::size_t i = 0; i < width_; ++i) at_most_one_if(guard, column(at.cells, group, i));
  }

  void scatter(const Moment& at, const Moment& next, const Numbers& group, const Clause& united,
               Literal guard) {
    const auto n = static_cast<std::uint32_t>(group.size());
    // from[i][r]: chunk r does not lie before the i-th run.
    std::vector<Clause> from(n + 1, Clause(chunks_, kTrue));
    from[n].assign(chunks_, -kTrue);
    for (std::uint32_t i = 1; i < n; ++i) from[i] = fresh_list(chunks_);
    for (std::uint32_t held = 1; held <= chunks_; ++held) {
      const Literal exactly = at.exactly[group[0]][held - 1];
      if (held % n != 0) sink_({-guard, -exactly});
      for (std::uint32_t i = 1; held % n == 0 && i < n; ++i) {
        for (std::uint32_t r = 0; r < chunks_; ++r) {
          const std::uint32_t before = held / n * i;
          const Literal reached = before <= r ? at.at_least[group[0]][r][before] : -kTrue;
          sink_({-guard, -exactly, -from[i][r], reached});
          sink_({-guard, -exactly, from[i][r], -reached});
        }
      }
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::size_t at_cell = 0; at_cell < width_; ++at_cell) {
        const Literal kept = next.cells[group[i]][at_cell];
        const std::size_t r = at_cell / stage_.devices;
        sink_({-guard, -kept, from[i][r]});
        sink_({-guard, -kept, -from[i + 1][r]});
        sink_({-guard, -kept, united[at_cell]});
        sink_({-guard, -from[i][r], from[i + 1][r], -united[at_cell], kept});
      }
    }
  }

  void gather(const Moment& at, const Numbers& group, Literal guard) {
    for (std::uint32_t r = 0; r < chunks_; ++r) at_most_one_if(guard, column(at.rows, group, r));
    for (std::size_t i = 1; i < group.size(); ++i) {
      equal_if(guard, at.exactly[group[i - 1]], at.exactly[group[i]]);
    }
  }

  void broadcast(const Moment& at, const Moment& next, const Numbers& group, Literal guard) {
    const Clause& sent = at.cells[group[0]];
    Clause learnt = {-guard};
    for (std::size_t g = 1; g < group.size(); ++g) {
      for (std::size_t i = 0; i < width_; ++i) {
        const Literal held = at.cells[group[g]][i];
        sink_({-guard, -held, sent[i]});
        learnt.push_back(all_of({sent[i], -held}));
      }
    }
    sink_(learnt);
    for (const std::uint32_t d : group) equal_if(guard, next.cells[d], sent);
  }

  const Stage& stage_;
  const std::function<void(const Clause&)>& sink_;
  const std::uint32_t chunks_ = stage_.chunks;
  const std::size_t width_ = std::size_t{chunks_} * stage_.devices;  ///< cells of a device
  Literal last_ = 0;
  std::vector<Moment> moments_;
};

}  // namespace

Variables encode(const Search& search, const std::function<void(const Clause&)>& sink) {
  return Encoder(search.stage, sink).encode(search);
}

namespace {

constexpr std::uint32_t kMaxSize = 64;

struct AbsenceClaim {
  Problem problem;
  Search search;
  std::string words;
  std::string over = {};  ///< what programs are made of
  std::string end = {};
};

std::vector<Numbers> read_programs(const Json& value, const Search& search, Budget& budget) {
  std::vector<Numbers> programs;
  for (const Json& item : as_list(value)) {
    programs.push_back(as_numbers(item, search.stage.steps.size()));
    budget.spend(programs.back().size() + 8);
    if (programs.back().size() > search.size) reject("a program is longer than size");
  }
  if (std::ranges::adjacent_find(programs) != programs.end()) reject("duplicate program");
  if (!std::ranges::is_sorted(programs)) malformed("programs are not in order");
  return programs;
}

/// Every collective on every set of disjoint groups of at least two devices, in order; searched for
/// are programs that use one with a group across classes.
AbsenceClaim among_any_groups(const Json& root, Budget& budget) {
  const Problem problem = read_problem(root, {"size"}, budget);
  if (problem.instance) malformed("problem.json has a hierarchy");
  std::vector<Step> choices;
  Numbers uses;
  for (const std::vector<Numbers>& groups : disjoint_groups(problem.devices)) {
    for (const char* collective : kCollectives) {
      if (problem.mixes(groups)) uses.push_back(static_cast<std::uint32_t>(choices.size()));
      choices.push_back({collective, {}, {}, groups});
    }
  }
  return {problem,
          {whole_system(problem, choices), as_number(root["size"], kMaxSize + 1), {}, uses},
          "no group across classes holds anything in valid programs",
          "any disjoint groups"};
}

AbsenceClaim among_instructions(const std::string& name, const Json& root, Budget& budget) {
  AbsenceClaim claim;
  const char* key = name == "unused" ? "uses" : name == "expressible" ? "to" : "programs";
  claim.problem = read_problem(root, {"size", "choices", key}, budget);
  if (!claim.problem.instance) malformed("problem.json has no hierarchy");
  const Instance& instance = *claim.problem.instance;
  const std::vector<Step> choices = instance.choices(claim.problem.published, budget);
  const List& named = as_list(root["choices"]);
  if (named.size() != choices.size()) reject("number of choices mismatch");
  for (std::size_t m = 0; m < choices.size(); ++m) {
    const auto& [collective, slice, form, groups, instruction, master] = choices[m];
    const Json names = {{"slice", slice}, {"form", form}, {"collective", collective}};
    if (named[m] != names) reject("choice " + std::to_string(m) + " mismatch");
  }
  claim.search.stage = (instance.confined ? first_class : whole_system)(claim.problem, choices);
  claim.over = instance.kind;
  claim.search.size = as_number(root["size"], kMaxSize + 1);
  if (name == "unused") {
    claim.search.uses.emplace();
    if (!as_list(root["uses"]).empty())
      claim.search.uses = as_ascending(root["uses"], choices.size());
    std::string named_steps;
    for (const std::uint32_t use : *claim.search.uses) {
      named_steps += (named_steps.empty() ? ": " : "; ") + choices[use].text();
    }
    claim.words =
        "none of " + counted(claim.search.uses->size(), "choice") + " is in valid programs";
    claim.end = shortened(named_steps);
  } else if (name == "expressible") {
    claim.search.uses = claim.problem.lacking(choices, root, budget);
    claim.words = "instructions over " + as_text(root["to"]) + " express all valid programs";
  } else {
    claim.search.programs = read_programs(root["programs"], claim.search, budget);
    const std::string n = std::to_string(claim.search.programs.size());
    claim.words = n == "1" ? "there is 1 valid program" : "there are " + n + " valid programs";
  }
  return claim;
}

/// Every program is legal, and reaches the goal after its last step and not before.
void replay(const Search& search, Budget& budget) {
  for (std::size_t number = 0; number < search.programs.size(); ++number) {
    const std::string which = "program " + std::to_string(number) + ": ";
    System system(search.stage, budget);
    for (const std::uint32_t choice : search.programs[number]) {
      if (system.at_goal(search.stage.classes)) reject(which + "steps after the goal");
      system.take(search.stage.steps[choice], which + "choice " + std::to_string(choice));
    }
    if (!system.at_goal(search.stage.classes)) reject(which + "the goal is not reached");
  }
}

}  // namespace

std::string judge_absence(const std::string& name, const Json& statement, const Files& files) {
  Budget budget;
  const Json& root = statement["problem.json"];
  const AbsenceClaim claim =
      name == "unmixed" ? among_any_groups(root, budget) : among_instructions(name, root, budget);
  replay(claim.search, budget);
  const auto& stage = claim.search.stage;
  // Bounds the memory of one moment.
  budget.spend(std::uint64_t{stage.devices} * stage.devices * stage.chunks);
  std::string varmap;
  const auto make = [&](const std::function<void(const Clause&)>& sink) {
    const Variables variables = encode(claim.search, sink);
    varmap = variables.varmap;
    return variables.count;
  };
  check_refutation(files, make, budget);
  if (varmap != files.at("varmap")) reject("varmap mismatch");
  return claim.words + " of at most " + counted(claim.search.size, "step") + " over " + claim.over +
         " (" + claim.problem.words() + ")" + claim.end;
}

}  // namespace p2::kernel
