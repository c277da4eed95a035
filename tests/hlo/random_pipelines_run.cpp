// An interpreter of random pipelines, on numbers modulo a prime, in which devices block as XLA says
// they do.

#include <map>
#include <set>
#include <tuple>

#include "tests/hlo/random_pipelines.h"

namespace p2::hlo::pipelines {
namespace {

constexpr std::uint64_t kPrime = 2147483647;

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

}  // namespace

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

}  // namespace p2::hlo::pipelines
