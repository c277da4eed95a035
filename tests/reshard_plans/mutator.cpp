#include "tests/reshard_plans/mutator.h"

#include <algorithm>

#include "engine/reshard/plans/plan_check.h"

namespace p2::reshard {
namespace {

class Mutator {
 public:
  Mutator(Plan& plan, std::mt19937& random) : plan_(plan), random_(random) {
    const Partners partners = partners_of(plan);
    const auto count = plan.transfers();
    std::size_t chosen = below(count);
    for (std::uint32_t d = 0; d < plan.programs.size(); ++d) {
      for (std::size_t s = 0; s < plan.programs[d].size(); ++s) {
        for (std::size_t i = 0; i < plan.programs[d][s].size(); ++i) {
          if (!plan.programs[d][s][i].sends || chosen-- != 0) continue;
          send_ = {d, s, i};
          receive_ = partners[d][s][i];
        }
      }
    }
    half_ = below(3);
  }

  std::string mutate() {
    static constexpr std::string_view kNames[] = {"dropped", "doubled", "reordered", "retargeted",
                                                  "shifted", "resized", "buffer",    "merged"};
    static constexpr std::size_t kKinds[] = {0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6, 7, 7, 7};
    const std::size_t kind = kKinds[below(std::size(kKinds))];
    switch (kind) {
      case 0:
        both([&](const OperationPlace& place) {
          step(place).erase(step(place).begin() + at(place));
        });
        break;
      case 1:
        both([&](const OperationPlace& place) {
          const Operation copy = step(place)[place.index];
          const std::size_t to = below(program(place).size());
          program(place)[to].push_back(copy);
        });
        break;
      case 2:
        reorder();
        break;
      case 3:
        retarget();
        break;
      case 4:
        change_box([&](Box& box, std::size_t i, std::int64_t by) {
          box.low[i] += by;
          box.high[i] += by;
        });
        break;
      case 5:
        change_box([&](Box& box, std::size_t i, std::int64_t by) {
          (by > 0 ? box.low : box.high)[i] += below(2) == 0 ? 1 : -1;
        });
        break;
      case 6: {
        Operation& send = step(send_)[send_.index];
        send.buffer = send.buffer == Buffer::Source ? Buffer::Destination : Buffer::Source;
        break;
      }
      default:
        merge_steps();
    }
    return std::string(kNames[kind]);
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  DeviceProgram& program(const OperationPlace& place) { return plan_.programs[place.device]; }
  Step& step(const OperationPlace& place) { return program(place)[place.step]; }
  static std::ptrdiff_t at(const OperationPlace& place) {
    return static_cast<std::ptrdiff_t>(place.index);
  }

  /// Does it to the send, the receive or both; the later of two in one step first.
  template <typename Do>
  void both(Do change) {
    const bool same = receive_ && receive_->device == send_.device && receive_->step == send_.step;
    const bool receive_first = same && receive_->index > send_.index;
    if (receive_ && receive_first && half_ != 1) change(*receive_);
    if (half_ != 2) change(send_);
    if (receive_ && !receive_first && half_ != 1) change(*receive_);
  }

  void reorder() {
    both([&](const OperationPlace& place) {
      const Operation moved = step(place)[place.index];
      step(place).erase(step(place).begin() + at(place));
      program(place)[below(program(place).size())].push_back(moved);
    });
    if (below(2) == 0) {
      DeviceProgram& steps = program(send_);
      std::swap(steps[below(steps.size())], steps[below(steps.size())]);
    }
  }

  void retarget() {
    if (!receive_) return;
    const auto to = static_cast<std::uint32_t>(below(plan_.programs.size()));
    const Operation receive = step(*receive_)[receive_->index];
    step(send_)[send_.index].peer = to;
    if (half_ == 1) return;
    step(*receive_).erase(step(*receive_).begin() + at(*receive_));
    DeviceProgram& other = plan_.programs[to];
    if (other.empty()) other.emplace_back();
    other[below(other.size())].push_back(receive);
  }

  template <typename Change>
  void change_box(Change change) {
    const std::size_t i = below(plan_.problem.shape.size());
    const std::int64_t by = below(2) == 0 ? 1 : -1;
    const auto state = random_;
    both([&](const OperationPlace& place) {
      random_ = state;  // both halves alike
      change(step(place)[place.index].box, i, by);
    });
  }

  /// The step of the send is done together with the one after it.
  void merge_steps() {
    DeviceProgram& steps = program(half_ == 2 && receive_ ? *receive_ : send_);
    const std::size_t first = below(steps.size());
    if (first + 1 == steps.size()) return;
    steps[first].insert(steps[first].end(), steps[first + 1].begin(), steps[first + 1].end());
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  }

  Plan& plan_;
  std::mt19937& random_;
  OperationPlace send_;
  std::optional<OperationPlace> receive_;
  std::size_t half_ = 0;  // 0 both, 1 the send, 2 the receive
};

}  // namespace

Mutant mutated(const Plan& plan, std::mt19937& random) {
  Mutant mutant{plan, {}};
  const int mistakes = std::uniform_int_distribution<int>(1, 2)(random);
  for (int i = 0; i < mistakes && mutant.plan.transfers() > 0; ++i) {
    mutant.what += (i == 0 ? "" : ", ") + Mutator(mutant.plan, random).mutate();
  }
  return mutant;
}

}  // namespace p2::reshard
