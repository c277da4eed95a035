#include "encodings/cnf/solver.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include <cadical.hpp>

#include "engine/base/invariant.h"
#include "engine/base/limits.h"

namespace p2::cnf {
namespace {

const Limits kNoLimits;

}  // namespace

Clauses::Clauses() : Clauses(kNoLimits) {}

Clauses::Clauses(const Limits& limits) : watch_(limits, "building clauses") { add({fresh()}); }

Literal Clauses::fresh() { return ++variables_; }

std::vector<Literal> Clauses::fresh(std::size_t count) {
  watch_.require_room(count * sizeof(Literal));
  std::vector<Literal> literals(count);
  for (Literal& literal : literals) literal = fresh();
  return literals;
}

void Clauses::add(std::initializer_list<Literal> clause) {
  add(std::span<const Literal>(clause.begin(), clause.size()));
}

void Clauses::add(std::span<const Literal> clause) {
  watch_.step();
  watch_.require_growth(literals_, clause.size() + 1);
  literals_.insert(literals_.end(), clause.begin(), clause.end());
  literals_.push_back(0);
}

Literal Clauses::all_of(std::span<const Literal> literals) {
  const Literal all = fresh();
  std::vector<Literal> converse{all};
  for (const Literal literal : literals) {
    add({-all, literal});
    converse.push_back(-literal);
  }
  add(converse);
  return all;
}

Literal Clauses::any_of(std::span<const Literal> literals) {
  const Literal any = fresh();
  std::vector<Literal> some{-any};
  for (const Literal literal : literals) {
    add({any, -literal});
    some.push_back(literal);
  }
  add(some);
  return any;
}

void Clauses::equal_if(Literal guard, Literal a, Literal b) {
  add({-guard, -a, b});
  add({-guard, a, -b});
}

void Clauses::at_most_one_if(Literal guard, std::span<const Literal> literals) {
  for (std::size_t i = 0; i < literals.size(); ++i) {
    for (std::size_t j = i + 1; j < literals.size(); ++j) {
      add({-guard, -literals[i], -literals[j]});
    }
  }
}

std::vector<std::vector<Literal>> Clauses::count(std::span<const Literal> literals) {
  std::vector<std::vector<Literal>> at_least{{truth()}};
  for (std::size_t i = 1; i <= literals.size(); ++i) {
    const std::vector<Literal>& before = at_least.back();
    const Literal last = literals[i - 1];
    std::vector<Literal> now{truth()};
    for (std::size_t j = 1; j <= i; ++j) {
      // At least j of i: at least j before, or j − 1 before and the last one.
      const Literal enough = j < before.size() ? before[j] : -truth();
      const Literal together[] = {before[j - 1], last};
      const Literal either[] = {enough, all_of(together)};
      now.push_back(any_of(either));
    }
    at_least.push_back(std::move(now));
  }
  return at_least;
}

namespace {

constexpr std::size_t kLiteralsPerCheck = 256;

/// Literals that hold in every model.
class Facts {
 public:
  explicit Facts(std::int32_t variables)
      : signs_(static_cast<std::size_t>(variables) + 1, std::int8_t{0}) {}

  void add(Literal literal) { signs_[variable(literal)] = literal > 0 ? 1 : -1; }
  bool contain(Literal literal) const {
    return signs_[variable(literal)] == (literal > 0 ? 1 : -1);
  }

 private:
  static std::size_t variable(Literal literal) {
    return static_cast<std::size_t>(std::abs(literal));
  }

  std::vector<std::int8_t> signs_;  ///< by variable: of the literal that holds; 0 for neither
};

}  // namespace

DratTrace::DratTrace() : file_(std::tmpfile()) {
  if (!file_) throw ToolError("no temporary file for the solver's proof");
}

void DratTrace::add(bool learnt, std::span<const Literal> clause) const {
  std::string bytes(1, learnt ? 'a' : 'd');
  for (const Literal literal : clause) {
    auto number = 2 * static_cast<std::uint64_t>(std::abs(literal)) + (literal < 0 ? 1 : 0);
    for (; number >= 128; number >>= 7) bytes += static_cast<char>(number | 128);
    bytes += static_cast<char>(number);
  }
  bytes += '\0';
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    throw ToolError("no room for the proof in a temporary file");
  }
}

void DratTrace::for_each(
    const std::function<bool(bool learnt, std::span<const Literal> clause)>& visit) const {
  std::rewind(file_.get());
  std::vector<Literal> clause;
  for (int kind = std::getc(file_.get()); kind != EOF; kind = std::getc(file_.get())) {
    if (kind != 'a' && kind != 'd') throw ToolError("the solver's proof is not DRAT");
    clause.clear();
    while (true) {
      std::uint64_t number = 0;
      for (unsigned shift = 0;; shift += 7) {
        const int byte = std::getc(file_.get());
        if (byte == EOF || shift > 56) throw ToolError("the solver's proof is cut off");
        number |= static_cast<std::uint64_t>(byte & 127) << shift;
        if (byte < 128) break;
      }
      if (number == 0) break;
      const auto variable = static_cast<Literal>(number / 2);
      clause.push_back(number % 2 == 0 ? variable : -variable);
    }
    if (!visit(kind == 'a', clause)) return;
  }
}

std::string solver_version() { return CaDiCaL::Solver::version(); }

struct Solver::Backend : CaDiCaL::Terminator {
  explicit Backend(const Limits& given)
      : limits(given), watch(given, "passing clauses to the solver") {
    solver.set("quiet", 1);
    solver.set("inprocessing", 0);
    solver.connect_terminator(this);
  }
  ~Backend() override { solver.disconnect_terminator(); }
  bool terminate() override { return limits.exceeded(bytes); }

  const Limits& limits;
  LimitWatch watch;
  std::size_t bytes = 0;
  CaDiCaL::Solver solver;
};

Solver::Solver(const Limits& limits) : backend_(std::make_unique<Backend>(limits)) {}

Solver::~Solver() = default;

void Solver::write_proof(const DratTrace& trace) {
  invariant(backend_->solver.trace_proof(trace.file(), "proof"),
            "the solver refuses to write a proof");
}

void Solver::add(std::span<const Literal> clauses) {
  backend_->bytes += clauses.size() * sizeof(Literal);
  for (std::size_t begin = 0; begin < clauses.size(); begin += kLiteralsPerCheck) {
    backend_->watch.step();
    for (const Literal literal :
         clauses.subspan(begin, std::min(kLiteralsPerCheck, clauses.size() - begin))) {
      backend_->solver.add(literal);
    }
  }
}

void Solver::exclude(std::span<const Literal> literals) {
  for (const Literal literal : literals) backend_->solver.add(-literal);
  backend_->solver.add(0);
}

bool Solver::possible(Literal assumed) {
  backend_->solver.assume(assumed);
  return possible();
}

bool Solver::possible() {
  const Limits& limits = backend_->limits;
  limits.require(backend_->bytes, "solving clauses");
  if (limits.work) {
    constexpr std::uint64_t kMax = std::numeric_limits<int>::max();
    backend_->solver.limit("conflicts", static_cast<int>(std::min(*limits.work, kMax)));
  }
  const int answer = backend_->solver.solve();
  if (answer == 0) throw LimitReached(LimitReached::Kind::Work, "a limit stopped the SAT solver");
  return answer == 10;
}

bool Solver::holds(Literal literal) const { return backend_->solver.val(literal) > 0; }

void Solver::finish_proof() { backend_->solver.flush_proof_trace(); }

Model::Model(const Solver& solver, std::int32_t variables)
    : true_(static_cast<std::size_t>(variables) + 1) {
  for (Literal variable = 1; variable <= variables; ++variable) {
    true_[static_cast<std::size_t>(variable)] = solver.holds(variable);
  }
}

Formula::Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits)
    : Solver(limits) {
  Facts facts(clauses.variables());
  std::vector<Literal> open;
  const auto add_open = [&] {
    if (open.size() == 1) facts.add(open[0]);
    open.push_back(0);
    add(open);
    open.clear();
  };
  for (const Literal literal : known) {
    open.push_back(literal);
    add_open();
  }
  bool holds = false;
  for (const Literal literal : clauses.literals()) {
    if (literal != 0) {
      holds = holds || facts.contain(literal);
      if (!facts.contain(-literal)) open.push_back(literal);
      continue;
    }
    if (!holds) add_open();
    open.clear();
    holds = false;
  }
}

}  // namespace p2::cnf
