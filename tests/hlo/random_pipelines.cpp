#include "tests/hlo/random_pipelines.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/executed_problem.h"

namespace p2::hlo::pipelines {

std::string RandomPipeline::single(const std::string& operation) {
  const std::string name = fmt::format("t{}", steps_++);
  single_ += fmt::format("  {} = f32[4,4] {}\n", name, operation);
  return name;
}

RandomPipeline::RandomPipeline(std::uint32_t seed, bool mistaken) : random_(seed) {
  stages_ = 1 + below(3);
  width_ = 1 + below(2);
  for (int s = 0; s < stages_; ++s) {
    programs_.push_back({});
    for (int d = 0; d < width_; ++d) programs_.back().devices.push_back(s * width_ + d);
  }
  build();
  by_rank_ = below(2) == 0;
  if (by_rank_) {
    std::vector<StageProgram> ranks;
    for (const StageProgram& each : programs_) {
      for (const int device : each.devices) ranks.push_back({{device}, each.lines, each.outputs});
    }
    programs_ = std::move(ranks);
  }
  if (mistaken) {
    for (int tries = 0; tries < 20 && !mutate(); ++tries) {
    }
  }
}

std::vector<std::pair<std::vector<std::uint32_t>, std::string>> RandomPipeline::texts() const {
  std::vector<std::pair<std::vector<std::uint32_t>, std::string>> all;
  for (const StageProgram& program : programs_) {
    all.push_back({{program.devices.begin(), program.devices.end()}, text_of(program)});
  }
  return all;
}

std::string RandomPipeline::relation() const {
  return fmt::format(
      "{{\"format\":\"p2-relation/1\",\"devices\":{},\"mesh\":{{\"stage\":{},\"model\":{}}},"
      "\"inputs\":{{{}}},\"outputs\":{{{}}}}}",
      devices(), stages_, width_, entries(inputs_, tensors_), entries(outputs_, 1));
}

int RandomPipeline::hold(int stage, Held held, int tensor) {
  int number = 0;
  for (const Placed& each : inputs_) number += each.stage == stage ? 1 : 0;
  inputs_.push_back({held, tensor, stage, number});
  return add(stage, {Kind::Parameter,
                     {},
                     held == Held::Rows ? kSide / width_ : kSide,
                     held == Held::Columns ? kSide / width_ : kSide,
                     number});
}

std::string RandomPipeline::operation(Kind kind, const std::string& a, const std::string& b) {
  const std::string numbers = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  return single(fmt::format("{}({}, {}){}",
                            kind == Kind::Dot   ? "dot"
                            : kind == Kind::Add ? "add"
                                                : "multiply",
                            a, b, kind == Kind::Dot ? numbers : ""));
}

void RandomPipeline::build() {
  auto [single_name, local] = input(0, Held::Whole);
  for (int s = 0; s < stages_; ++s) {
    const int steps = 1 + below(2);
    const auto [first_name, first] = std::pair(single_name, local);
    for (int i = 0; i < steps; ++i) std::tie(single_name, local) = step(s, single_name, local);
    if (s + 1 == stages_) continue;
    local = pass(s, s + 1, local);
    if (below(3) > 0) continue;
    single_name = operation(Kind::Add, single_name, first_name);  // around the stage
    local = add(s + 1, {Kind::Add, {local, pass(s, s + 1, first)}});
  }
  int last = stages_ - 1;
  Held held = Held::Whole;
  if (below(3) == 0) {  // partial sums, or columns
    const bool sums = below(2) == 0;
    held = sums ? Held::Parts : Held::Columns;
    auto [second, second_line] = input(last, Held::Columns);
    if (sums) {
      auto [third, third_line] = input(last, Held::Rows);
      const std::string inner = operation(Kind::Dot, single_name, second);
      const int shard = add(last, {Kind::Dot, {local, second_line}, kSide, kSide / width_});
      single_name = operation(Kind::Dot, inner, third);
      local = add(last, {Kind::Dot, {shard, third_line}});
    } else {
      single_name = operation(Kind::Dot, single_name, second);
      local = add(last, {Kind::Dot, {local, second_line}, kSide, kSide / width_});
    }
  } else if (last > 0 && below(2) == 0) {
    local = pass(last, 0, local);
    last = 0;
  }
  program(last).outputs.push_back(local);
  outputs_.push_back({held, 0, last, 0});
  single_ += "  ROOT out = f32[4,4] copy(" + single_name + ")\n";
}

std::pair<std::string, int> RandomPipeline::step(int stage, const std::string& name, int local) {
  switch (below(4)) {
    case 0: {
      auto [other, line] = input(stage, Held::Whole);
      const Kind kind = below(2) == 0 ? Kind::Add : Kind::Multiply;
      return {operation(kind, name, other), add(stage, {kind, {local, line}})};
    }
    case 1: {
      auto [weight, line] = input(stage, Held::Columns);
      const int shard = add(stage, {Kind::Dot, {local, line}, kSide, kSide / width_});
      const int whole = add(stage, {Kind::AllGather, {shard}, kSide, kSide, 0, ++channels_});
      return {operation(Kind::Dot, name, weight), whole};
    }
    case 2: {
      auto [other, line] = input(stage, Held::Whole);
      return {operation(Kind::Dot, name, other), add(stage, {Kind::Dot, {local, line}})};
    }
    default: {
      auto [up, up_line] = input(stage, Held::Columns);
      auto [down, down_line] = input(stage, Held::Rows);
      const std::string inner = operation(Kind::Dot, name, up);
      const int shard = add(stage, {Kind::Dot, {local, up_line}, kSide, kSide / width_});
      const int partial = add(stage, {Kind::Dot, {shard, down_line}});
      return {operation(Kind::Dot, inner, down), add(stage, reduction(partial))};
    }
  }
}

int RandomPipeline::pass(int from, int to, int local) {
  Pairs pairs;
  for (int d = 0; d < width_; ++d) pairs.emplace_back(from * width_ + d, to * width_ + d);
  if (width_ == 2 && below(3) == 0) std::swap(pairs[0].second, pairs[1].second);
  const int channel = ++channels_;
  const int send = add(from, {Kind::Send, {local}, kSide, kSide, 0, channel, pairs});
  add(from, {Kind::SendDone, {send}, kSide, kSide, 0, channel});
  const int receive = add(to, {Kind::Receive, {}, kSide, kSide, 0, channel, pairs});
  return add(to, {Kind::ReceiveDone, {receive}, kSide, kSide, 0, channel});
}

std::pair<std::string, int> RandomPipeline::input(int stage, Held held) {
  const std::string name = single(fmt::format("parameter({})", tensors_));
  return {name, hold(stage, held, tensors_++)};
}

std::string RandomPipeline::groups() const {
  std::vector<std::string> all;
  for (int s = 0; s < (by_rank_ ? stages_ : 1); ++s) {
    std::vector<int> group;
    for (int d = 0; d < width_; ++d) group.push_back(s * width_ + d);
    all.push_back(fmt::format("{{{}}}", fmt::join(group, ",")));
  }
  return fmt::format("{{{}}}", fmt::join(all, ","));
}

std::string RandomPipeline::text_of(const StageProgram& program) const {
  std::string text = fmt::format("HloModule stage, is_scheduled=true, num_partitions={}\n",
                                 by_rank_ ? devices() : width_);
  text +=
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
      "ENTRY main {\n  token = token[] after-all()\n";
  const std::string dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  for (std::size_t i = 0; i < program.lines.size(); ++i) {
    const Line& line = program.lines[i];
    const std::string shape = fmt::format("f32[{},{}]", line.rows, line.columns);
    const std::string context = fmt::format("({}, u32[], token[])", shape);
    std::vector<std::string> operands;
    for (const int operand : line.operands) operands.push_back(fmt::format("v{}", operand));
    const std::string list = fmt::format("({})", fmt::join(operands, ", "));
    const std::string channel = fmt::format(", channel_id={}", line.channel);
    const std::string collective =
        channel + ", use_global_device_ids=true, replica_groups=" + groups();
    std::vector<std::string> pairs;
    for (const auto& [from, to] : line.pairs) pairs.push_back(fmt::format("{{{},{}}}", from, to));
    const std::string frontend =
        fmt::format(", frontend_attributes={{_xla_send_recv_source_target_pairs={{{}}}}}",
                    fmt::join(pairs, ","));
    std::string what;
    switch (line.kind) {
      case Kind::Parameter:
        what = fmt::format("{} parameter({})", shape, line.number);
        break;
      case Kind::Dot:
        what = shape + " dot" + list + dims;
        break;
      case Kind::Add:
        what = shape + " add" + list;
        break;
      case Kind::Multiply:
        what = shape + " multiply" + list;
        break;
      case Kind::AllReduce:
        what = shape + " all-reduce" + list + collective + ", to_apply=add";
        break;
      case Kind::AllGather:
        what = shape + " all-gather" + list + collective + ", dimensions={1}";
        break;
      case Kind::Send:
        what = context + " send(" + operands[0] + ", token)" + channel + frontend;
        break;
      case Kind::SendDone:
        what = "token[] send-done" + list + channel;
        break;
      case Kind::Receive:
        what = context + " recv(token)" + channel + frontend;
        break;
      case Kind::ReceiveDone:
        text += fmt::format("  d{} = ({}, token[]) recv-done{}{}\n", i, shape, list, channel);
        what = fmt::format("{} get-tuple-element(d{}), index=0", shape, i);
        break;
    }
    text += fmt::format("  v{} = {}\n", i, what);
  }
  std::vector<std::string> results;
  std::vector<std::string> shapes;
  for (const int output : program.outputs) {
    const Line& line = program.lines[static_cast<std::size_t>(output)];
    results.push_back(fmt::format("v{}", output));
    shapes.push_back(fmt::format("f32[{},{}]", line.rows, line.columns));
  }
  return text + fmt::format("  ROOT out = ({}) tuple({})\n}}\n", fmt::join(shapes, ", "),
                            fmt::join(results, ", "));
}

std::string RandomPipeline::boxes(const Placed& placed) const {
  std::vector<std::string> all;
  for (int d = 0; d < width_; ++d) {
    const int position = placed.crossed ? width_ - 1 - d : d;
    const int size = kSide / width_;
    const std::string whole = fmt::format("[0,{}]", kSide);
    const std::string cut = fmt::format("[{},{}]", position * size, (position + 1) * size);
    const std::string own = fmt::format("[0,{}]", size);
    const bool rows = placed.held == Held::Rows;
    const bool columns = placed.held == Held::Columns;
    all.push_back(fmt::format("{{\"device\":{},\"of\":[{},{}],\"at\":[{},{}]}}",
                              placed.stage * width_ + d, rows ? cut : whole, columns ? cut : whole,
                              rows ? own : whole, columns ? own : whole));
  }
  return fmt::format("{{\"boxes\":[{}]{}}}", fmt::join(all, ","),
                     placed.held == Held::Parts ? ",\"sum\":true" : "");
}

nlohmann::ordered_json RandomPipeline::placement_of(const Placed& placed) const {
  nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
  for (int d = 0; d < width_; ++d) {
    const int position = placed.crossed ? width_ - 1 - d : d;
    const int size = kSide / width_;
    const bool rows = placed.held == Held::Rows;
    const bool columns = placed.held == Held::Columns;
    pieces.push_back({placed.stage * width_ + d, placed.held == Held::Parts ? d : 0,
                      rows ? position * size : 0, columns ? position * size : 0, 0, 0,
                      rows ? size : kSide, columns ? size : kSide});
  }
  const bool has_parts = placed.held == Held::Parts;
  return {{"parts", has_parts ? width_ : 1},
          {"reducer", has_parts ? "add" : ""},
          {"pieces", std::move(pieces)}};
}

nlohmann::ordered_json RandomPipeline::numbers_of(const Placed& placed) const {
  nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
  for (int d = 0; d < (by_rank_ ? width_ : 1); ++d) {
    numbers.push_back({by_rank_ ? placed.stage * width_ + d : placed.stage, placed.number});
  }
  return numbers;
}

std::string RandomPipeline::problem() const {
  nlohmann::ordered_json json = {{"before", before()}, {"devices", devices()}};
  json["programs"] = nlohmann::ordered_json::array();
  for (const auto& [devices, text] : texts()) {
    json["programs"].push_back(
        {{"devices", {{devices.front(), devices.back()}}}, {"module", text}});
  }
  json["placements"] = nlohmann::ordered_json::array();
  for (const bool of_inputs : {true, false}) {
    nlohmann::ordered_json& list = json[of_inputs ? "inputs" : "outputs"];
    list = nlohmann::ordered_json::array();
    for (int tensor = 0; tensor < (of_inputs ? tensors_ : 1); ++tensor) {
      for (const Placed& each : of_inputs ? inputs_ : outputs_) {
        if (each.tensor != tensor) continue;
        list.push_back({{"placement", json["placements"].size()}, {"numbers", numbers_of(each)}});
        json["placements"].push_back(placement_of(each));
      }
    }
  }
  return json.dump();
}

bool RandomPipeline::is_right(std::uint32_t seed) const {
  return pipelines::is_right(nlohmann::ordered_json::parse(problem()), seed);
}

std::string RandomPipeline::entries(const std::vector<Placed>& placed, int tensors) const {
  std::vector<std::string> all;
  for (int tensor = 0; tensor < tensors; ++tensor) {
    for (const Placed& each : placed) {
      if (each.tensor != tensor) continue;
      const int first = each.stage * width_;
      const std::string range =
          width_ == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + width_ - 1);
      const std::string dims = each.held == Held::Whole     ? "\"replicated\""
                               : each.held == Held::Rows    ? "{\"dims\":[[\"model\"],[]]}"
                               : each.held == Held::Columns ? "{\"dims\":[[],[\"model\"]]}"
                                                            : "{\"sum\":[\"model\"]}";
      const bool in_boxes = each.crossed || (each.held != Held::Whole && each.number % 2 == 0);
      all.push_back(fmt::format("\"{}\":{{\"after\":{{\"{}\":{}}},\"relation\":{}}}", tensor, range,
                                each.number, in_boxes ? boxes(each) : dims));
    }
  }
  return fmt::format("{}", fmt::join(all, ","));
}

/// Moves a receive, with its done, to the front.
bool RandomPipeline::hoist_receive(StageProgram& program, int index) {
  if (program.lines[static_cast<std::size_t>(index)].kind != Kind::ReceiveDone) return false;
  const int start = program.lines[static_cast<std::size_t>(index)].operands[0];
  move_to(program, start, 0);
  return move_to(program, index, 1);
}

/// Moves a line to another place, between those that it depends on and those that depend on it.
bool RandomPipeline::move_to(StageProgram& program, int from, int to) {
  const int count = static_cast<int>(program.lines.size());
  if (from == to) return false;
  std::vector<int> order;
  for (int i = 0; i < count; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  std::vector<int> place(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    place[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  std::vector<Line> lines;
  for (const int old : order) {
    Line line = program.lines[static_cast<std::size_t>(old)];
    for (int& operand : line.operands) {
      operand = place[static_cast<std::size_t>(operand)];
      if (operand >= static_cast<int>(lines.size())) return false;
    }
    lines.push_back(std::move(line));
  }
  program.lines = std::move(lines);
  for (int& output : program.outputs) output = place[static_cast<std::size_t>(output)];
  return true;
}

bool RandomPipeline::mutate() {
  StageProgram& program =
      programs_[static_cast<std::size_t>(below(static_cast<int>(programs_.size())))];
  const int index = below(static_cast<int>(program.lines.size()));
  Line& line = program.lines[static_cast<std::size_t>(index)];
  const bool message = line.kind == Kind::Send || line.kind == Kind::Receive;
  const bool collective = line.kind == Kind::AllReduce || line.kind == Kind::AllGather;
  switch (below(9)) {
    case 0:
      return move_to(program, index, below(static_cast<int>(program.lines.size())));
    case 1:
      return hoist_receive(program, index);
    case 2:  // another peer
      if (!message || width_ == 1) return false;
      std::swap(line.pairs[0].second, line.pairs[1].second);
      return true;
    case 3: {  // another channel, also of its done
      if (!message) return false;
      const int channel = 1 + below(channels_ + 1);
      for (Line& each : program.lines) {
        if (!each.operands.empty() && each.operands[0] == index &&
            (each.kind == Kind::SendDone || each.kind == Kind::ReceiveDone)) {
          each.channel = channel;
        }
      }
      line.channel = channel;
      return true;
    }
    case 4:  // a missing reduction: the sum of the first with itself is as large
      if (line.kind != Kind::AllReduce) return false;
      line = {Kind::Add, {line.operands[0], line.operands[0]}};
      return true;
    case 5:  // another operation
      if (line.kind != Kind::Add && line.kind != Kind::Multiply) return false;
      line.kind = line.kind == Kind::Add ? Kind::Multiply : Kind::Add;
      return true;
    case 6: {  // another operand of the same shape
      if (line.operands.empty() || line.kind == Kind::SendDone || line.kind == Kind::ReceiveDone) {
        return false;
      }
      const int other = below(index);
      const Line& old = program.lines[static_cast<std::size_t>(line.operands[0])];
      const Line& chosen = program.lines[static_cast<std::size_t>(other)];
      if (chosen.kind == Kind::Send || chosen.kind == Kind::SendDone ||
          chosen.kind == Kind::Receive || chosen.rows != old.rows ||
          chosen.columns != old.columns) {
        return false;
      }
      line.operands[0] = other;
      return true;
    }
    case 7: {  // the wrong box
      Placed& placed = inputs_[static_cast<std::size_t>(below(static_cast<int>(inputs_.size())))];
      if (width_ == 1 || placed.held == Held::Whole) return false;
      placed.crossed = true;
      return true;
    }
    default:  // another channel of a collective
      if (!collective) return false;
      line.channel = 1 + below(channels_ + 1);
      return true;
  }
}

}  // namespace p2::hlo::pipelines
