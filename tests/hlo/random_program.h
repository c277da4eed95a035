#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {

/// A program on matrices of 4×4 before partitioning, and on shards after, with a chance of a
/// mistake at every step.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t seed, int devices, int mistakes)
      : random_(seed), devices_(devices), mistakes_(mistakes) {
    for (int i = 0; i < 3; ++i) {
      const auto sharding = static_cast<Sharding>(below(3));
      global_ += fmt::format("  x{} = f32[4,4] parameter({})\n", i, i);
      local_ += fmt::format("  x{} = {} parameter({})\n", i, shape(sharding), i);
      inputs_ += fmt::format("{}\"{}\":{{\"after\":{},\"relation\":{}}}", i == 0 ? "" : ",", i, i,
                             relation(sharding));
      tensors_.push_back({fmt::format("x{}", i), fmt::format("x{}", i), sharding});
    }
    const int steps = 2 + below(5);
    for (int i = 0; i < steps; ++i) step();
    const Tensor last = tensors_.back();
    global_ += fmt::format("  ROOT out = f32[4,4] copy({})\n", last.global);
    local_ += fmt::format("  ROOT out = {} copy({})\n", shape(last.sharding), last.local);
    outputs_ = fmt::format("\"0\":{{\"after\":0,\"relation\":{}}}", relation(last.sharding));
  }

  std::string before() const { return before_text(global_); }
  std::string after() const { return after_text(local_, devices_); }
  std::string relation_text() const {
    return fmt::format(
        "{{\"format\":\"p2-relation/1\",\"devices\":{},\"mesh\":{{\"d\":{}}},\"inputs\":{{{}}},"
        "\"outputs\":{{{}}}}}",
        devices_, devices_, inputs_, outputs_);
  }
  bool has_mistake() const { return mistaken_; }

 private:
  /// Of a matrix over the devices.
  enum class Sharding : std::uint8_t { Replicated, Rows, Columns, PartialSums };
  struct Tensor {
    std::string global;
    std::string local;
    Sharding sharding;
  };

  int below(int end) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, end - 1)(random_));
  }
  bool mistake() {
    const bool made = below(100) < mistakes_;
    mistaken_ = mistaken_ || made;
    return made;
  }
  std::string shape(Sharding sharding) const {
    if (sharding == Sharding::Rows) return fmt::format("f32[{},4]", 4 / devices_);
    return sharding == Sharding::Columns ? fmt::format("f32[4,{}]", 4 / devices_) : "f32[4,4]";
  }
  static std::string relation(Sharding sharding) {
    if (sharding == Sharding::Replicated) return "\"replicated\"";
    if (sharding == Sharding::Rows) return "{\"dims\":[[\"d\"],[]]}";
    if (sharding == Sharding::Columns) return "{\"dims\":[[],[\"d\"]]}";
    return "{\"dims\":[[],[]],\"sum\":[\"d\"]}";
  }
  std::string global_op(const std::string& text) {
    const std::string name = fmt::format("g{}", ++names_);
    global_ += fmt::format("  {} = {}\n", name, text);
    return name;
  }
  std::string local_op(const std::string& text) {
    const std::string name = fmt::format("l{}", ++names_);
    local_ += fmt::format("  {} = {}\n", name, text);
    return name;
  }
  std::string groups() {
    return fmt::format(", channel_id={}, replica_groups={{{{{}}}}}, use_global_device_ids=true",
                       ++names_, devices_ == 2 ? "0,1" : "0,1,2,3");
  }

  /// The same tensor in another sharding.
  Tensor resharded(Tensor from, Sharding to) {
    if (from.sharding == to) return from;
    if (from.sharding == Sharding::PartialSums) {
      if (!mistake()) {
        from.local = local_op("f32[4,4] all-reduce(" + from.local + ")" + groups() +
                              ", to_apply=" + (mistake() ? "maximum" : "add"));
      }
      return resharded({from.global, from.local, Sharding::Replicated}, to);
    }
    if (from.sharding != Sharding::Replicated) {
      const int dimension = from.sharding == Sharding::Rows ? 0 : 1;
      from.local = local_op(fmt::format("f32[4,4] all-gather({}){}, dimensions={{{}}}", from.local,
                                        groups(), dimension));
      if (to == Sharding::Replicated) return {from.global, from.local, to};
    }
    if (to == Sharding::PartialSums) {  // the second device adds nothing
      const std::string id = local_op("u32[] partition-id()");
      const std::string zero = local_op("u32[] constant(0)");
      const std::string first =
          local_op(fmt::format("pred[] compare({}, {}), direction=EQ", id, zero));
      const std::string all =
          local_op(fmt::format("pred[4,4] broadcast({}), dimensions={{}}", first));
      const std::string none = local_op("f32[] constant(0)");
      const std::string zeros =
          local_op(fmt::format("f32[4,4] broadcast({}), dimensions={{}}", none));
      const std::string kept =
          mistake() ? from.local
                    : local_op(fmt::format("f32[4,4] select({}, {}, {})", all, from.local, zeros));
      return {from.global, kept, to};
    }
    const std::string id = local_op("u32[] partition-id()");
    const std::string size =
        local_op(fmt::format("u32[] constant({})", mistake() ? 0 : 4 / devices_));
    const std::string at = local_op(fmt::format("u32[] multiply({}, {})", id, size));
    const std::string zero = local_op("u32[] constant(0)");
    const bool rows = to == Sharding::Rows;
    from.local = local_op(fmt::format("{} dynamic-slice({}, {}, {}), dynamic_slice_sizes={{{}}}",
                                      shape(to), from.local, rows ? at : zero, rows ? zero : at,
                                      shape(to).substr(4, 3)));
    return {from.global, from.local, to};
  }

  void step() {
    const Tensor a = tensors_[static_cast<std::size_t>(below(static_cast<int>(tensors_.size())))];
    const Tensor b = tensors_[static_cast<std::size_t>(below(static_cast<int>(tensors_.size())))];
    switch (below(6)) {
      case 0:
        return product(a, b);
      case 1: {
        const char* const names[] = {"exponential", "negate", "logistic", "abs"};
        const std::string name = names[below(4)];
        const bool linear = name == "negate";
        const Tensor from =
            a.sharding == Sharding::PartialSums && !linear ? resharded(a, Sharding::Replicated) : a;
        tensors_.push_back({global_op("f32[4,4] " + name + "(" + a.global + ")"),
                            local_op(shape(from.sharding) + " " + name + "(" + from.local + ")"),
                            from.sharding});
        return;
      }
      case 2: {
        const bool sum = below(2) == 0;
        Tensor left =
            !sum && a.sharding == Sharding::PartialSums ? resharded(a, Sharding::Rows) : a;
        const Tensor right = resharded(b, left.sharding);
        const std::string name = sum ? "add" : "multiply";
        tensors_.push_back({global_op(fmt::format("f32[4,4] {}({}, {})", name, a.global, b.global)),
                            local_op(fmt::format("{} {}({}, {})", shape(left.sharding), name,
                                                 left.local, right.local)),
                            left.sharding});
        return;
      }
      case 3:
        return reduced(a);
      case 4: {
        const Tensor from = a.sharding == Sharding::PartialSums && below(2) == 0
                                ? resharded(a, Sharding::Replicated)
                                : a;
        const Sharding to = from.sharding == Sharding::Rows      ? Sharding::Columns
                            : from.sharding == Sharding::Columns ? Sharding::Rows
                                                                 : from.sharding;
        tensors_.push_back(
            {global_op("f32[4,4] transpose(" + a.global + "), dimensions={1,0}"),
             local_op(shape(to) + " transpose(" + from.local + "), dimensions={1,0}"), to});
        return;
      }
      default:
        tensors_.push_back(resharded(a, static_cast<Sharding>(below(4))));
    }
  }

  /// A dot, by rows, by columns, or over a contraction that is cut.
  void product(const Tensor& a, const Tensor& b) {
    const std::string numbers = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    const int how = below(3);
    const Tensor left = resharded(a, how == 0   ? Sharding::Rows
                                     : how == 1 ? Sharding::Replicated
                                                : Sharding::Columns);
    const Tensor right = resharded(b, how == 0   ? Sharding::Replicated
                                      : how == 1 ? Sharding::Columns
                                                 : Sharding::Rows);
    const Sharding sharding = how == 0   ? Sharding::Rows
                              : how == 1 ? Sharding::Columns
                                         : Sharding::PartialSums;
    tensors_.push_back(
        {global_op(fmt::format("f32[4,4] dot({}, {}){}", a.global, b.global, numbers)),
         local_op(
             fmt::format("{} dot({}, {}){}", shape(sharding), left.local, right.local, numbers)),
         sharding});
  }

  /// Every row less its sum, or its largest element.
  void reduced(const Tensor& a) {
    const bool sum = below(2) == 0;
    const std::string by = sum ? "add" : "maximum";
    const std::string first = sum ? "0" : "-inf";
    const Tensor from = a.sharding == Sharding::PartialSums ? resharded(a, Sharding::Columns) : a;
    const std::string start = global_op("f32[] constant(" + first + ")");
    const std::string row = global_op(
        fmt::format("f32[4] reduce({}, {}), dimensions={{1}}, to_apply={}", a.global, start, by));
    const std::string wide = global_op("f32[4,4] broadcast(" + row + "), dimensions={0}");
    const std::string rows =
        from.sharding == Sharding::Rows ? fmt::format("f32[{}]", 4 / devices_) : "f32[4]";
    const std::string local_start = local_op("f32[] constant(" + first + ")");
    std::string local_row = local_op(fmt::format("{} reduce({}, {}), dimensions={{1}}, to_apply={}",
                                                 rows, from.local, local_start, by));
    if (from.sharding == Sharding::Columns && !mistake()) {
      local_row = local_op(rows + " all-reduce(" + local_row + ")" + groups() + ", to_apply=" + by);
    }
    const std::string local_wide =
        local_op(shape(from.sharding) + " broadcast(" + local_row + "), dimensions={0}");
    tensors_.push_back(
        {global_op(fmt::format("f32[4,4] subtract({}, {})", a.global, wide)),
         local_op(fmt::format("{} subtract({}, {})", shape(from.sharding), from.local, local_wide)),
         from.sharding});
  }

  std::mt19937 random_;
  int devices_;
  int mistakes_;
  int names_ = 0;
  bool mistaken_ = false;
  std::string global_;
  std::string local_;
  std::string inputs_;
  std::string outputs_;
  std::vector<Tensor> tensors_;
};

}  // namespace p2::hlo
