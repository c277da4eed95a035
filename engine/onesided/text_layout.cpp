#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/onesided/text_unroller.h"

namespace p2::onesided::text {
namespace {

constexpr std::uint32_t kMaxTextBlocks = 1024;

}  // namespace

std::string_view word_of(TextStatement::Kind kind) {
  constexpr std::array<std::string_view, 16> kWords = {
      "for",         "loop",        "put",  "get",    "copy", "reduce", "multimem_ld_reduce",
      "multimem_st", "put_packets", "poll", "signal", "wait", "fence",  "sync",
      "barrier",     "flush"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::int64_t TextUnroller::value(const Expression& expression, const Scope& scope) const {
  using enum Expression::Kind;
  if (expression.kind == Number) return expression.number;
  if (expression.kind == Name) {
    if (expression.name == "r") return scope.rank;
    if (expression.name == "b") return scope.block;
    if (expression.name == "n") return plan_.ranks;
    if (expression.name == "launch") return scope.launch;
    const auto found = scope.names.find(expression.name);
    if (found == scope.names.end()) {
      fail(expression.line, expression.column,
           fmt::format("unknown name {}, expected r, b, n, launch or the variable of a loop",
                       expression.name));
    }
    return found->second;
  }
  const std::int64_t a = value(expression.parts[0], scope);
  const std::int64_t b = value(expression.parts[1], scope);
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  std::int64_t result = 0;
  switch (expression.kind) {
    case Add:
      result = a + b;
      break;
    case Subtract:
      result = a - b;
      break;
    case Multiply:
      result = a * b;
      break;
    default:
      if (b <= 0) {
        fail(expression.line, expression.column,
             fmt::format("divides by {}, expected a positive number", b));
      }
      // Rounds down, so that the remainder is never negative.
      result = a >= 0 ? a / b : -((-a + b - 1) / b);
      if (expression.kind == Remainder) result = a - result * b;
      break;
  }
  if (result >= kLimit || result <= -kLimit) {
    fail(expression.line, expression.column, "is too large, expected less than 2^31");
  }
  return result;
}

int TextUnroller::launch_degree(const Expression& expression) const {
  using enum Expression::Kind;
  if (expression.kind == Number) return 0;
  if (expression.kind == Name) return expression.name == "launch" ? 1 : 0;
  const int a = launch_degree(expression.parts[0]);
  const int b = launch_degree(expression.parts[1]);
  if (expression.kind == Add || expression.kind == Subtract) return std::max(a, b);
  if (a + b > 1 || (expression.kind != Multiply && a + b > 0)) {
    fail(expression.line, expression.column,
         "is not linear in launch, expected a sum or a multiple");
  }
  return a + b;
}

std::vector<std::int64_t> TextUnroller::values(const NumberSet& set, std::uint32_t bound,
                                               const Scope& scope) const {
  std::int64_t first = 0;
  std::int64_t last = std::int64_t{bound} - 1;
  if (!set.all) {
    first = value(set.first, scope);
    last = set.last ? value(*set.last, scope) : first;
  }
  constexpr std::int64_t kMaxValues = 1 << 20;
  if (last - first >= kMaxValues) {
    fail(set.first.line, set.first.column, "has too many values, expected at most 2^20");
  }
  const std::optional<std::int64_t> except =
      set.except ? std::optional(value(*set.except, scope)) : std::nullopt;
  std::vector<std::int64_t> found;
  for (std::int64_t each = first; each <= last; ++each) {
    if (each != except) found.push_back(each);
  }
  return found;
}

void TextUnroller::refuse(Rule rule, const TextStatement& statement, const Scope& scope,
                          const std::string& reason) const {
  Violation violation;
  violation.rule = rule;
  const std::string text = fmt::format("rank {} block {} line {} ({})", scope.rank, scope.block,
                                       statement.line, word_of(statement.kind));
  violation.reason = fmt::format("{} {}.", text, reason);
  violation.happenings.push_back({text, {source_, statement.line, statement.column}});
  throw violation;
}

std::uint32_t TextUnroller::rank_of(const Expression& expression, const Scope& scope,
                                    const TextStatement& statement) const {
  const std::int64_t rank = value(expression, scope);
  if (rank < 0 || rank >= plan_.ranks) {
    refuse(Rule::NoPeer, statement, scope,
           fmt::format("names rank {}, the plan has {}", rank, plan_.ranks));
  }
  return static_cast<std::uint32_t>(rank);
}

const TextCounter& TextUnroller::declared(const TextStatement& statement) const {
  for (const TextCounter& each : plan_.counters) {
    if (each.name == statement.name) return each;
  }
  fail(statement.line, statement.column,
       fmt::format("unknown counter {}, expected one that is declared", statement.name));
}

std::uint32_t TextUnroller::counter(const std::string& name, std::uint32_t from, std::uint32_t to) {
  const auto& declared = *std::ranges::find_if(
      plan_.counters, [&](const TextCounter& each) { return each.name == name; });
  if (!declared.per_peer) from = kNone;
  const auto [found, is_new] =
      counters_.try_emplace({name, from, to}, static_cast<std::uint32_t>(out_.counters.size()));
  if (is_new) {
    out_.counters.push_back(
        {from == kNone ? fmt::format("counter {} of rank {}", name, to)
                       : fmt::format("counter {} from rank {} to rank {}", name, from, to),
         declared.initial});
  }
  return found->second;
}

std::uint32_t TextUnroller::queue(std::uint32_t from, std::uint32_t to) {
  const auto [found, is_new] =
      queues_.try_emplace({from, to}, static_cast<std::uint32_t>(out_.queues.size()));
  if (is_new) out_.queues.push_back({from});
  return found->second;
}

void TextUnroller::for_each_block(const std::function<void(const TextBlock&, Scope&)>& visit) {
  for (const TextBlock& block : plan_.blocks) {
    for (const std::int64_t rank : values(block.ranks, plan_.ranks, {})) {
      if (rank < 0 || rank >= plan_.ranks) {
        fail(block.line, 1, fmt::format("names rank {}, expected 0 to {}", rank, plan_.ranks - 1));
      }
      Scope scope;
      scope.rank = static_cast<std::uint32_t>(rank);
      std::vector<std::int64_t> numbers = {0};
      if (block.blocks) {
        if (block.blocks->all) {
          fail(block.line, 1, "names all blocks, expected numbers");
        }
        numbers = values(*block.blocks, 0, scope);
      }
      for (const std::int64_t number : numbers) {
        if (number < 0 || number >= kMaxTextBlocks) {
          fail(block.line, 1,
               fmt::format("names block {}, expected 0 to {}", number, kMaxTextBlocks - 1));
        }
        scope.block = static_cast<std::uint32_t>(number);
        scope.names.clear();
        visit(block, scope);
      }
    }
  }
}

/// The cells of i and o that statements name.
void TextUnroller::measure(const std::vector<TextStatement>& body, Scope& scope) {
  for (const TextStatement& statement : body) {
    if (++operations_ > kMaxOperations) {
      throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
    }
    if (statement.kind == Kind::For) {
      for (const std::int64_t each : values(statement.set, plan_.ranks, scope)) {
        const auto shadowed = scope.names.find(statement.name);
        const auto before =
            shadowed == scope.names.end() ? std::nullopt : std::optional(shadowed->second);
        scope.names[statement.name] = each;
        measure(statement.body, scope);
        if (before) {
          scope.names[statement.name] = *before;
        } else {
          scope.names.erase(statement.name);
        }
      }
      continue;
    }
    if (statement.kind == Kind::Loop) {
      measure(statement.body, scope);
      continue;
    }
    for (const std::vector<Reference>* const list : {&statement.targets, &statement.sources}) {
      for (const Reference& each : *list) {
        if (each.buffer != "i" && each.buffer != "o") continue;
        const std::int64_t last = value(each.last ? *each.last : each.first, scope);
        std::uint64_t& cells = each.buffer == "i" ? input_cells_ : output_cells_;
        if (last >= 0) cells = std::max(cells, static_cast<std::uint64_t>(last) + 1);
      }
    }
  }
}

/// i and o have the cells that are declared, or the fewest of the collective that hold all that
/// statements name.
void TextUnroller::size_user_buffers() {
  for_each_block([&](const TextBlock& block, Scope& scope) { measure(block.body, scope); });
  operations_ = 0;
  const std::uint64_t ranks = plan_.ranks;
  std::optional<std::uint64_t> in;
  std::optional<std::uint64_t> out;
  for (const TextBuffer& each : plan_.buffers) {
    if (each.name == "i") in = each.cells;
    if (each.name == "o") out = each.cells;
  }
  if (plan_.collective == "allgather") {
    const std::uint64_t part = std::max(input_cells_, (output_cells_ + ranks - 1) / ranks);
    input_cells_ = in.value_or(out ? *out / ranks : part);
    output_cells_ = out.value_or(input_cells_ * ranks);
    if (output_cells_ != input_cells_ * ranks) fail(1, 1, "o has to be the inputs of all ranks");
  } else if (plan_.collective == "reducescatter") {
    const std::uint64_t part = std::max(output_cells_, (input_cells_ + ranks - 1) / ranks);
    output_cells_ = out.value_or(in ? *in / ranks : part);
    input_cells_ = in.value_or(output_cells_ * ranks);
    if (input_cells_ != output_cells_ * ranks) fail(1, 1, "i has to be the outputs of all ranks");
  } else {
    std::uint64_t cells = std::max(input_cells_, output_cells_);
    if (plan_.collective == "alltoall") cells = (cells + ranks - 1) / ranks * ranks;
    input_cells_ = in.value_or(out.value_or(cells));
    output_cells_ = out.value_or(input_cells_);
    if (input_cells_ != output_cells_ ||
        (plan_.collective == "alltoall" && input_cells_ % ranks != 0)) {
      fail(1, 1,
           fmt::format("i has {} cells and o {}, expected the same of both, and parts of "
                       "alltoall for all ranks",
                       input_cells_, output_cells_));
    }
  }
}

void TextUnroller::lay_out() {
  Buffer& input = buffers_["i"];
  Buffer& output = buffers_["o"];
  input.cells = static_cast<std::uint32_t>(input_cells_);
  output.cells = static_cast<std::uint32_t>(output_cells_);
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
    const UserCells& user = add_user_cells(out_, input_cells_, output_cells_);
    input.first.push_back(user.input);
    output.first.push_back(user.output);
    for (const TextBuffer& each : plan_.buffers) {
      if (each.name == "i" || each.name == "o") continue;
      Buffer& buffer = buffers_[each.name];
      buffer.cells = each.cells;
      buffer.packets = each.packets;
      buffer.doubled = each.doubled;
      const std::uint32_t width = each.packets ? 2 : 1;
      const std::uint64_t cells = std::uint64_t{each.cells} * width;
      buffer.first.push_back(add_space(out_, r, each.name, cells, false, width));
      if (each.doubled) add_space(out_, r, each.name + " (odd launches)", cells, false, width);
    }
  }
}

Operation& TextUnroller::add(const TextStatement& statement, Scope& scope, Operation::Kind kind,
                             bool transfer) {
  if (++operations_ > kMaxOperations) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
  }
  const auto [found, is_new] = origins_.try_emplace(
      {statement.line * 4096 + statement.column, scope.rank, scope.block, transfer},
      static_cast<std::uint32_t>(out_.origins.size()));
  if (is_new) {
    out_.origins.push_back(
        {fmt::format("rank {} block {} line {} ({}{})", scope.rank, scope.block, statement.line,
                     word_of(statement.kind), transfer ? " transfer" : ""),
         statement.line, statement.column, OpPlace{}, transfer});
  }
  Operation& operation = scope.out->operations.emplace_back();
  operation.kind = kind;
  operation.origin = found->second;
  operation.launch = scope.launch;
  operation.lane = plan_.threads ? scope.lane : 0;
  return operation;
}

std::vector<Operand> TextUnroller::operands(const Reference& reference,
                                            const TextStatement& statement,
                                            const Scope& scope) const {
  const auto found = buffers_.find(reference.buffer);
  if (found == buffers_.end()) {
    fail(reference.line, reference.column,
         fmt::format("unknown buffer {}, expected i, o or one that is declared", reference.buffer));
  }
  const Buffer& buffer = found->second;
  const std::int64_t first = value(reference.first, scope);
  const std::int64_t last = reference.last ? value(*reference.last, scope) : first;
  if (first < 0 || last < first - 1 || last >= buffer.cells) {
    refuse(Rule::OutOfBounds, statement, scope,
           fmt::format("touches cells {} to {} of {}, which holds {}", first, last,
                       reference.buffer, buffer.cells));
  }
  std::vector<std::int64_t> ranks = {scope.rank};
  if (reference.rank) ranks = {rank_of(*reference.rank, scope, statement)};
  if (reference.group) ranks = values(*reference.group, plan_.ranks, scope);
  if (ranks.empty()) refuse(Rule::NoPeer, statement, scope, "names a group without ranks");
  std::vector<Operand> all;
  for (const std::int64_t rank : ranks) {
    if (rank < 0 || rank >= plan_.ranks) {
      refuse(Rule::NoPeer, statement, scope,
             fmt::format("names rank {}, the plan has {}", rank, plan_.ranks));
    }
    const std::uint32_t width = buffer.packets ? 2 : 1;
    Cell cell = buffer.first[static_cast<std::size_t>(rank)] + static_cast<Cell>(first) * width;
    if (buffer.doubled && scope.launch % 2 == 1) cell += buffer.cells * width;
    all.push_back({cell, static_cast<std::uint32_t>(last - first + 1), buffer.packets, false});
  }
  return all;
}

}  // namespace p2::onesided::text
