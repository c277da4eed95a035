#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace p2::hlo::pipelines {

inline constexpr int kSide = 4;  ///< of the matrices of random pipelines

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
  RandomPipeline(std::uint32_t seed, bool mistaken);

  int devices() const { return stages_ * width_; }

  std::string before() const { return "HloModule single\nENTRY main {\n" + single_ + "}\n"; }

  /// One text for every stage, or for every device.
  std::vector<std::pair<std::vector<std::uint32_t>, std::string>> texts() const;

  std::string relation() const;

  /// problem.json of a certificate, which no engine has looked at.
  std::string problem() const;

  /// Whether all programs come to their end, with the shards of what the single-device program
  /// computes (executed_problem.h).
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

  std::string single(const std::string& operation);

  /// A new input of the single-device program, which a stage holds.
  std::pair<std::string, int> input(int stage, Held held);

  int hold(int stage, Held held, int tensor);

  std::string operation(Kind kind, const std::string& a, const std::string& b);

  Line reduction(int operand) { return {Kind::AllReduce, {operand}, kSide, kSide, 0, ++channels_}; }

  void build();

  std::pair<std::string, int> step(int stage, const std::string& name, int local);

  /// Sends a matrix to another stage, from device to device.
  int pass(int from, int to, int local);

  bool mutate();
  bool hoist_receive(StageProgram& program, int index);
  static bool move_to(StageProgram& program, int from, int to);
  std::string text_of(const StageProgram& program) const;
  std::string groups() const;
  std::string entries(const std::vector<Placed>& placed, int tensors) const;
  std::string boxes(const Placed& placed) const;
  nlohmann::ordered_json numbers_of(const Placed& placed) const;
  nlohmann::ordered_json placement_of(const Placed& placed) const;

  std::mt19937 random_;
  std::vector<StageProgram> programs_;  ///< one for every stage, or for every device
  bool by_rank_ = false;
  int stages_ = 1;
  int width_ = 1;
  int tensors_ = 0;
  int steps_ = 0;
  int channels_ = 0;
  std::string single_;
  std::vector<Placed> inputs_;
  std::vector<Placed> outputs_;
};

}  // namespace p2::hlo::pipelines
