// Random pipelines of tensor-parallel stages, right and with mistakes: the verdict is compared with
// an execution of all programs by an interpreter of its own, on numbers modulo a prime, in which
// devices block as XLA says they do.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

constexpr std::uint64_t kPrime = 2147483647;
constexpr int kSide = 4;

struct Matrix {
  int rows = 0;
  int columns = 0;
  std::vector<std::uint64_t> numbers = {};

  std::uint64_t at(int row, int column) const {
    return numbers[static_cast<std::size_t>(row * columns + column)];
  }
  bool operator==(const Matrix&) const = default;
};

Matrix random_matrix(std::mt19937& random) {
  Matrix matrix{kSide, kSide};
  for (int i = 0; i < kSide * kSide; ++i) matrix.numbers.push_back(random() % kPrime);
  return matrix;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns};
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < b.columns; ++j) {
      std::uint64_t sum = 0;
      for (int k = 0; k < a.columns; ++k) sum = (sum + a.at(i, k) * b.at(k, j)) % kPrime;
      result.numbers.push_back(sum);
    }
  }
  return result;
}

Matrix elementwise(const Matrix& a, const Matrix& b, bool adds) {
  Matrix result = a;
  for (std::size_t i = 0; i < result.numbers.size(); ++i) {
    std::uint64_t& number = result.numbers[i];
    number = adds ? (number + b.numbers[i]) % kPrime : number * b.numbers[i] % kPrime;
  }
  return result;
}

Matrix part(const Matrix& whole, int row, int column, int rows, int columns) {
  Matrix result{rows, columns};
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) result.numbers.push_back(whole.at(row + i, column + j));
  }
  return result;
}

Matrix beside(const std::vector<Matrix>& parts) {
  Matrix result{parts[0].rows, 0};
  for (const Matrix& each : parts) result.columns += each.columns;
  for (int i = 0; i < result.rows; ++i) {
    for (const Matrix& each : parts) {
      for (int j = 0; j < each.columns; ++j) result.numbers.push_back(each.at(i, j));
    }
  }
  return result;
}

enum class Kind : std::uint8_t {
  Parameter,
  Dot,
  Add,
  Multiply,
  AllReduce,
  AllGather,
  Send,
  SendDone,
  Receive,
  ReceiveDone
};

using Pairs = std::vector<std::pair<int, int>>;

struct Line {
  Kind kind = Kind::Parameter;
  std::vector<int> operands = {};  ///< lines
  int rows = kSide;
  int columns = kSide;
  int number = 0;  ///< of a parameter
  int channel = 0;
  Pairs pairs = {};
};

struct StageProgram {
  std::vector<int> devices;
  std::vector<Line> lines = {};
  std::vector<int> outputs = {};  ///< lines
};

/// How devices of one program hold a matrix.
enum class Held : std::uint8_t { Whole, Rows, Columns, Parts };

struct Placed {
  Held held = Held::Whole;
  int tensor = 0;  ///< of the single-device program
  int stage = 0;
  int number = 0;  ///< of the stage's parameter or output
  bool crossed = false;
};

/// A single-device program and one for every stage.
class RandomPipeline {
 public:
  RandomPipeline(std::uint32_t seed, bool mistaken) : random_(seed) {
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

  int devices() const { return stages_ * width_; }

  std::string before() const { return "HloModule single\nENTRY main {\n" + single_ + "}\n"; }

  /// One text for every stage, or for every device.
  std::vector<std::pair<std::vector<std::uint32_t>, std::string>> texts() const {
    std::vector<std::pair<std::vector<std::uint32_t>, std::string>> all;
    for (const StageProgram& program : programs_) {
      all.push_back({{program.devices.begin(), program.devices.end()}, text_of(program)});
    }
    return all;
  }

  std::string relation() const {
    return fmt::format(
        "{{\"format\":\"p2-relation/1\",\"devices\":{},\"mesh\":{{\"stage\":{},\"model\":{}}},"
        "\"inputs\":{{{}}},\"outputs\":{{{}}}}}",
        devices(), stages_, width_, entries(inputs_, tensors_), entries(outputs_, 1));
  }

  /// problem.json of a certificate, which no engine has looked at.
  std::string problem() const;

  /// Whether all programs come to their end, with the shards of what the single-device program
  /// computes.
  bool is_right(std::uint32_t seed) const;

 private:
  int below(int end) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, end - 1)(random_));
  }
  StageProgram& program(int stage) { return programs_[static_cast<std::size_t>(stage)]; }
  const StageProgram& program_of(int device) const {
    return programs_[static_cast<std::size_t>(by_rank_ ? device : device / width_)];
  }

  int add(int stage, Line line) {
    program(stage).lines.push_back(std::move(line));
    return static_cast<int>(program(stage).lines.size()) - 1;
  }

  std::string single(const std::string& operation) {
    const std::string name = fmt::format("t{}", steps_++);
    single_ += fmt::format("  {} = f32[4,4] {}\n", name, operation);
    return name;
  }

  /// A new input of the single-device program, which a stage holds.
  std::pair<std::string, int> input(int stage, Held held) {
    single_operations_.push_back({Kind::Parameter, {}, kSide, kSide, tensors_});
    const std::string name = single(fmt::format("parameter({})", tensors_));
    return {name, hold(stage, held, tensors_++)};
  }

  int hold(int stage, Held held, int tensor) {
    int number = 0;
    for (const Placed& each : inputs_) number += each.stage == stage ? 1 : 0;
    inputs_.push_back({held, tensor, stage, number});
    return add(stage, {Kind::Parameter,
                       {},
                       held == Held::Rows ? kSide / width_ : kSide,
                       held == Held::Columns ? kSide / width_ : kSide,
                       number});
  }

  std::string operation(Kind kind, const std::string& a, const std::string& b) {
    const int left = std::stoi(a.substr(1));
    const int right = std::stoi(b.substr(1));
    single_operations_.push_back({kind, {left, right}});
    const std::string numbers = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    return single(fmt::format("{}({}, {}){}",
                              kind == Kind::Dot   ? "dot"
                              : kind == Kind::Add ? "add"
                                                  : "multiply",
                              a, b, kind == Kind::Dot ? numbers : ""));
  }

  Line reduction(int operand) { return {Kind::AllReduce, {operand}, kSide, kSide, 0, ++channels_}; }

  void build() {
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
    single_result_ = std::stoi(single_name.substr(1));
  }

  std::pair<std::string, int> step(int stage, const std::string& name, int local) {
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

  /// Sends a matrix to another stage, from device to device.
  int pass(int from, int to, int local) {
    Pairs pairs;
    for (int d = 0; d < width_; ++d) pairs.emplace_back(from * width_ + d, to * width_ + d);
    if (width_ == 2 && below(3) == 0) std::swap(pairs[0].second, pairs[1].second);
    const int channel = ++channels_;
    const int send = add(from, {Kind::Send, {local}, kSide, kSide, 0, channel, pairs});
    add(from, {Kind::SendDone, {send}, kSide, kSide, 0, channel});
    const int receive = add(to, {Kind::Receive, {}, kSide, kSide, 0, channel, pairs});
    return add(to, {Kind::ReceiveDone, {receive}, kSide, kSide, 0, channel});
  }

  bool mutate();
  bool hoist_receive(StageProgram& program, int index);
  static bool move_to(StageProgram& program, int from, int to);
  std::string text_of(const StageProgram& program) const;
  std::string groups() const;
  std::string entries(const std::vector<Placed>& placed, int tensors) const;
  std::string boxes(const Placed& placed) const;
  nlohmann::ordered_json numbers_of(const Placed& placed) const;
  nlohmann::ordered_json placement_of(const Placed& placed) const;
  std::optional<std::vector<std::vector<Matrix>>> run(const std::vector<Matrix>& inputs) const;
  Matrix shard(const Placed& placed, const Matrix& whole, int position) const;
  Matrix single_value(const std::vector<Matrix>& inputs) const;

  std::mt19937 random_;
  std::vector<StageProgram> programs_;  ///< one for every stage, or for every device
  bool by_rank_ = false;
  int stages_ = 1;
  int width_ = 1;
  int tensors_ = 0;
  int steps_ = 0;
  int channels_ = 0;
  std::string single_;
  std::vector<Line> single_operations_;
  int single_result_ = 0;
  std::vector<Placed> inputs_;
  std::vector<Placed> outputs_;
};

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

Matrix RandomPipeline::shard(const Placed& placed, const Matrix& whole, int position) const {
  const int at = (placed.crossed ? width_ - 1 - position : position) * (kSide / width_);
  if (placed.held == Held::Rows) return part(whole, at, 0, kSide / width_, kSide);
  if (placed.held == Held::Columns) return part(whole, 0, at, kSide, kSide / width_);
  return whole;
}

Matrix RandomPipeline::single_value(const std::vector<Matrix>& inputs) const {
  std::vector<Matrix> values;
  for (const Line& line : single_operations_) {
    const auto operand = [&](std::size_t k) {
      return values[static_cast<std::size_t>(line.operands[k])];
    };
    values.push_back(line.kind == Kind::Parameter ? inputs[static_cast<std::size_t>(line.number)]
                     : line.kind == Kind::Dot
                         ? product(operand(0), operand(1))
                         : elementwise(operand(0), operand(1), line.kind == Kind::Add));
  }
  return values[static_cast<std::size_t>(single_result_)];
}

/// The values of all lines, by device; nothing if the devices do not come to their end. A send
/// waits for its receive, a recv-done for its send, a collective for all of its group that come to
/// one of the same channel.
std::optional<std::vector<std::vector<Matrix>>> RandomPipeline::run(
    const std::vector<Matrix>& inputs) const {
  using Key = std::tuple<int, int, int>;  // channel, source, target
  const auto count = static_cast<std::size_t>(devices());
  std::vector<std::vector<Matrix>> values(count);
  std::set<Key> posted;
  std::map<Key, Matrix> sent;
  // By group, channel and operation: what devices that wait there contribute; taken when all have
  // come.
  std::map<std::tuple<int, int, Kind>, std::map<int, Matrix>> waiting;
  std::map<std::tuple<int, int, int>, std::vector<Matrix>> released;  // device, group, channel
  const auto advance = [&](int device) {
    const int stage = device / width_;
    const StageProgram& program = program_of(device);
    std::vector<Matrix>& own = values[static_cast<std::size_t>(device)];
    if (own.size() == program.lines.size()) return false;
    const Line& line = program.lines[own.size()];
    const auto operand = [&](std::size_t k) {
      return own[static_cast<std::size_t>(line.operands[k])];
    };
    const auto pair_of = [&](const Line& of, bool source) -> std::optional<Key> {
      for (const auto& [from, to] : of.pairs) {
        if ((source ? from : to) == device) return Key{of.channel, from, to};
      }
      return std::nullopt;
    };
    Matrix result;
    switch (line.kind) {
      case Kind::Parameter:
        for (const Placed& each : inputs_) {
          if (each.stage != stage || each.number != line.number) continue;
          result = shard(each, inputs[static_cast<std::size_t>(each.tensor)], device % width_);
        }
        break;
      case Kind::Dot:
        result = product(operand(0), operand(1));
        break;
      case Kind::Add:
      case Kind::Multiply:
        result = elementwise(operand(0), operand(1), line.kind == Kind::Add);
        break;
      case Kind::AllReduce:
      case Kind::AllGather: {
        const auto done = released.find({device, stage, line.channel});
        if (done == released.end()) {
          auto& members = waiting[{stage, line.channel, line.kind}];
          const bool news = members.emplace(device, operand(0)).second;
          if (static_cast<int>(members.size()) < width_) return news;
          std::vector<Matrix> all;
          for (const auto& [member, value] : members) all.push_back(value);
          for (const auto& [member, value] : members) released[{member, stage, line.channel}] = all;
          waiting.erase({stage, line.channel, line.kind});
          return true;
        }
        const std::vector<Matrix> all = done->second;
        released.erase(done);
        result = all[0];
        for (std::size_t k = 1; k < all.size() && line.kind == Kind::AllReduce; ++k) {
          result = elementwise(result, all[k], true);
        }
        if (line.kind == Kind::AllGather) result = beside(all);
        break;
      }
      case Kind::Receive:
        if (const auto key = pair_of(line, false)) posted.insert(*key);
        break;
      case Kind::Send: {
        const auto key = pair_of(line, true);
        if (key && !posted.contains(*key)) return false;
        if (key) sent[*key] = operand(0);
        break;
      }
      case Kind::SendDone:
        break;
      case Kind::ReceiveDone: {
        const Line& start = program.lines[static_cast<std::size_t>(line.operands[0])];
        const auto key = pair_of(start, false);
        if (!key || !sent.contains(*key)) return false;
        result = sent.at(*key);
        break;
      }
    }
    own.push_back(std::move(result));
    return true;
  };
  for (bool any = true; any;) {
    any = false;
    for (int device = 0; device < devices(); ++device) {
      while (advance(device)) any = true;
    }
  }
  for (int device = 0; device < devices(); ++device) {
    const std::size_t executed = values[static_cast<std::size_t>(device)].size();
    if (executed < program_of(device).lines.size()) return {};
  }
  return values;
}

bool RandomPipeline::is_right(std::uint32_t seed) const {
  std::mt19937 random(seed);
  std::vector<Matrix> inputs;
  for (int i = 0; i < tensors_; ++i) inputs.push_back(random_matrix(random));
  const auto values = run(inputs);
  if (!values) return false;
  const Matrix expected = single_value(inputs);
  const Placed& output = outputs_[0];
  Matrix total{kSide, kSide, std::vector<std::uint64_t>(kSide * kSide, 0)};
  for (int d = 0; d < width_; ++d) {
    const int device = output.stage * width_ + d;
    const auto line = static_cast<std::size_t>(program_of(device).outputs[0]);
    const Matrix& own = (*values)[static_cast<std::size_t>(device)][line];
    if (output.held == Held::Parts) {
      total = elementwise(total, own, true);
    } else if (own != shard(output, expected, d)) {
      return false;
    }
  }
  return output.held != Held::Parts || total == expected;
}

/// The certificate of programs that no engine has looked at, or nothing.
std::optional<CertificateFiles> certified(const RandomPipeline& pipeline, std::string& why) {
  CertificateFiles files = {{"problem.json", pipeline.problem()}};
  auto evidence = programs_evidence(files);
  if (evidence.index() != 0) {
    why = std::get<1>(evidence);
    std::erase_if(why, [](char each) { return each >= '0' && each <= '9'; });
    return {};
  }
  files["relation.json"] = std::get<0>(evidence);
  add_manifest("programs-equal", {}, files);
  const kernel::Result result = check_certificate(files);
  CAPTURE(result.reason);
  REQUIRE(result.verdict == kernel::Verdict::Accepted);
  return files;
}

TEST_CASE("no random pipeline has a certificate that is wrong") {
  int right = 0;
  int wrong = 0;
  int accepted = 0;
  int transferred = 0;
  std::map<std::string, int> reasons;
  const char* const more = std::getenv("P2_PIPELINES");
  const auto count = static_cast<std::uint32_t>(more != nullptr ? std::stoul(more) : 3000);
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const RandomPipeline pipeline(seed, seed % 3 != 0);
    CAPTURE(seed);
    CAPTURE(pipeline.problem());
    const bool is_right = pipeline.is_right(seed);
    (is_right ? right : wrong) += 1;
    std::string why;
    const auto certificate = certified(pipeline, why);
    if (!certificate) {
      ++reasons[(is_right ? "right: " : "wrong: ") + why];
      continue;
    }
    REQUIRE(is_right);
    ++accepted;
    // The evidence of programs that are right, for those with mistakes.
    if (seed % 3 != 0) continue;
    CertificateFiles files = *certificate;
    const RandomPipeline other(seed, true);
    files.erase("manifest.json");
    files["problem.json"] = other.problem();
    add_manifest("programs-equal", {}, files);
    if (check_certificate(files).verdict == kernel::Verdict::Accepted) {
      REQUIRE(other.is_right(seed));
      ++transferred;
    }
  }
  for (const auto& [reason, times] : reasons) MESSAGE(times, " ", reason);
  MESSAGE(right, " right, ", accepted, " of them with a certificate, ", wrong, " wrong, ",
          transferred, " accepted by the evidence of others");
  CHECK(wrong > 700);
  CHECK(accepted * 100 > right * 90);
}

ModuleDecision decided(const RandomPipeline& pipeline, ModuleEngine engine) {
  std::vector<PlacedProgram> placed;
  for (const auto& [devices, text] : pipeline.texts())
    placed.push_back({devices, p2::hlo::module_of(text)});
  ComparisonOptions options;
  options.devices = {1, pipeline.devices()};
  options.engine = engine;
  options.relation = pipeline.relation();
  options.relation_file = "relation.json";
  auto programs = linked(placed, options.devices);
  if (auto* decision = std::get_if<ModuleDecision>(&programs)) return *decision;
  return compare(p2::hlo::module_of(pipeline.before()),
                 std::get<std::shared_ptr<const Module>>(programs), options, {});
}

TEST_CASE("verdicts on random pipelines are those of executing them") {
  int right = 0;
  int valid = 0;
  int wrong = 0;
  int refuted = 0;
  std::map<std::string, int> rules;
  const char* const more = std::getenv("P2_PIPELINES");
  const auto count = static_cast<std::uint32_t>(more != nullptr ? std::stoul(more) : 3000);
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const RandomPipeline pipeline(seed, seed % 3 != 0);
    std::string all = pipeline.before() + pipeline.relation();
    for (const auto& [devices, text] : pipeline.texts()) all += "\n" + text;
    CAPTURE(seed);
    CAPTURE(all);
    const bool is_right = pipeline.is_right(seed);
    if (seed % 3 == 0) REQUIRE(is_right);
    const ModuleDecision decision = decided(pipeline, ModuleEngine::All);
    CAPTURE(decision.reason);
    REQUIRE(decision.outcome != Outcome::Disagreement);
    if (is_right) {
      REQUIRE(decision.outcome != Outcome::Refuted);
      ++right;
      if (decision.outcome == Outcome::Established) ++valid;
    } else {
      REQUIRE(decision.outcome != Outcome::Established);
      REQUIRE(decided(pipeline, ModuleEngine::Symbolic).outcome != Outcome::Established);
      ++wrong;
      if (decision.outcome == Outcome::Refuted) ++refuted;
      if (decision.outcome == Outcome::Refuted) ++rules[decision.violation->rule];
    }
  }
  for (const auto& [rule, times] : rules) MESSAGE(rule, " ", times);
  MESSAGE(right, " right, ", valid, " of them valid, ", wrong, " wrong");
  CHECK(right > 1200);
  CHECK(wrong > 700);
  CHECK(valid * 1000 >= right * 999);
  CHECK(refuted * 100 > wrong * 95);
  CHECK(rules["deadlock"] > 20);
  CHECK(rules["unmatched"] > 20);
  CHECK(rules["value"] > 200);
}

}  // namespace
}  // namespace p2::hlo
