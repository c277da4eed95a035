#include <algorithm>
#include <deque>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"

namespace p2::kernel {
namespace {

using Box = Numbers;                     // the first element and, behind it, the end, per dimension
using Place = std::vector<std::size_t>;  // device, step and index of an operation
enum OperationKind : std::uint8_t { Receive, SendOfSource, SendOfDestination };
struct Operation {
  std::uint32_t kind, peer;
  Box box;
  Place partner = {};
};

bool overlap(const Box& a, const Box& b) {
  for (std::size_t low = 0, high = a.size() / 2; high < a.size(); ++low, ++high) {
    if (std::min(a[high], b[high]) <= std::max(a[low], b[low])) return false;
  }
  return true;
}

struct Plan {
  explicit Plan(const Json& root) {
    expect_keys(root, {"dimensions", "has", "needs", "programs"});
    corners_ = std::size_t{2} * as_number(root["dimensions"], 65);
    for (const Json& box : as_list(root["has"])) has_.push_back(read_box(box, 0));
    for (const Json& box : as_list(root["needs"])) needs_.push_back(read_box(box, 0));
    for (const Json& program : as_list(root["programs"])) read_program(program);
    if (has_.size() != programs_.size() || needs_.size() != programs_.size())
      malformed("not all for all devices");
    for (const Place& place : places_) match(place);
    ended_ = ended_steps();
  }

  std::string words() const {
    return counted(programs_.size(), "device") + ", " + counted(corners_ / 2, "dimension") + ", " +
           counted(places_.size(), "operation");
  }

  /// Which rule is broken, and where; empty for a plan that is right.
  std::string fault() {
    for (const char* rule : {"out-of-bounds", "unmatched", "deadlock", "overwritten", "not-held"}) {
      for (const Place& place : places_)
        if (breaks(rule, place)) return rule + (" at [device, step, index] " + Json(place).dump());
    }
    for (std::size_t d = 0; d < programs_.size(); ++d)
      if (lacks(needs_[d], d, programs_[d].size())) return "missing on device " + std::to_string(d);
    return "";
  }

  bool breaks(const std::string& rule, const Place& place) {
    const auto& step = programs_[place[0]][place[1]];
    const Operation& each = at(place);
    budget_.spend(step.size() * (each.box.size() + 1) + 1);
    if (rule == "out-of-bounds") {
      std::vector<Box> rest;
      append_outside(each.box, (each.kind == SendOfSource ? has_ : needs_)[place[0]], rest);
      return !overlap(each.box, each.box) || !rest.empty();
    }
    if (rule == "unmatched") return each.partner.empty() || at(each.partner).box != each.box;
    if (rule == "deadlock") return place[1] >= ended_[place[0]];
    if (rule == "not-held")
      return each.kind == SendOfDestination && lacks(each.box, place[0], place[1]);
    return each.kind == Receive && std::ranges::any_of(step, [&](const Operation& other) {
             return &other != &each && other.kind != SendOfSource && overlap(other.box, each.box);
           });
  }

  /// How many steps devices end, each as soon as the partners of its operations have come to
  /// theirs.
  std::vector<std::size_t> ended_steps() {
    std::vector<std::size_t> step(programs_.size(), 0);
    const auto ends = [&](const Operation& each) {
      return !each.partner.empty() && step[each.partner[0]] >= each.partner[1];
    };
    for (bool moved = true; moved;) {
      moved = false;
      budget_.spend(programs_.size());
      for (std::size_t d = 0; d < programs_.size(); ++d) {
        for (; step[d] < programs_[d].size(); ++step[d], moved = true) {
          budget_.spend(programs_[d][step[d]].size() + 1);
          if (!std::ranges::all_of(programs_[d][step[d]], ends)) break;
        }
      }
    }
    return step;
  }

  Operation& at(const Place& place) { return programs_[place[0]][place[1]][place[2]]; }

  Box read_box(const Json& value, std::size_t before) const {
    Numbers all = as_numbers(value, std::uint64_t{1} << 31U);
    if (all.size() != before + corners_) malformed("a box has the wrong number of dimensions");
    return all;
  }
  void read_program(const Json& steps) {
    auto& program = programs_.emplace_back();
    for (const Json& step : as_list(steps)) {
      auto& read = program.emplace_back();
      for (const Json& value : as_list(step)) {
        const Numbers all = read_box(value, 2);
        if (all[0] > 2 || all[1] >= has_.size()) malformed("unknown operation");
        places_.push_back({programs_.size() - 1, program.size() - 1, read.size()});
        read.push_back({all[0], all[1], {all.begin() + 2, all.end()}});
      }
    }
  }

  /// The k-th send of a device to another one is for the k-th receive of that from it.
  void match(const Place& place) {
    Operation& each = at(place);
    const bool sends = each.kind != Receive;
    const Place ends = sends ? Place{place[0], each.peer} : Place{each.peer, place[0]};
    std::deque<Place>& others = open_[sends ? 0 : 1][ends];
    if (others.empty()) return open_[sends ? 1 : 0][ends].push_back(place);
    at(others.front()).partner = place;
    each.partner = others.front();
    others.pop_front();
  }

  /// Whether some of the box is in no receive of the first `steps` steps of the device.
  bool lacks(const Box& box, std::size_t device, std::size_t steps) {
    std::vector<Box> left(overlap(box, box) ? 1 : 0, box);
    for (std::size_t s = 0; s < steps && !left.empty(); ++s) {
      budget_.spend(1);
      for (const Operation& each : programs_[device][s]) {
        budget_.spend((left.size() + 1) * (corners_ + 1));
        if (each.kind != Receive) continue;
        std::vector<Box> rest;
        for (const Box& part : left) append_outside(part, each.box, rest);
        left = std::move(rest);
      }
    }
    return !left.empty();
  }
  /// What a box has outside another one, slab by slab.
  static void append_outside(Box box, const Box& cut, std::vector<Box>& rest) {
    if (!overlap(box, cut)) return rest.push_back(box);
    for (std::size_t low = 0, high = box.size() / 2; high < box.size(); ++low, ++high) {
      Box before = box, after = box;
      before[high] = box[low] = std::max(box[low], cut[low]);
      after[low] = box[high] = std::min(box[high], cut[high]);
      for (const Box& part : {before, after})
        if (overlap(part, part)) rest.push_back(part);
    }
  }

  Budget budget_;
  std::size_t corners_ = 0;
  std::vector<Box> has_, needs_;
  std::vector<std::vector<std::vector<Operation>>> programs_;
  std::vector<Place> places_;
  std::vector<std::size_t> ended_;
  std::map<Place, std::deque<Place>> open_[2];  // sends and receives without the other yet
};

}  // namespace

std::string judge_plan(const std::string& claim, const Json& statement, const Files& /*files*/) {
  Plan plan(statement["plan.json"]);
  const std::string fault = plan.fault();
  std::string words = (fault.empty() ? "every device of the plan ends with its elements"
                                     : "the plan is wrong: " + fault) +
                      " (" + plan.words() + ")";
  if (fault.empty() != (claim == "reshard-plan")) reject(words);
  return words;
}

}  // namespace p2::kernel
