#include "tests/reshard_plans/plans.h"

#include <algorithm>
#include <map>

#include "engine/reshard/scheduling.h"

namespace p2::reshard {

Reshard Case::problem() const {
  const Sharding source = parse_sharding("from", from, shape.size());
  const Sharding destination = parse_sharding("to", to, shape.size());
  return reshard_between(shape, source, destination, first == UINT32_MAX ? source.mesh[0] : first);
}

std::vector<Case> table2(const TensorShape& shape) {
  return {{"case 1", shape, "2x4:S0,R,R", "2x4:S0,R,R"},
          {"case 2", shape, "2x4:R,R,R", "2x4:S0,R,R"},
          {"case 3", shape, "2x4:R,S0,R", "2x4:S0,R,R"},
          {"case 4", shape, "2x4:R,S01,R", "2x4:S01,R,R"},
          {"case 5", shape, "2x4:S1,R,R", "2x4:S0,R,R"},
          {"case 6", shape, "2x4:S0,R,R", "3x4:S0,R,R"},
          {"case 7", shape, "1x4:S1,R,R", "2x4:R,R,R"},
          {"case 8", shape, "2x3:R,R,R", "3x2:R,R,R"},
          {"case 9", shape, "2x4:R,S0,R", "2x4:R,R,S0"}};
}

std::vector<Case> odd_cases() {
  return {{"one dimension", {7}, "2x2:S01", "3x1:S0"},
          {"empty shards", {5}, "4x1:S0", "2x2:S10"},
          {"four dimensions", {2, 3, 2, 3}, "2x2:S0,R,S1,R", "1x3:R,S1,R,R"},
          {"one device to many", {6, 2}, "1x1:R,R", "3x2:R,R"},
          {"fewer elements than devices", {2}, "1x1:R", "2x3:R"},
          {"the same mesh", {6, 4}, "2x2:S0,S1", "2x2:S1,S0", 0},
          {"the same mesh and sharding", {6, 4}, "2x2:S0,R", "2x2:S0,R", 0},
          {"one host in common", {6, 4}, "2x2:S01,R", "2x3:R,S1", 1},
          {"scattered to gathered in place", {8}, "1x4:S1", "1x4:R", 0}};
}

Plan plan_for(const Case& of, TransferStrategy strategy, Decomposition decomposition,
              std::int64_t chunks) {
  const Reshard problem = of.problem();
  const UnitTasks tasks =
      decompose(of.shape, problem.from.sharding, problem.to.sharding, decomposition, "shape");
  return make_plan(problem, {strategy, decomposition, chunks}, load_balanced_schedule(tasks));
}

namespace {

using Memory = std::map<Element, std::int64_t>;  // element → the number found there

void for_each(const Box& box, const auto& visit) {
  if (box.elements() == 0) return;
  Element at = box.low;
  for (bool more = true; more;) {
    visit(at);
    more = false;
    for (std::size_t i = at.size(); i-- > 0 && !more;) {
      more = ++at[i] < box.high[i];
      if (!more) at[i] = box.low[i];
    }
  }
}

std::int64_t number_of(const TensorShape& shape, const Element& element) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) number = number * shape[i] + element[i];
  return number + 1;
}

/// One after the other the operations of both ends are done where both are at hand: the first that
/// is, or the last.
class Walk {
 public:
  Walk(const Plan& plan, bool last_first)
      : plan_(plan),
        partners_(partners_of(plan)),
        last_first_(last_first),
        source_(plan.programs.size()),
        destination_(plan.programs.size()),
        at_(plan.programs.size(), 0),
        held_(plan.problem.regions(plan.problem.from)),
        needed_(plan.problem.regions(plan.problem.to)) {
    for (std::size_t device = 0; device < plan.programs.size(); ++device) {
      for_each(held_[device],
               [&](const Element& at) { source_[device][at] = number_of(plan.problem.shape, at); });
      open_.push_back(plan.programs[device].empty() ? std::vector<bool>{}
                                                    : open_in(plan.programs[device][0]));
    }
  }

  bool ends_right() {
    while (one_more()) {
    }
    for (std::size_t device = 0; device < plan_.programs.size(); ++device) {
      if (at_[device] < plan_.programs[device].size()) return false;
      bool right = true;
      for_each(needed_[device], [&](const Element& at) {
        const auto found = destination_[device].find(at);
        right = right && found != destination_[device].end() &&
                found->second == number_of(plan_.problem.shape, at);
      });
      if (!right) return false;
    }
    return true;
  }

 private:
  static std::vector<bool> open_in(const Step& step) {
    return std::vector<bool>(step.size(), true);
  }

  bool one_more() {
    std::vector<OperationPlace> ready;
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
      if (at_[device] == plan_.programs[device].size()) continue;
      if (std::find(open_[device].begin(), open_[device].end(), true) == open_[device].end()) {
        if (++at_[device] < plan_.programs[device].size()) {
          open_[device] = open_in(plan_.programs[device][at_[device]]);
        }
        return true;
      }
      for (std::size_t i = 0; i < open_[device].size(); ++i) {
        const auto& partner = partners_[device][at_[device]][i];
        const bool receives = !plan_.programs[device][at_[device]][i].sends;
        if (receives && open_[device][i] && partner && at_[partner->device] == partner->step) {
          ready.push_back({device, at_[device], i});
        }
      }
    }
    if (ready.empty()) return false;
    move(last_first_ ? ready.back() : ready.front());
    return true;
  }

  void move(const OperationPlace& receive) {
    const OperationPlace send = *partners_[receive.device][receive.step][receive.index];
    const Operation& out = plan_.programs[send.device][send.step][send.index];
    const Operation& in = plan_.programs[receive.device][receive.step][receive.index];
    const bool source = out.buffer == Buffer::Source;
    Memory& from = source ? source_[send.device] : destination_[send.device];
    std::vector<std::int64_t> message;
    for_each(out.box,
             [&](const Element& at) { message.push_back(from.contains(at) ? from[at] : 0); });
    std::size_t i = 0;
    for_each(in.box, [&](const Element& at) {
      if (i == message.size()) return;
      if (needed_[receive.device].contains(at)) destination_[receive.device][at] = message[i];
      ++i;
    });
    open_[receive.device][receive.index] = false;
    open_[send.device][send.index] = false;
  }

  const Plan& plan_;
  Partners partners_;
  bool last_first_;
  std::vector<Memory> source_;
  std::vector<Memory> destination_;
  std::vector<std::size_t> at_;
  std::vector<std::vector<bool>> open_;
  std::vector<Box> held_;
  std::vector<Box> needed_;
};

}  // namespace

bool ends_right_element_by_element(const Plan& plan) {
  return Walk(plan, false).ends_right() && Walk(plan, true).ends_right();
}

}  // namespace p2::reshard
