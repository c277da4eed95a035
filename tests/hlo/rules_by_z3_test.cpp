// The rules of the relation at every node, proved: of every small program that is enumerated, Z3
// shows what p2-check concludes, for all inputs; of a changed fact it shows that it is false.

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "tests/hlo/every_small_program.h"
#include "tests/hlo/symbolic_programs.h"

namespace p2::hlo::small {
namespace {

using interpreter::OutputElement;
using interpreter::OutputExpressions;
using kernel::xla::Fact;
using kernel::xla::Op;
using kernel::xla::Partial;
using kernel::xla::Place;
using kernel::xla::Places;

/// So many pairs are asked about together; those of so many expressions once.
constexpr std::size_t kMaxPairs = 100;
constexpr std::size_t kMaxExpressions = 20'000;
/// One of so many programs has its facts changed; of all of them fewer.
constexpr std::size_t kChangedOneOf = 8;
constexpr std::size_t kChangedOneOfMany = 64;
constexpr std::size_t kMany = 2000;
/// So many runs of a program that the engine does not execute on symbols.
constexpr int kRuns = 10;

int number_in(const char* variable, int usual) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? usual : std::atoi(given);
}

struct Counts {
  std::size_t programs = 0, operations = 0, concluded = 0, facts = 0, of_parts = 0, shares = 0;
  std::size_t elements = 0, asked = 0, changed = 0, refuted = 0, coincidences = 0, true_ones = 0;
  std::size_t by_numbers = 0;
};

/// Those that are too many for the work of one question are asked about in two.
SolverAnswer judged(const OutputExpressions& pairs) {
  SolverAnswer answer = z3_encoding::judge(pairs, {});
  if (answer.outcome != Outcome::Undecided || pairs.elements.size() < 2) return answer;
  const std::size_t half = pairs.elements.size() / 2;
  for (const bool is_first : {true, false}) {
    OutputExpressions some{pairs.expressions, {}};
    const auto middle = pairs.elements.begin() + static_cast<std::ptrdiff_t>(half);
    if (is_first)
      some.elements.assign(pairs.elements.begin(), middle);
    else
      some.elements.assign(middle, pairs.elements.end());
    answer = judged(some);
    if (!is_first) answer.element += half;
    if (answer.outcome != Outcome::Established) return answer;
  }
  return answer;
}

/// Facts that say something else than one that follows.
std::vector<Fact> changed(Places& places, const kernel::xla::Tensors& tensors, const Fact& fact) {
  std::vector<Fact> all;
  for (std::size_t k = 0; k < fact.places.size(); ++k) {
    const Place place = places.at(fact.places[k]);
    // Another place.
    for (std::size_t device = 0; device < place.devices.size(); ++device) {
      auto devices = place.devices;
      if (devices[device].empty()) continue;
      auto& each = devices[device].back();
      each.of += each.of + each.size < place.whole ? 1 : -1;
      if (each.of < 0) continue;
      Fact other = fact;
      other.places[k] = places.segments(place.size, place.whole, devices);
      all.push_back(other);
    }
    // Other devices.
    if (place.devices.size() > 1 && place.devices.front() != place.devices.back()) {
      auto devices = place.devices;
      std::swap(devices.front(), devices.back());
      Fact other = fact;
      other.places[k] = places.segments(place.size, place.whole, devices);
      all.push_back(other);
    }
    // Another permutation.
    const bool fits =
        k > 0 && tensors.at(fact.tensor).sizes[k] == tensors.at(fact.tensor).sizes[k - 1] &&
        places.at(fact.places[k - 1]).size == place.size && fact.places[k] != fact.places[k - 1];
    if (!fits) continue;
    Fact other = fact;
    std::swap(other.places[k], other.places[k - 1]);
    all.push_back(other);
  }
  if (fact.partial) {
    // A sum that is missing, another operation.
    Fact other = fact;
    other.partial.reset();
    all.push_back(other);
    Partial partial = places.partial_at(*fact.partial);
    const bool is_truth = tensors.at(fact.tensor).kind == "pred";
    partial.op = is_truth ? (partial.op == Op::And ? Op::Or : Op::And)
                          : (partial.op == Op::Add ? Op::Maximum : Op::Add);
    other.partial = places.partial(partial);
    all.push_back(other);
    // Two parts that are taken as one.
    partial = places.partial_at(*fact.partial);
    partial.copies = partial.groups;
    other.partial = places.partial(partial);
    all.push_back(other);
  } else if (!fact.view && !fact.share) {
    // A sum that is none.
    kernel::xla::Numbering alone;
    for (std::uint32_t device = 0; device < places.devices(); ++device) alone.push_back(device);
    Fact other = fact;
    other.partial = places.partial({Op::Add, places.classes(fact.places), alone});
    all.push_back(other);
  }
  if (fact.view) {
    Fact other = fact;
    if (fact.view->kind == kernel::xla::View::Kind::Only) {
      for (std::int64_t& each : other.view->from) each = 1 - each;
    } else {
      std::int64_t& each = other.view->from[0];
      each += each == -kernel::xla::kNoBound ? 0 : 1;
    }
    all.push_back(other);
  }
  if (fact.share) {
    Fact other = fact;
    other.share.reset();
    all.push_back(other);
  }
  return all;
}

/// Proofs about programs of one kind.
class Proofs {
 public:
  explicit Proofs(std::string name) : name_(std::move(name)) {}

  void prove(SmallProgram& program, const std::vector<std::string>& opcodes);
  void refute(SmallProgram& program, const std::vector<std::string>& opcodes, std::size_t which);
  /// Asks about what was added.
  void ask();

  Counts counts;

 private:
  std::string described(const std::string& program, const std::string& step) const {
    return fmt::format("{}, {}, in\n{}", name_, step, program);
  }

  /// Runs on numbers.
  void run(SmallProgram& program, const DerivedFacts& derived);

  std::string name_;
  OutputExpressions pairs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known_;  ///< that were pairs
  struct Source {
    std::size_t first = 0;  ///< pair
    std::shared_ptr<const std::string> program;
    std::string step;
  };
  std::vector<Source> sources_;
};

void Proofs::prove(SmallProgram& program, const std::vector<std::string>& opcodes) {
  DerivedFacts derived(program);
  const auto is_counted = [&](std::size_t step) {
    const auto& opcode = program.at(step).opcode;
    return std::find(opcodes.begin(), opcodes.end(), opcode) != opcodes.end();
  };
  std::set<std::size_t> concluded;
  std::vector<Fact> facts;
  for (const auto& [step, fact] : derived.all) {
    facts.push_back(fact);
    if (is_counted(step)) concluded.insert(step);
  }
  // Operations of which something is known of all operands.
  std::set<std::size_t> known;
  for (const auto& [step, fact] : derived.all) known.insert(step);
  for (std::size_t k = 0; k < program.count(); ++k) {
    const Step& step = program.at(k);
    if (step.opcode == "parameter" && !known.contains(k)) return;
    const bool has_operands = std::all_of(step.operands.begin(), step.operands.end(),
                                          [&](std::size_t each) { return known.contains(each); });
    counts.operations += is_counted(k) && (has_operands || concluded.contains(k)) ? 1 : 0;
  }
  ++counts.programs;
  counts.concluded += concluded.size();
  std::optional<SymbolicProgram> symbolic;
  try {
    symbolic.emplace(program, derived, facts, pairs_.expressions);
  } catch (const NotExecuted&) {
    return run(program, derived);
  }
  const auto text = std::make_shared<const std::string>(program.local_text());
  for (const auto& [step, fact] : derived.all) {
    const std::string name = fmt::format("v{} ({})", step, program.at(step).opcode);
    std::vector<OutputElement> elements;
    const std::string wrong = symbolic->add(step, fact, elements);
    if (!wrong.empty()) FAIL(wrong, ": ", described(*text, name));
    sources_.push_back({pairs_.elements.size(), text, name});
    for (const OutputElement& each : elements) {
      const std::pair both(each.before.value, each.after.value);
      if (both.first != both.second && known_.insert(both).second) pairs_.elements.push_back(each);
    }
    counts.elements += elements.size();
    ++counts.facts;
    counts.of_parts += fact.partial ? 1 : 0;
    counts.shares += fact.share ? 1 : 0;
  }
  if (pairs_.elements.size() >= kMaxPairs) ask();
  if (pairs_.expressions.size() > kMaxExpressions) {
    ask();
    pairs_ = {};
    known_.clear();
  }
}

void Proofs::run(SmallProgram& program, const DerivedFacts& derived) {
  ++counts.by_numbers;
  for (int k = 0; k < kRuns; ++k) {
    const auto arrays = program.executed();
    WholeTensors wholes(derived.modules.tensors(), program.inputs());
    for (const auto& [step, fact] : derived.all) {
      const std::string wrong = contradiction(derived.modules, fact, arrays[step], wholes);
      if (!wrong.empty())
        FAIL(wrong, ": ", described(program.local_text(), program.at(step).opcode));
    }
  }
}

void Proofs::ask() {
  counts.asked += pairs_.elements.size();
  const SolverAnswer answer = judged(pairs_);
  if (answer.outcome != Outcome::Established) {
    std::size_t source = 0;
    while (source + 1 < sources_.size() && sources_[source + 1].first <= answer.element) ++source;
    FAIL(to_string(answer.outcome), " ", answer.reason, ": ",
         described(*sources_.at(source).program, sources_[source].step));
  }
  pairs_.elements.clear();
  sources_.clear();
}

/// Changed facts about one operation; those that numbers contradict Z3 has to refute.
void Proofs::refute(SmallProgram& program, const std::vector<std::string>& opcodes,
                    std::size_t which) {
  const auto arrays = program.executed();
  DerivedFacts derived(program);
  WholeTensors wholes(derived.modules.tensors(), program.inputs());
  std::vector<std::pair<std::size_t, Fact>> own;
  std::copy_if(derived.all.begin(), derived.all.end(), std::back_inserter(own),
               [&](const auto& each) {
                 const auto& opcode = program.at(each.first).opcode;
                 return std::find(opcodes.begin(), opcodes.end(), opcode) != opcodes.end();
               });
  if (own.empty()) return;
  const auto& [step, fact] = own[which % own.size()];
  for (const Fact& other : changed(derived.modules.places(), derived.modules.tensors(), fact)) {
    const std::string numbers = contradiction(derived.modules, other, arrays[step], wholes);
    OutputExpressions pairs;
    std::optional<SymbolicProgram> symbolic;
    try {
      symbolic.emplace(program, derived, std::vector{other}, pairs.expressions);
    } catch (const NotExecuted&) {
      return;
    }
    const std::string wrong = symbolic->add(step, other, pairs.elements);
    ++counts.changed;
    const bool is_refuted =
        !wrong.empty() || z3_encoding::judge(pairs, {}).outcome == Outcome::Refuted;
    if (is_refuted) ++counts.refuted;
    if (is_refuted && numbers.empty()) ++counts.coincidences;
    if (!is_refuted && numbers.empty()) ++counts.true_ones;
    if (!is_refuted && !numbers.empty())
      FAIL("Z3 does not refute that ", numbers, ": ",
           described(program.local_text(), program.at(step).opcode));
  }
}

/// All programs of a kind, or, if there are more than `most`, so many that are drawn.
Counts proved(const Operations& operations, std::size_t most) {
  Proofs proofs(operations.name);
  Choices choices;
  std::size_t number = 0;
  do {
    SmallProgram program(0, chosen_devices(choices));
    operations.make(program, choices);
    ++number;
  } while (number <= most && choices.next());
  const bool is_drawn = number > most;
  choices = is_drawn ? Choices(0) : Choices();
  const std::size_t changed = number > kMany && !is_drawn ? kChangedOneOfMany : kChangedOneOf;
  number = 0;
  do {
    SmallProgram program(0, chosen_devices(choices));
    operations.make(program, choices);
    const std::uint32_t which = static_cast<std::uint32_t>(++number) * 2654435761U >> 8U;
    if (program.count() == 0) continue;
    proofs.prove(program, operations.opcodes);
    if (which % changed == 0) proofs.refute(program, operations.opcodes, which);
  } while (!(is_drawn && number >= most) && choices.next());
  proofs.ask();
  return proofs.counts;
}

TEST_CASE("Z3 proves what follows by the rules, of every small shape") {
  const char* const only = std::getenv("P2_RULES_KIND");
  auto kinds = computing_operations();
  for (const auto& more : {function_operations(), communicating_operations(), indexing_operations(),
                           lookup_operations(), expanded_operations(), halo_operations()})
    kinds.insert(kinds.end(), more.begin(), more.end());
  for (const Operations& kind : kinds) {
    if (only != nullptr && kind.name != only) continue;
    const auto begin = std::chrono::steady_clock::now();
    const int most = number_in("P2_RULES_PROGRAMS", static_cast<int>(kind.programs));
    const Counts counts = proved(kind, most > 0 ? static_cast<std::size_t>(most) : kind.most);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    MESSAGE(fmt::format(
        "{}: {} programs, {} operations, {} concluded, {} facts ({} of parts, {} shares), {} "
        "elements, {} asked, {} programs by numbers, {} changed facts, {} refuted ({} by numbers "
        "not), {} true; {:.1f} s",
        kind.name, counts.programs, counts.operations, counts.concluded, counts.facts,
        counts.of_parts, counts.shares, counts.elements, counts.asked, counts.by_numbers,
        counts.changed, counts.refuted, counts.coincidences, counts.true_ones, time.count()));
    CHECK(counts.concluded > 0);
    CHECK(counts.refuted > 0);
    CHECK(counts.of_parts >= kind.parts);
  }
}

}  // namespace
}  // namespace p2::hlo::small
