#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "engine/onesided/judge.h"

namespace p2::onesided {

/// The cells of a plan that runs on numbers, with a store buffer for every block that is late: what
/// the simulation and the threads of `run` have in common. A Word holds a number, a Flag the launch
/// whose packet a cell has, -1 for none; with threads both are atomic.
template <typename Word, typename Flag>
class LateMemory {
 public:
  /// What a block has written and not drained.
  using Buffer = std::map<Cell, std::uint64_t>;

  explicit LateMemory(std::uint32_t cells) : words_(cells), flags_(cells) {
    for (Flag& flag : flags_) flag = -1;
  }

  std::uint64_t operator[](Cell cell) const { return words_[cell]; }

  /// What the user of a rank does before a launch: new inputs, and anything in the output.
  template <typename Random>
  void write_inputs(const UserCells& user, std::uint32_t launch, std::uint32_t rank,
                    Random& random) {
    for (std::uint32_t k = 0; k < user.output_cells; ++k) words_[user.output + k] = random();
    for (std::uint32_t k = 0; k < user.input_cells; ++k) {
      words_[user.input + k] = input_number(launch, rank, k);
    }
  }

  /// An operation and the next one of its elements, which are executed in order.
  struct Progress {
    const Operation* operation = nullptr;
    std::size_t statement = 0;
    std::uint32_t element = 0;
  };

  /// Whether the next element can be executed: the packets that it polls have arrived.
  bool is_ready(const Progress& progress) const {
    const Operation& operation = *progress.operation;
    if (progress.statement == operation.statements.size()) return true;
    const std::vector<Operand>& sources = operation.statements[progress.statement].sources;
    return std::ranges::all_of(sources, [&](const Operand& source) {
      return !source.polled || progress.element >= source.count ||
             flags_[source.cell(progress.element)] == std::int64_t{operation.launch};
    });
  }

  /// Executes elements as long as their packets are there; whether none is left. Plain cells are
  /// read through the block's own buffer and written into it; packets go to memory at once, and so
  /// does all without a buffer. `before_each` is called for every element.
  template <typename BeforeEach>
  bool execute(Progress& progress, Buffer* buffer, const BeforeEach& before_each) {
    const Operation& operation = *progress.operation;
    for (std::size_t& s = progress.statement; s < operation.statements.size(); ++s) {
      const Statement& statement = operation.statements[s];
      for (std::uint32_t& k = progress.element; k < statement.sources.front().count; ++k) {
        if (!is_ready(progress)) return false;
        before_each();
        std::uint64_t sum = 0;
        std::int64_t flag = operation.launch;
        for (const Operand& source : statement.sources) {
          const Cell cell = source.cell(k);
          if (source.packets && !source.polled) flag = flags_[cell];
          const bool own = buffer != nullptr && !source.packets && buffer->contains(cell);
          sum += own ? buffer->at(cell) : (*this)[cell];
        }
        for (const Operand& target : statement.targets) {
          write(target.cell(k), target.packets, sum, flag, buffer);
        }
      }
      progress.element = 0;
    }
    return true;
  }

  /// Goes on with one of those put off, if it can, which ends there with its last element; whether
  /// it could.
  template <typename BeforeEach>
  bool run_put_off(std::vector<Progress>& put_off, std::size_t index, Buffer* buffer,
                   const BeforeEach& before_each) {
    if (!may_run(put_off, index)) return false;
    if (execute(put_off[index], buffer, before_each)) {
      put_off.erase(put_off.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return true;
  }

  void drain(Buffer& buffer) {
    for (const auto& [cell, value] : buffer) words_[cell] = value;
    buffer.clear();
  }
  /// One write of the buffer, now and then.
  template <typename Random>
  void drain_some(Buffer& buffer, Random& random) {
    if (buffer.empty() || random() % 4 != 0) return;
    auto each = buffer.begin();
    std::advance(each, static_cast<std::ptrdiff_t>(random() % buffer.size()));
    words_[each->first] = each->second;
    buffer.erase(each);
  }

 private:
  /// Whether an operation of those put off can go on: its next packets are there, and none before
  /// it gives a cell to the same thread, which keeps to program order.
  bool may_run(const std::vector<Progress>& put_off, std::size_t index) const {
    const Operation& operation = *put_off[index].operation;
    if (!is_ready(put_off[index])) return false;
    const std::set<Cell> own = starts(operation);
    for (std::size_t i = 0; i < index; ++i) {
      if (put_off[i].operation->packets != operation.packets) continue;
      for (const Cell cell : starts(*put_off[i].operation)) {
        if (own.contains(cell)) return false;
      }
    }
    return true;
  }

  static std::set<Cell> starts(const Operation& operation) {
    std::set<Cell> found;
    for (const Statement& statement : operation.statements) {
      for (const Operand& each : statement.sources) found.insert(each.first);
      for (const Operand& each : statement.targets) found.insert(each.first);
    }
    return found;
  }

  /// The flag of a packet is written last: it says that the data are there.
  void write(Cell cell, bool packet, std::uint64_t number, std::int64_t flag, Buffer* buffer) {
    if (packet) {
      words_[cell] = number;
      words_[cell + 1] = number;
      flags_[cell + 1] = -1;
      flags_[cell] = flag;
      return;
    }
    flags_[cell] = -1;
    if (buffer != nullptr) {
      (*buffer)[cell] = number;
    } else {
      words_[cell] = number;
    }
  }

  std::vector<Word> words_;
  std::vector<Flag> flags_;
};

}  // namespace p2::onesided
