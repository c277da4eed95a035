#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/onesided/text_plan.h"
#include "p2/error.h"

namespace p2::onesided {
namespace {

constexpr std::uint32_t kMaxTextBlocks = 1024;

std::string_view word_of(TextStatement::Kind kind) {
  constexpr std::array<std::string_view, 16> kWords = {
      "for",         "loop",        "put",  "get",    "copy", "reduce", "multimem_ld_reduce",
      "multimem_st", "put_packets", "poll", "signal", "wait", "fence",  "sync",
      "barrier",     "flush"};
  return kWords[static_cast<std::size_t>(kind)];
}

class TextUnroller {
 public:
  TextUnroller(const TextPlan& plan, const std::string& source, std::uint32_t launches)
      : plan_(plan), source_(source) {
    out_.launches = out_.judged = launches;
  }

  Unrolling run();

 private:
  using Kind = TextStatement::Kind;
  /// Names that expressions may use, and the block that runs.
  struct Scope {
    std::uint32_t rank = 0;
    std::uint32_t block = 0;
    std::uint32_t launch = 0;
    std::uint32_t lane = 0;
    std::map<std::string, std::int64_t, std::less<>> names = {};
    Block* out = nullptr;
  };
  /// A buffer as it is laid out.
  struct Buffer {
    std::uint32_t cells = 0;
    bool packets = false;
    bool doubled = false;
    std::vector<Cell> first = {};  ///< by rank
  };

  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& reason) const {
    throw InputError({source_, line, column}, reason);
  }
  [[noreturn]] void refuse(Rule rule, const TextStatement& statement, const Scope& scope,
                           const std::string& reason) const;
  std::int64_t value(const Expression& expression, const Scope& scope) const;
  /// How often `launch` may be a factor: 0 or 1. Refuses what is not linear.
  int launch_degree(const Expression& expression) const;
  std::vector<std::int64_t> values(const NumberSet& set, std::uint32_t bound,
                                   const Scope& scope) const;
  std::uint32_t rank_of(const Expression& expression, const Scope& scope,
                        const TextStatement& statement) const;

  template <typename Visit>
  void for_each_block(const Visit& visit);
  void size_user_buffers();
  void measure(const std::vector<TextStatement>& body, Scope& scope);
  void lay_out();
  void run_body(const std::vector<TextStatement>& body, Scope& scope);
  void run_statement(const TextStatement& statement, Scope& scope);
  void run_counter(const TextStatement& statement, Scope& scope);
  void run_data(const TextStatement& statement, Scope& scope);
  void run_barrier(const TextStatement& statement, Scope& scope);
  void check_barriers() const;
  std::vector<Operand> operands(const Reference& reference, const TextStatement& statement,
                                const Scope& scope) const;
  Operation& add(const TextStatement& statement, Scope& scope, Operation::Kind kind,
                 bool transfer = false);
  std::uint32_t counter(const std::string& name, std::uint32_t from, std::uint32_t to);
  std::uint32_t queue(std::uint32_t from, std::uint32_t to);
  const TextCounter& declared(const TextStatement& statement) const;

  const TextPlan& plan_;
  const std::string& source_;
  Unrolling out_;
  std::map<std::string, Buffer, std::less<>> buffers_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> queues_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> blocks_;  // by rank and number
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t, bool>, std::uint32_t> origins_;
  struct BarrierUse {
    std::set<std::uint32_t> blocks;
    std::uint32_t id = 0;
    std::map<std::uint32_t, std::uint64_t> times = {};
    const TextStatement* statement = nullptr;
    Scope scope = {};
  };
  std::map<std::pair<std::uint32_t, std::set<std::uint32_t>>, BarrierUse> barriers_;
  std::uint64_t operations_ = 0;
  std::uint64_t input_cells_ = 0;
  std::uint64_t output_cells_ = 0;
};

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

template <typename Visit>
void TextUnroller::for_each_block(const Visit& visit) {
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

void TextUnroller::run_data(const TextStatement& statement, Scope& scope) {
  Statement made;
  for (const Reference& each : statement.targets) {
    const auto found = operands(each, statement, scope);
    made.targets.insert(made.targets.end(), found.begin(), found.end());
  }
  for (const Reference& each : statement.sources) {
    const auto found = operands(each, statement, scope);
    made.sources.insert(made.sources.end(), found.begin(), found.end());
  }
  const auto require_own = [&](const Reference& each, const char* what) {
    if (!each.rank || value(*each.rank, scope) == scope.rank) return;
    fail(each.line, each.column,
         fmt::format("the {} is another rank's, expected an own buffer", what));
  };
  const bool writes_packets = statement.kind == Kind::PutPackets;
  for (Operand& each : made.targets) {
    if (each.packets != writes_packets) {
      fail(statement.line, statement.column,
           writes_packets ? "the target holds no packets, expected a buffer of packets"
                          : "the target holds packets, expected put_packets");
    }
  }
  bool packets = writes_packets;
  for (Operand& each : made.sources) {
    each.polled = each.packets;
    packets = packets || each.packets;
    if (each.count != made.targets.front().count) {
      refuse(Rule::SizeMismatch, statement, scope,
             fmt::format("has {} cells as target and {} as source", made.targets.front().count,
                         each.count));
    }
  }
  if (statement.kind == Kind::Poll && !made.sources.front().packets) {
    fail(statement.line, statement.column, "the source holds no packets, expected one that does");
  }
  if (statement.kind == Kind::Put || statement.kind == Kind::Copy || writes_packets) {
    require_own(statement.sources.front(), "source");
  }
  if (statement.kind == Kind::Get || statement.kind == Kind::Copy || statement.kind == Kind::Poll) {
    require_own(statement.targets.front(), "target");
  }
  if (statement.async) {
    const auto& rank = statement.targets.front().rank;
    const std::uint32_t to = rank ? rank_of(*rank, scope, statement) : scope.rank;
    for (const Operand& each : made.sources) {
      if (each.packets) fail(statement.line, statement.column, "async put polls no packets");
    }
    Operation& push = add(statement, scope, Operation::Kind::Push, true);
    push.object = queue(scope.rank, to);
    push.statements.push_back(std::move(made));
    return;
  }
  Operation& operation = add(statement, scope, Operation::Kind::Compute);
  operation.packets = packets;
  operation.statements.push_back(std::move(made));
}

void TextUnroller::run_counter(const TextStatement& statement, Scope& scope) {
  const TextCounter& counter = declared(statement);
  const bool waits = statement.kind == Kind::Wait;
  if (waits && counter.per_peer != statement.peer.has_value()) {
    fail(statement.line, statement.column,
         counter.per_peer ? "does not say from which peer, expected from"
                          : "names a peer of a counter that all share, expected no from");
  }
  const std::uint32_t peer =
      statement.peer ? rank_of(*statement.peer, scope, statement) : scope.rank;
  Order order = statement.order.value_or(waits ? Order::Acquire : Order::Release);
  if (order == Order::AcquireRelease) order = waits ? Order::Acquire : Order::Release;
  if (order == (waits ? Order::Release : Order::Acquire)) {
    fail(statement.line, statement.column,
         waits ? "a wait releases nothing, expected relaxed, acquire or acq_rel"
               : "a signal acquires nothing, expected relaxed, release or acq_rel");
  }
  const bool local = peer == scope.rank && (!waits || counter.per_peer || plan_.ranks == 1);
  using enum TextStatement::Scope;
  if (statement.scope == Block || (statement.scope == Gpu && !local)) order = Order::None;
  const auto kind = waits             ? Operation::Kind::Wait
                    : statement.async ? Operation::Kind::PushSignal
                                      : Operation::Kind::Signal;
  Operation& operation = add(statement, scope, kind);
  operation.order = order;
  operation.local = local;
  operation.counter = waits ? this->counter(counter.name, peer, scope.rank)
                            : this->counter(counter.name, scope.rank, peer);
  operation.object = statement.async ? queue(scope.rank, peer) : operation.counter;
  const auto natural = [&](const Expression& expression) {
    const std::int64_t given = value(expression, scope);
    if (given < 0) fail(expression.line, expression.column, "is negative, expected 0 or more");
    return static_cast<std::uint32_t>(given);
  };
  if (statement.amount) operation.amount = natural(*statement.amount);
  if (statement.threshold) {
    launch_degree(*statement.threshold);
    operation.threshold = natural(*statement.threshold);
  }
}

void TextUnroller::run_barrier(const TextStatement& statement, Scope& scope) {
  std::set<std::uint32_t> members;
  if (statement.set.all) {
    for (const auto& [key, number] : blocks_) {
      if (key.first == scope.rank) members.insert(key.second);
    }
  } else {
    for (const std::int64_t each : values(statement.set, 0, scope)) {
      members.insert(static_cast<std::uint32_t>(std::max<std::int64_t>(each, 0)));
    }
  }
  const auto [found, is_new] = barriers_.try_emplace({scope.rank, members});
  BarrierUse& use = found->second;
  if (is_new) {
    use.blocks = members;
    use.id = out_.barriers++;
    use.statement = &statement;
    use.scope = scope;
    out_.barrier_names.push_back(fmt::format("a barrier of rank {}", scope.rank));
  }
  ++use.times[scope.block];
  if (members == std::set{scope.block}) {
    add(statement, scope, Operation::Kind::Meet);
  } else {
    add(statement, scope, Operation::Kind::Barrier).object = use.id;
  }
}

void TextUnroller::check_barriers() const {
  for (const auto& [key, use] : barriers_) {
    for (const std::uint32_t member : use.blocks) {
      const auto times = use.times.find(member);
      if (times == use.times.end() || times->second != use.times.begin()->second) {
        refuse(
            Rule::BarrierMismatch, *use.statement, use.scope,
            fmt::format("meets block {}, which passes the barrier {} times instead of {}", member,
                        times == use.times.end() ? 0 : times->second, use.times.begin()->second));
      }
    }
    for (const auto& [block, times] : use.times) {
      if (!use.blocks.contains(block)) {
        refuse(Rule::BarrierMismatch, *use.statement, use.scope,
               fmt::format("is a barrier that block {} passes without being named", block));
      }
    }
  }
}

void TextUnroller::run_statement(const TextStatement& statement, Scope& scope) {
  if (++operations_ > kMaxOperations) {  // also of loops around nothing
    throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
  }
  switch (statement.kind) {
    case Kind::For: {
      const std::uint32_t lane = scope.lane;
      const auto shadowed = scope.names.find(statement.name);
      const auto before =
          shadowed == scope.names.end() ? std::nullopt : std::optional(shadowed->second);
      std::uint32_t index = 0;
      for (const std::int64_t each : values(statement.set, plan_.ranks, scope)) {
        scope.names[statement.name] = each;
        scope.lane = index++;
        run_body(statement.body, scope);
      }
      scope.lane = lane;
      if (before) {
        scope.names[statement.name] = *before;
      } else {
        scope.names.erase(statement.name);
      }
      return;
    }
    case Kind::Loop: {
      const std::int64_t rounds = value(*statement.amount, scope);
      for (std::int64_t round = 0; round < rounds; ++round) run_body(statement.body, scope);
      return;
    }
    case Kind::Signal:
    case Kind::Wait:
      return run_counter(statement, scope);
    case Kind::Fence: {
      Operation& fence = add(statement, scope, Operation::Kind::Fence);
      fence.order = *statement.order;
      fence.local = statement.scope == TextStatement::Scope::Gpu;
      if (statement.scope == TextStatement::Scope::Block) fence.order = Order::None;
      return;
    }
    case Kind::Sync:
      add(statement, scope, Operation::Kind::Meet);
      return;
    case Kind::Barrier:
      return run_barrier(statement, scope);
    case Kind::Flush: {
      std::set<std::uint32_t> pushed;
      for (const Operation& each : scope.out->operations) {
        if (each.kind == Operation::Kind::Push || each.kind == Operation::Kind::PushSignal) {
          pushed.insert(each.object);
        }
      }
      for (const std::uint32_t each : pushed) {
        add(statement, scope, Operation::Kind::Flush).object = each;
      }
      return;
    }
    default:
      return run_data(statement, scope);
  }
}

void TextUnroller::run_body(const std::vector<TextStatement>& body, Scope& scope) {
  for (const TextStatement& each : body) run_statement(each, scope);
}

/// Throws InputError where `launch` is used outside of `wait >=`: the plan would not be the same in
/// every launch.
void require_same_launches(const std::string& source, const std::vector<TextStatement>& body) {
  const auto require = [&](const auto& self, const Expression& expression) -> void {
    if (expression.kind == Expression::Kind::Name && expression.name == "launch") {
      throw InputError({source, expression.line, expression.column},
                       "launch is used where every launch has to be the same, expected it after "
                       "wait … >= alone");
    }
    for (const Expression& part : expression.parts) self(self, part);
  };
  const auto check = [&](const std::optional<Expression>& expression) {
    if (expression) require(require, *expression);
  };
  const auto check_set = [&](const NumberSet& set) {
    require(require, set.first);
    check(set.last);
    check(set.except);
  };
  for (const TextStatement& statement : body) {
    check_set(statement.set);
    check(statement.peer);
    check(statement.amount);
    for (const std::vector<Reference>* const list : {&statement.targets, &statement.sources}) {
      for (const Reference& each : *list) {
        check(each.rank);
        if (each.group) check_set(*each.group);
        require(require, each.first);
        check(each.last);
      }
    }
    require_same_launches(source, statement.body);
  }
}

Unrolling TextUnroller::run() {
  out_.collective = plan_.collective;
  out_.ranks = plan_.ranks;
  out_.in_place = plan_.in_place;
  out_.rank_word = "rank";
  for (const TextBlock& block : plan_.blocks) require_same_launches(source_, block.body);
  size_user_buffers();
  lay_out();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const TextBlock*>> bodies;
  for_each_block([&](const TextBlock& block, Scope& scope) {
    bodies[{scope.rank, scope.block}].push_back(&block);
  });
  for (const auto& [key, parts] : bodies) {
    blocks_[key] = static_cast<std::uint32_t>(out_.blocks.size());
    out_.blocks.push_back({key.first, !plan_.threads, {}});
  }
  for (std::uint32_t launch = 0; launch < out_.launches; ++launch) {
    for (const auto& [key, parts] : bodies) {
      Scope scope;
      scope.rank = key.first;
      scope.block = key.second;
      scope.launch = launch;
      scope.out = &out_.blocks[blocks_.at(key)];
      for (const TextBlock* const part : parts) run_body(part->body, scope);
    }
  }
  check_barriers();
  return std::move(out_);
}

}  // namespace

std::variant<Unrolling, Violation> unroll(const TextPlan& plan, const std::string& source,
                                          std::uint32_t launches) {
  try {
    return TextUnroller(plan, source, launches).run();
  } catch (const Violation& violation) {
    return violation;
  }
}

std::uint32_t launches_to_check(const TextPlan& plan) {
  return std::ranges::any_of(plan.buffers, &TextBuffer::doubled) ? 4 : 3;
}

}  // namespace p2::onesided
