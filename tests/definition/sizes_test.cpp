#include <array>
#include <set>

#include "proofs/definition/every_size.h"
#include "proofs/definition/exploration.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"
#include "tests/definition/examined.h"
#include "tests/definition/random_definitions.h"

namespace p2::definition {
namespace {

/// AllReduce with another premise, and with the rows disjoint only where `disjoint` holds.
Definition all_reduce(const std::string& premise, const std::string& disjoint = "true") {
  return language::parse_definition(
      "test.p2c",
      "collective Test \"\" "
      "let held(i in group, r in chunks) = exists c in contributors: s(i, r, c) "
      "let amount(i in group, r in chunks) = count c in contributors: s(i, r, c) "
      "let limit = 3 * 3 "
      "require own \"\": " +
          premise +
          " require same-chunks \"\": "
          "forall i, j in group, r in chunks: held(i, r) iff held(j, r) "
          "require disjoint \"\": forall i, j in group, r in chunks, c in contributors: "
          "(" +
          disjoint +
          ") and i < j implies not (s(i, r, c) and s(j, r, c)) "
          "ensure s'(i, r, c) = exists j in group: s(j, r, c) "
          "measure sum i in group, r in chunks: amount(i, r) * amount(i, r)");
}

Definition square_all_to_all() {
  return language::parse_definition(
      "test.p2c",
      "collective Square \"\" "
      "let held(i in group, r in chunks) = exists c in contributors: s(i, r, c) "
      "require square \"\": k = n * n "
      "require blocks \"\": forall i in group, r in chunks: held(i, r) implies r / n = i "
      "require informative \"\": exists i in group, r in chunks: held(i, r) and r % n != i "
      "ensure s'(i, r, c) = r % n = i and exists j in group: s(j, r, c) "
      "measure count i in group, r in chunks: held(i, r) and r % n = i");
}

Check satisfiable(const Definition& definition, std::uint32_t max_group = 3) {
  return check_called(examined(definition, max_group), "satisfiable");
}

std::vector<std::size_t> all_premises(const Definition& definition) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < definition.premises.size(); ++i) all.push_back(i);
  return all;
}

std::vector<Shape> enumerable_shapes() {
  return {{2, 1, 3}, {2, 2, 2}, {2, 3, 1}, {3, 1, 3}, {3, 2, 1}, {3, 3, 1}, {4, 1, 2}};
}

}  // namespace

TEST_CASE("n * n chunks are found, and the steps with so many are examined") {
  const Findings findings = examined(square_all_to_all(), 3);
  CHECK(refuted(findings).empty());
  CHECK(check_called(findings, "satisfiable").detail == "legal steps for n = 2, 3 (k = 9)");
  CHECK(findings.sizes_text() == "groups of 2 to 3, up to 2n chunks; n = 3, k = 9");
  // What is wrong with so many chunks only is found.
  Definition wrong = square_all_to_all();
  wrong.measure =
      language::parse_definition("test.p2c",
                                 "collective T \"\" ensure s'(i, r, c) = s(i, r, c) measure "
                                 "count i in group, r in chunks: k <= 4 and r % n = i and "
                                 "exists c in contributors: s(i, r, c)")
          .measure;
  CHECK(refuted(examined(wrong, 3)) == "measure");
}

TEST_CASE("a premise on n alone says for which groups there are steps, and refutes nothing") {
  const Check powers = satisfiable(all_reduce("n = 2 or n = 4 or n = 8"));
  CHECK(powers.verdict == Outcome::Established);
  CHECK(powers.detail == "legal steps for n = 2; none for n = 3");
  const Check odd = satisfiable(all_reduce("n % 2 = 1"));
  CHECK(odd.verdict == Outcome::Established);
  CHECK(odd.detail == "legal steps for n = 3; none for n = 2");
}

TEST_CASE("where only larger groups have steps the answer is unknown, and says which") {
  const Check eight = satisfiable(all_reduce("n = 8"));
  CHECK(eight.verdict == Outcome::Undecided);
  CHECK(eight.detail == "none for n = 2, 3; there are for n = 8, k = 1");
  const Check huge = satisfiable(all_reduce("n > 1000"));
  CHECK(huge.verdict == Outcome::Undecided);
  CHECK(huge.detail == "none for n = 2, 3; none found for larger n up to 16");
}

TEST_CASE("where no steps are found, the bound on the number of chunks is named") {
  const Check many = satisfiable(all_reduce("k > 5000"), 2);
  CHECK(many.verdict == Outcome::Undecided);
  CHECK(many.detail == "none found for n = 2 up to k = 256; none found for larger n up to 16");
  CHECK(satisfiable(all_reduce("k = 100"), 2).detail == "legal steps for n = 2 (k = 100)");
  // Nothing that depends on the state is known without being asked.
  const Check total = satisfiable(
      all_reduce("(count r in chunks: exists c in contributors: s(0, r, c)) = n * n + 3"), 2);
  CHECK(total.detail == "legal steps for n = 2 (k = 7)");
}

TEST_CASE("only what is proved for every n and k is unsatisfiable") {
  for (const char* never : {"false", "n % 2 = 1 and n % 2 = 0", "k < n and n <= k",
                            "forall i in group, r in chunks: i = 0 or not held(i, r)"}) {
    CAPTURE(never);
    const Check check = satisfiable(all_reduce(never), 2);
    // The last one forbids what same-chunks asks for.
    CHECK(check.verdict == Outcome::Refuted);
    CHECK(check.every_size);
  }
  // True for no n and k, but only arithmetic says so.
  CHECK(satisfiable(all_reduce("n * n < n"), 2).verdict == Outcome::Undecided);
}

TEST_CASE("what fails only from 9 devices or 17 chunks on is found") {
  for (const char* disjoint :
       {"n < 9", "k <= 16", "n < 9 or k < 2", "n * n * k < 150", "n <= limit", "r < 17", "r <= 40",
        "i < 9", "amount(i, r) < 12", "n + k != 19", "n % 11 != 0", "k < 100"}) {
    CAPTURE(disjoint);
    const Findings findings = examined(all_reduce("true", disjoint), 3);
    const std::string found = refuted(findings);
    CHECK(found.find("no-double-count realisable") != std::string::npos);
    const Check check = check_called(findings, "no-double-count");
    REQUIRE(check.counterexample);
    const language::GroupState& before = *check.counterexample->before;
    CHECK((before.devices() > 3 || before.chunks() > 6 || before.contributors() > 4));
    // By the definition of a double count, without the examination.
    const auto step = take(all_reduce("true", disjoint), before);
    REQUIRE(step);
    CHECK(violation(Claim::NoDoubleCount, *step));
  }
}

TEST_CASE("what only fails far away is not claimed to hold for every size") {
  const Findings findings = examined(all_reduce("true", "n * k < 5000000"), 2);
  CHECK(refuted(findings).empty());
  for (const char* name : {"sums-whole", "no-double-count", "realisable", "measure"}) {
    CHECK_FALSE(check_called(findings, name).every_size);
  }
  CHECK(findings.sizes_text() == "groups of 2 to 2, up to 2n chunks");
}

TEST_CASE("what is proved for every size holds of every state of small groups") {
  RandomDefinitions definitions;
  std::set<Claim> proved_once;
  std::size_t never = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string text = definitions.next();
    CAPTURE(text);
    const Definition definition = language::parse_definition("random.p2c", text);
    const ProvedClaims proved = proved_for_every_size(definition, {});
    const bool never_runs = never_legal(definition, all_premises(definition), {}, {});
    never += never_runs ? 1 : 0;
    std::set<std::uint32_t> excluded;
    for (const std::uint32_t n : {2U, 3U}) {
      if (never_legal(definition, all_premises(definition), n, {})) excluded.insert(n);
    }
    if (never_runs) CHECK(excluded.size() == 2);
    for (const Claim claim : kClaims) {
      if (proved[index_of(claim)]) proved_once.insert(claim);
    }
    for (const Shape& shape : enumerable_shapes()) {
      for_each_state(shape, true, 1, {}, [&](const language::GroupState& before) {
        const std::optional<Step> step = take(definition, before);
        if (!step) return;
        if (never_runs || excluded.count(shape.devices) == 1) FAIL("a legal step where none is");
        for (const Claim claim : kClaims) {
          if (proved[index_of(claim)] && violation(claim, *step)) {
            FAIL(std::string(name_of(claim)) << " " << language::state_json(before));
          }
        }
      });
    }
  }
  CHECK(proved_once.size() >= 7);
  CHECK(never >= 2);
}

TEST_CASE("the numbers of contributors are found wherever they matter") {
  for (const char* own :
       {"forall c in contributors: s(0, 0, c) implies c < 2", "(sum c in contributors: c) > 2",
        "forall r in chunks, c, d in contributors: s(0, r, c) and s(0, r, d) implies c = d"}) {
    std::string premise = own;
    if (premise.find("s(0, 0") != std::string::npos) {
      premise = "forall r in chunks, c in contributors: s(0, r, c) implies c < 2";
    }
    CAPTURE(premise);
    CHECK_FALSE(proved_for_every_size(all_reduce(premise), {})[index_of(Claim::ContributorsAlike)]);
  }
  CHECK(proved_for_every_size(all_reduce("n > 0"), {})[index_of(Claim::ContributorsAlike)]);
}

TEST_CASE("in groups of more than 8, what Z3 calls a double count is one") {
  std::mt19937_64 random(5);
  const Definition definition = all_reduce("true", "false");
  const z3_encoding::Rule rule(definition);
  std::array<int, 2> seen{};
  for (int i = 0; i < 120; ++i) {
    language::GroupState state(9, 1, 4);
    for (std::uint32_t position = 0; position < 9; ++position) {
      for (std::uint32_t c = 0; c < 4; ++c) {
        state.set(position, 0, c, random() % 4 == 0 && (i % 2 == 0 || position < 4));
      }
    }
    // Every device holds the chunk, as same-chunks asks.
    for (std::uint32_t position = 0; position < 9; ++position) {
      if (row(state, position, 0) == 0) state.set(position, 0, 3, true);
    }
    z3::context context;
    std::vector<z3::expr> rows;
    for (std::uint32_t position = 0; position < 9; ++position) {
      rows.push_back(context.bv_val(row(state, position, 0), 4));
    }
    SymbolicStep step(context, rule, {rows, 9});
    const auto taken = take(definition, state);
    REQUIRE(taken);
    for (const Claim claim : {Claim::NoDoubleCount, Claim::Realisable}) {
      const bool by_z3 = broken(context, claim, step).simplify().is_true();
      const bool by_interpreter = violation(claim, *taken).has_value();
      if (by_z3) CHECK(by_interpreter);
      ++seen[by_z3 ? 1 : 0];
    }
  }
  CHECK(seen[0] > 0);
  CHECK(seen[1] > 0);
}

TEST_CASE("a row is realisable exactly if some disjoint rows make it, tried one by one") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto devices = static_cast<std::uint32_t>(2 + random() % 5);
    language::GroupState before(devices, 1, 4);
    language::GroupState after(devices, 1, 4);
    for (std::uint32_t position = 0; position < devices; ++position) {
      for (std::uint32_t c = 0; c < 4; ++c) before.set(position, 0, c, random() % 3 == 0);
    }
    const Row wanted = static_cast<Row>(random() % 16);
    for (std::uint32_t c = 0; c < 4; ++c) after.set(0, 0, c, (wanted >> c & 1U) == 1);
    bool made = false;
    for (std::uint32_t subset = 0; subset < (1U << devices); ++subset) {
      Row sum = 0;
      bool disjoint = true;
      for (std::uint32_t position = 0; position < devices; ++position) {
        if ((subset >> position & 1U) == 0) continue;
        disjoint = disjoint && (sum & row(before, position, 0)) == 0;
        sum |= row(before, position, 0);
      }
      made = made || (disjoint && sum == wanted);
    }
    const Step step{language::built_in("AllReduce"), before, after};
    CHECK(violation(Claim::Realisable, step).has_value() != made);
  }
}

TEST_CASE("sizes that the premises exclude are told from others without a state") {
  const Definition square = square_all_to_all();
  CHECK(admits(square, 3, 9));
  CHECK_FALSE(admits(square, 3, 8));
  for (const Shape& shape : probe_shapes(square, 4)) {
    CHECK(shape.chunks == shape.devices * shape.devices);
  }
}

}  // namespace p2::definition
