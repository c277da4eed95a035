#include "proofs/definition/symbolic_violation.h"

#include <functional>
#include <numeric>

namespace p2::definition {
namespace {

using z3_encoding::GroupRows;

z3::expr none(const z3::expr& like) { return like.ctx().bv_val(0, like.get_sort().bv_size()); }

/// The union of rows; there is one at least.
z3::expr united(const std::vector<z3::expr>& rows) {
  z3::expr all = rows[0];
  for (std::size_t i = 1; i < rows.size(); ++i) all = all | rows[i];
  return all;
}

std::vector<z3::expr> rows_of(const GroupRows& group, std::uint32_t chunk) {
  std::vector<z3::expr> rows;
  for (std::uint32_t i = 0; i < group.positions(); ++i) rows.push_back(group.row(i, chunk));
  return rows;
}

z3::expr all_of(const GroupRows& group) {
  std::vector<z3::expr> chunks;
  for (std::uint32_t r = 0; r < group.chunks(); ++r) chunks.push_back(united(rows_of(group, r)));
  return united(chunks);
}

/// The union of those rows that are no more than `wanted`.
z3::expr of_whole_rows(const std::vector<z3::expr>& rows, const z3::expr& wanted) {
  std::vector<z3::expr> parts;
  parts.reserve(rows.size());
  for (const z3::expr& row : rows) {
    parts.push_back(z3::ite((row & ~wanted) == none(row), row, none(row)));
  }
  return united(parts);
}

/// What adding can make of the rows of one chunk: for every subset of the positions its union, and
/// whether it is disjoint.
class Additions {
 public:
  explicit Additions(const std::vector<z3::expr>& rows) {
    sums_.push_back({none(rows[0]), rows[0].ctx().bool_val(true)});
    for (const z3::expr& row : rows) {
      const std::size_t without = sums_.size();
      for (std::size_t i = 0; i < without; ++i) {
        const Sum part = sums_[i];
        sums_.push_back({part.row | row, part.disjoint && (part.row & row) == none(row)});
      }
    }
  }

  z3::expr make(const z3::expr& wanted) const {
    z3::expr_vector any(wanted.ctx());
    for (const Sum& sum : sums_) any.push_back(sum.disjoint && sum.row == wanted);
    return z3::mk_or(any);
  }

 private:
  struct Sum {
    z3::expr row;
    z3::expr disjoint;
  };
  std::vector<Sum> sums_;
};

/// Of a chunk's rows before and one of its rows after, whether it breaks the claim.
z3::expr row_broken(Claim claim, const std::vector<z3::expr>& before, const Additions& additions,
                    const z3::expr& all, const z3::expr& after) {
  const z3::expr from_chunk = (after & ~united(before)) == none(after);
  const z3::expr whole = of_whole_rows(before, after) == after;
  switch (claim) {
    case Claim::NothingInvented:
      return (after & ~all) != none(after);
    case Claim::ChunksApart:
      return (after & all & ~united(before)) != none(after);
    case Claim::SumsWhole:
      return from_chunk && !whole;
    case Claim::NoDoubleCount:
      return whole && !additions.make(after);
    default:
      return !additions.make(after);
  }
}

z3::expr some_row_broken(Claim claim, const SymbolicStep& step) {
  const z3::expr all = all_of(step.before());
  z3::expr_vector any(all.ctx());
  for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
    const std::vector<z3::expr> before = rows_of(step.before(), r);
    const Additions additions(before);
    for (const z3::expr& after : rows_of(step.after(), r)) {
      any.push_back(row_broken(claim, before, additions, all, after));
    }
  }
  return z3::mk_or(any);
}

z3::expr something_lost(const SymbolicStep& step) {
  z3::expr_vector any(step.before().row(0, 0).ctx());
  for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
    const z3::expr held = united(rows_of(step.before(), r));
    any.push_back((held & ~united(rows_of(step.after(), r))) != none(held));
  }
  return z3::mk_or(any);
}

/// That one of the positions from `first` to before `end` has less in a chunk afterwards.
z3::expr some_position_drops(const SymbolicStep& step, std::uint32_t first, std::uint32_t end) {
  z3::expr_vector any(step.before().row(0, 0).ctx());
  for (std::uint32_t i = first; i < end; ++i) {
    for (std::uint32_t r = 0; r < step.before().chunks(); ++r) {
      const z3::expr& held = step.before().row(i, r);
      any.push_back((held & ~step.after().row(i, r)) != none(held));
    }
  }
  return z3::mk_or(any);
}

using Exchange = std::function<GroupRows(const GroupRows&)>;

/// `order[i]` is what comes to place i.
std::vector<std::uint32_t> exchanged_order(std::uint32_t size, std::uint32_t first) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  std::swap(order[first], order[first + 1]);
  return order;
}

Exchange positions_from(std::uint32_t first) {
  return [first](const GroupRows& group) {
    std::vector<z3::expr> rows;
    for (const std::uint32_t i : exchanged_order(group.positions(), first)) {
      for (std::uint32_t r = 0; r < group.chunks(); ++r) rows.push_back(group.row(i, r));
    }
    return GroupRows(std::move(rows), group.positions());
  };
}

Exchange contributors_from(std::uint32_t first) {
  return [first](const GroupRows& group) {
    const std::vector<std::uint32_t> order = exchanged_order(group.contributors(), first);
    std::vector<z3::expr> rows;
    for (std::uint32_t i = 0; i < group.positions(); ++i) {
      for (std::uint32_t r = 0; r < group.chunks(); ++r) {
        const z3::expr& row = group.row(i, r);
        z3::expr bits = row.extract(order[0], order[0]);
        for (std::size_t c = 1; c < order.size(); ++c) {
          bits = z3::concat(row.extract(order[c], order[c]), bits);
        }
        rows.push_back(bits);
      }
    }
    return GroupRows(std::move(rows), group.positions());
  };
}

/// Whether one of `exchanges` does not commute with the step.
z3::expr some_exchange_matters(z3::context& context, SymbolicStep& step,
                               const std::vector<Exchange>& exchanges) {
  z3::expr_vector any(context);
  for (const Exchange& exchange : exchanges) {
    SymbolicStep other(context, step.rule(), exchange(step.before()));
    any.push_back(!(other.legal() && same_rows(other.after(), exchange(step.after()))));
  }
  return z3::mk_or(any);
}

}  // namespace

z3::expr broken(z3::context& context, Claim claim, SymbolicStep& step) {
  std::vector<Exchange> exchanges;
  switch (claim) {
    case Claim::KeepsAll:
      return something_lost(step);
    case Claim::RootKeeps:
      return some_position_drops(step, 0, 1);
    case Claim::OthersKeep:
      return some_position_drops(step, 1, step.before().positions());
    case Claim::MeasureRises:
      return !step.measure_rises();
    case Claim::ContributorsAlike:
      for (std::uint32_t c = 0; c + 1 < step.before().contributors(); ++c) {
        exchanges.push_back(contributors_from(c));
      }
      return some_exchange_matters(context, step, exchanges);
    case Claim::PositionsAlike:
    case Claim::NonRootsAlike:
      for (std::uint32_t i = claim == Claim::PositionsAlike ? 0 : 1;
           i + 1 < step.before().positions(); ++i) {
        exchanges.push_back(positions_from(i));
      }
      return some_exchange_matters(context, step, exchanges);
    default:
      return some_row_broken(claim, step);
  }
}

}  // namespace p2::definition
