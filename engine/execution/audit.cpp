#include "engine/execution/audit.h"

#include <algorithm>
#include <cmath>

namespace p2::execution {

Expectation::Expectation(const Program& program, Dialect dialect)
    : states_(program.chunks()), collective_(program.terms.goal.collective) {
  decision_ = check(program, dialect, states_, {},
                    [&](std::size_t, const SystemState& state) { after_.push_back(state); });
  goal_ = ends_of(program.terms.goal, program.beginning, program.classes, program.devices, states_)
              .goal;
  for (const Group& members : program.classes) {
    largest_class_ = std::max(largest_class_, static_cast<std::uint32_t>(members.size()));
  }
}

namespace {

constexpr std::size_t kComparedAtOnce = 4096;  // elements compared at a time

class Auditor {
 public:
  Auditor(const Held& held, const Inputs& inputs, std::size_t step)
      : held_(held), inputs_(inputs), step_(static_cast<std::uint32_t>(step)) {}

  /// Compares row `row` of the buffer with chunk `chunk` summed over `contributors`.
  void compare(std::size_t row, std::size_t chunk, std::span<const std::uint32_t> contributors) {
    for_blocks(chunk, contributors, [&](std::size_t first, std::size_t offset, std::size_t count) {
      const std::size_t at = row * held_.chunk_elements + offset;
      with_type(inputs_.type, [&](auto zero) {
        const auto* got = reinterpret_cast<const decltype(zero)*>(held_.elements.data()) + at;
        for (std::size_t i = 0; i < count; ++i) {
          const auto value = static_cast<double>(got[i]);
          // The negation catches what is not a number.
          if (!(std::abs(value - reference_.sum[i]) <= reference_.bound[i])) {
            audit_.add({held_.rank, step_, false, first + i, value, reference_.sum[i]});
          }
        }
      });
    });
  }

  /// Counts a chunk that the rank lacks.
  void miss(std::size_t chunk, std::span<const std::uint32_t> contributors) {
    for_blocks(chunk, contributors, [&](std::size_t first, std::size_t, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        audit_.add({held_.rank, step_, true, first + i, 0, reference_.sum[i]});
      }
    });
  }

  const Audit& audit() const { return audit_; }

 private:
  template <typename Visit>
  void for_blocks(std::size_t chunk, std::span<const std::uint32_t> contributors, Visit visit) {
    for (std::size_t offset = 0; offset < held_.chunk_elements; offset += kComparedAtOnce) {
      const std::size_t count = std::min(kComparedAtOnce, held_.chunk_elements - offset);
      const std::size_t first = chunk * held_.chunk_elements + offset;
      reference_.compute(inputs_, contributors, first, count);
      visit(first, offset, count);
      audit_.compared += count;
    }
  }

  const Held& held_;
  const Inputs& inputs_;
  std::uint32_t step_;
  Reference reference_;
  Audit audit_;
};

}  // namespace

void Audit::add(const WrongElement& element) {
  if (wrong < kShown) shown[wrong] = element;
  ++wrong;
}

void Audit::join(const Audit& other) {
  const std::size_t known = std::min<std::uint64_t>(wrong, kShown);
  const std::size_t more = std::min<std::uint64_t>(other.wrong, kShown - known);
  std::copy_n(other.shown.begin(), more, shown.begin() + static_cast<std::ptrdiff_t>(known));
  compared += other.compared;
  wrong += other.wrong;
}

Audit audit_step(const Held& held, const Inputs& inputs, const Expectation& expectation,
                 std::size_t step) {
  Auditor auditor(held, inputs, step);
  for (std::size_t row = 0; row < held.chunks.size(); ++row) {
    const std::uint32_t chunk = held.chunks[row];
    auditor.compare(row, chunk, expectation.after(step, held.rank, chunk));
  }
  return auditor.audit();
}

Audit audit_result(const Held& held, const Inputs& inputs, const Expectation& expectation) {
  Auditor auditor(held, inputs, 0);
  std::size_t row = 0;
  for (std::uint32_t chunk = 0; chunk < expectation.chunks(); ++chunk) {
    const Contributors wanted = expectation.goal(held.rank, chunk);
    const bool is_held = row < held.chunks.size() && held.chunks[row] == chunk;
    if (!wanted.empty()) {
      if (is_held) {
        auditor.compare(row, chunk, wanted);
      } else {
        auditor.miss(chunk, wanted);
      }
    }
    row += is_held ? 1 : 0;
  }
  return auditor.audit();
}

}  // namespace p2::execution
