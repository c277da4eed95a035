#include "encodings/cnf/premises.h"

#include "engine/base/invariant.h"

namespace p2::cnf {
namespace {

Literal and_of(Clauses& clauses, Literal a, Literal b) {
  const Literal both[] = {a, b};
  return clauses.all_of(both);
}

Literal or_of(Clauses& clauses, Literal a, Literal b) {
  const Literal either[] = {a, b};
  return clauses.any_of(either);
}

/// At most one of `literals` holds: a chain that remembers whether one has been met.
Literal at_most_one(Clauses& clauses, const std::vector<Literal>& literals) {
  std::vector<Literal> not_twice;
  Literal met = -clauses.truth();
  for (const Literal literal : literals) {
    not_twice.push_back(-and_of(clauses, met, literal));
    met = or_of(clauses, met, literal);
  }
  return clauses.all_of(not_twice);
}

class Premises {
 public:
  Premises(Clauses& clauses, const States& before, const Group& group)
      : clauses_(clauses), before_(before), group_(group) {}

  Literal same_chunks() {
    return for_all_chunks([&](std::uint32_t r) {
      const std::vector<Literal> rows = rows_of(r);
      return or_of(clauses_, clauses_.all_of(rows), -clauses_.any_of(rows));
    });
  }

  Literal disjoint_chunks() {
    return for_all_chunks([&](std::uint32_t r) { return at_most_one(clauses_, rows_of(r)); });
  }

  Literal disjoint() {
    return for_all_cells(
        [&](std::uint32_t r, std::uint32_t c) { return at_most_one(clauses_, cells_of(r, c)); });
  }

  /// Of a group whose devices hold the same chunks.
  Literal divisible() {
    const std::vector<Literal> at_least = counter(group_[0]);
    std::vector<Literal> multiples;
    for (std::size_t held = 0; held < at_least.size(); held += group_.size()) {
      const Literal more = held + 1 < at_least.size() ? at_least[held + 1] : -clauses_.truth();
      multiples.push_back(and_of(clauses_, at_least[held], -more));
    }
    return clauses_.any_of(multiples);
  }

  Literal equal_count() {
    const std::vector<Literal> first = counter(group_[0]);
    std::vector<Literal> equal;
    for (std::size_t i = 1; i < group_.size(); ++i) {
      const std::vector<Literal> other = counter(group_[i]);
      for (std::size_t j = 0; j < first.size(); ++j) {
        equal.push_back(or_of(clauses_, -first[j], other[j]));
        equal.push_back(or_of(clauses_, first[j], -other[j]));
      }
    }
    return clauses_.all_of(equal);
  }

  Literal contained() {
    return for_all_cells([&](std::uint32_t r, std::uint32_t c) {
      const std::vector<Literal> cells = cells_of(r, c);
      return or_of(clauses_, cells[0], -clauses_.any_of(cells));
    });
  }

  Literal informative() {
    return -for_all_cells([&](std::uint32_t r, std::uint32_t c) {
      const std::vector<Literal> cells = cells_of(r, c);
      return or_of(clauses_, -cells[0], clauses_.all_of(cells));
    });
  }

 private:
  std::vector<Literal> rows_of(std::uint32_t r) const {
    std::vector<Literal> rows;
    for (const std::uint32_t d : group_) rows.push_back(before_.row(d, r));
    return rows;
  }

  std::vector<Literal> cells_of(std::uint32_t r, std::uint32_t c) const {
    std::vector<Literal> cells;
    for (const std::uint32_t d : group_) cells.push_back(before_.cell(d, r, c));
    return cells;
  }

  /// [j]: the device holds at least j chunks.
  std::vector<Literal> counter(std::uint32_t device) {
    std::vector<Literal> rows;
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) rows.push_back(before_.row(device, r));
    return clauses_.count(rows).back();
  }

  template <typename Holds>
  Literal for_all_chunks(Holds holds) {
    std::vector<Literal> all;
    for (std::uint32_t r = 0; r < before_.chunks(); ++r) all.push_back(holds(r));
    return clauses_.all_of(all);
  }

  template <typename Holds>
  Literal for_all_cells(Holds holds) {
    return for_all_chunks([&](std::uint32_t r) {
      std::vector<Literal> all;
      for (std::uint32_t c = 0; c < before_.devices(); ++c) all.push_back(holds(r, c));
      return clauses_.all_of(all);
    });
  }

  Clauses& clauses_;
  const States& before_;
  const Group& group_;
};

}  // namespace

std::vector<NamedPremise> premises(Clauses& clauses, const States& before, const Group& group,
                                   Collective collective) {
  Premises of(clauses, before, group);
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
      return {{"same-chunks", of.same_chunks()}, {"disjoint", of.disjoint()}};
    case Collective::ReduceScatter:
      return {{"same-chunks", of.same_chunks()},
              {"disjoint", of.disjoint()},
              {"divisible", of.divisible()}};
    case Collective::AllGather:
      return {{"disjoint-chunks", of.disjoint_chunks()}, {"equal-count", of.equal_count()}};
    case Collective::Broadcast:
      return {{"contained", of.contained()}, {"informative", of.informative()}};
  }
  invariant(false, "an unknown collective");
  return {};
}

Literal holds_something(Clauses& clauses, const States& before, const Group& group) {
  std::vector<Literal> rows;
  for (const std::uint32_t d : group) {
    for (std::uint32_t r = 0; r < before.chunks(); ++r) rows.push_back(before.row(d, r));
  }
  return clauses.any_of(rows);
}

}  // namespace p2::cnf
