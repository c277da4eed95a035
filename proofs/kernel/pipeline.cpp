#include "proofs/kernel/claims.h"

#include <algorithm>
#include <array>

#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

using Ticks = std::int64_t;

constexpr Ticks kTicksEnd = Ticks{1} << 40U;
constexpr std::uint32_t kMaxWork = 1U << 13U;  // forwards and backwards
constexpr std::size_t kMaxDepth = 2000;        // cases within cases

/// `second` starts at least `apart` after `first` starts.
struct After {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  Ticks apart = 0;
};
using Rules = std::vector<After>;
using Starts = std::vector<Ticks>;  // by work

/// Work is numbered: all forwards, those of stage 0 first, and then all backwards likewise.
struct Pipeline {
  std::uint32_t stages = 0;
  std::uint32_t microbatches = 0;
  Ticks forward = 0;
  Ticks backward = 0;
  Ticks latency = 0;
  Ticks makespan = 0;

  std::uint32_t forward_of(std::uint32_t stage, std::uint32_t k) const {
    return stage * microbatches + k;
  }
  std::uint32_t backward_of(std::uint32_t stage, std::uint32_t k) const {
    return (stages + stage) * microbatches + k;
  }
  Ticks length(std::uint32_t work) const {
    return work < stages * microbatches ? forward : backward;
  }

  /// What holds of all pipelines, whichever order a stage has for forwards and backwards.
  Rules rules() const {
    Rules all;
    for (std::uint32_t k = 0; k < microbatches; ++k) {
      for (std::uint32_t i = 0; i < stages; ++i) {
        const std::uint32_t f = forward_of(i, k);
        if (k > 0) all.push_back({f - 1, f, forward});
        if (i > 0) all.push_back({forward_of(i - 1, k), f, forward + latency});
      }
      for (std::uint32_t i = stages; i-- > 0;) {
        const std::uint32_t b = backward_of(i, k);
        const bool last = i + 1 == stages;
        if (k > 0) all.push_back({b - 1, b, backward});
        all.push_back(last ? After{forward_of(i, k), b, forward}
                           : After{backward_of(i + 1, k), b, backward + latency});
      }
    }
    return all;
  }
};

Ticks as_ticks(const Json& value) {
  as_number(value, kTicksEnd);
  return value.get<Ticks>();
}

Pipeline read_pipeline(const Json& value) {
  Pipeline p;
  p.stages = as_number(value["stages"], kMaxWork);
  p.microbatches = as_number(value["microbatches"], kMaxWork);
  if (p.stages == 0 || p.microbatches == 0 || 2 * p.stages * p.microbatches > kMaxWork) {
    malformed("no stages, no microbatches, or too many of them");
  }
  p.forward = as_ticks(value["forward"]);
  p.backward = as_ticks(value["backward"]);
  p.latency = as_ticks(value["latency"]);
  p.makespan = as_ticks(value["makespan"]);
  return p;
}

Starts read_starts(const Json& value, const Pipeline& p) {
  Starts starts;
  for (const char* key : {"forwards", "backwards"}) {
    if (as_list(value[key]).size() != p.stages) malformed("starts: stage count mismatch");
    for (const Json& stage : value[key]) {
      if (as_list(stage).size() != p.microbatches) malformed("starts: microbatch count mismatch");
      for (const Json& start : stage) starts.push_back(as_ticks(start));
    }
  }
  return starts;
}

/// Rejects unless the work can start so.
void check_starts(const Pipeline& p, const Starts& starts) {
  for (const After& rule : p.rules()) {
    if (starts[rule.second] < starts[rule.first] + rule.apart) reject("work starts too early");
  }
  std::vector<std::array<Ticks, 3>> runs;  // stage, start, end
  for (std::uint32_t work = 0; work < starts.size(); ++work) {
    const std::uint32_t stage = work / p.microbatches % p.stages;
    runs.push_back({stage, starts[work], starts[work] + p.length(work)});
    if (runs.back()[2] > p.makespan) reject("work ends after the makespan");
  }
  std::ranges::sort(runs);
  const auto overlap = [](const auto& a, const auto& b) { return a[0] == b[0] && b[1] < a[2]; };
  if (std::ranges::adjacent_find(runs, overlap) != runs.end())
    reject("two operations overlap on a stage");
}

/// The most microbatches whose forward has begun on a stage and whose backward has not ended.
std::uint32_t peak(const Pipeline& p, const Starts& starts, std::uint32_t stage) {
  std::uint32_t most = 0;
  std::uint32_t ended = 0;
  for (std::uint32_t k = 0; k < p.microbatches; ++k) {
    const Ticks start = starts[p.forward_of(stage, k)];
    while (ended < k && starts[p.backward_of(stage, ended)] + p.backward <= start) {
      ++ended;
    }
    most = std::max(most, k + 1 - ended);
  }
  return most;
}

/// That no starts obey the rules, by cases: which of two pieces of work a stage does first.
struct Refutation {
  const Pipeline& p;
  Rules rules;
  const List& cases;
  Budget& budget;
  std::size_t next = 0;
  std::size_t depth = 0;

  /// The earliest starts that obey the rules, from earlier ones; false if some work ends too late.
  bool settle(Starts& early) {
    for (bool changed = true; changed;) {
      budget.spend(rules.size());
      changed = false;
      for (const After& rule : rules) {
        const Ticks least = early[rule.first] + rule.apart;
        if (early[rule.second] >= least) continue;
        early[rule.second] = least;
        changed = true;
        if (least + p.length(rule.second) > p.makespan) return false;
      }
    }
    return true;
  }

  void refute(Starts early) {
    if (!settle(early)) return;
    if (next == cases.size()) reject("a case is not refuted");
    if (++depth > kMaxDepth) throw CheckFailure(Verdict::Incomplete, "cases are too deep");
    const List& numbers = as_list(cases[next++]);
    if (numbers.size() != 3) malformed("a case is not [stage, forward, backward]");
    const std::uint32_t stage = as_number(numbers[0], p.stages);
    const std::uint32_t f = p.forward_of(stage, as_number(numbers[1], p.microbatches));
    const std::uint32_t b = p.backward_of(stage, as_number(numbers[2], p.microbatches));
    for (const After& rule : {After{f, b, p.forward}, After{b, f, p.backward}}) {
      rules.push_back(rule);
      refute(early);
      rules.pop_back();
    }
    --depth;
  }
};

/// Rejects unless no pipeline that ends in time holds fewer than `held` on `stage`.
void check_least(const Pipeline& p, std::uint32_t stage, std::uint32_t held, const Json& cases,
                 Budget& budget) {
  Refutation refutation{p, p.rules(), as_list(cases), budget};
  if (held > 1) {  // none holds fewer than one
    for (std::uint32_t k = held - 1; k < p.microbatches; ++k) {
      refutation.rules.push_back(
          {p.backward_of(stage, k + 1 - held), p.forward_of(stage, k), p.backward});
    }
    refutation.refute(Starts(std::size_t{2} * p.stages * p.microbatches, 0));
  }
  if (refutation.next != refutation.cases.size()) malformed("more cases than needed");
}

}  // namespace

std::string judge_pipeline(const std::string&, const Json& statement, const Files& files) {
  Budget budget;
  const Json& value = statement["pipeline.json"];
  expect_keys(value, {"stages", "microbatches", "forward", "backward", "latency", "makespan",
                      "forwards", "backwards"});
  const Pipeline p = read_pipeline(value);
  const Starts starts = read_starts(value, p);
  check_starts(p, starts);
  const Json evidence = parse_json(files, "cases.json");
  expect_keys(evidence, {"cases"});
  if (as_list(evidence["cases"]).size() != p.stages) malformed("cases: stage count mismatch");
  std::string peaks;
  for (std::uint32_t stage = 0; stage < p.stages; ++stage) {
    const std::uint32_t held = peak(p, starts, stage);
    check_least(p, stage, held, evidence["cases"][stage], budget);
    peaks += (stage == 0 ? "" : ", ") + std::to_string(held);
  }
  return "no pipeline of " + counted(p.stages, "stage") + " and " + std::to_string(p.microbatches) +
         " microbatches that takes at most " + std::to_string(p.makespan) +
         " holds fewer activations on a stage than " + peaks + " (forward " +
         std::to_string(p.forward) + ", backward " + std::to_string(p.backward) + ", latency " +
         std::to_string(p.latency) + ")";
}

}  // namespace p2::kernel
