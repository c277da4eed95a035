#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/onesided/text_unroller.h"

namespace p2::onesided {
namespace text {

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
  if (!waits) return;
  // What a wait expects has to rise alike in all waits of a counter: what launches expect is
  // compared with what they signal.
  std::int64_t slope = -1;  // relative to the last expectation
  if (statement.threshold) {
    launch_degree(*statement.threshold);
    operation.threshold = natural(*statement.threshold);
    ++scope.launch;
    slope = value(*statement.threshold, scope) - static_cast<std::int64_t>(*operation.threshold);
    --scope.launch;
    if (slope < 0) {
      fail(statement.threshold->line, statement.threshold->column,
           "falls with the launch, expected it to rise or to stay");
    }
  }
  if (slopes_.try_emplace(operation.counter, slope).first->second != slope) {
    fail(statement.line, statement.column,
         fmt::format("waits on {} expect different multiples of launch, or some += and some >=, "
                     "expected the same in all of them",
                     out_.counters[operation.counter].name));
  }
}

/// A fence that all threads of a block execute orders what each of them signals and has seen.
void TextUnroller::expand_fences() {
  for (Block& block : out_.blocks) {
    std::uint32_t lanes = 1;
    for (const Operation& each : block.operations) {
      if (each.lane != kNone) lanes = std::max(lanes, each.lane + 1);
    }
    std::vector<Operation> all;
    for (Operation& each : block.operations) {
      const bool by_all = each.lane == kNone;
      for (std::uint32_t lane = 0; lane < (by_all ? lanes : 1); ++lane) {
        if (++operations_ > 2 * kMaxOperations) {
          throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
        }
        all.push_back(each);
        if (by_all) all.back().lane = lane;
      }
    }
    block.operations = std::move(all);
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

/// The last launch has to end without the signals of another one.
void TextUnroller::check_expectations() const {
  std::vector<std::uint64_t> signals;  // of the first launch, by counter
  for (const Counter& each : out_.counters) signals.push_back(each.initial);
  const auto visit = [&](const auto& use) {
    for (const Block& block : out_.blocks) {
      for (const Operation& each : block.operations) {
        if (each.launch == 0) use(each);
      }
    }
  };
  visit([&](const Operation& each) {
    if (each.kind == Operation::Kind::Signal || each.kind == Operation::Kind::PushSignal)
      ++signals[each.counter];
  });
  visit([&](const Operation& each) {
    if (each.kind != Operation::Kind::Wait || each.threshold.value_or(0) <= signals[each.object])
      return;
    const Origin& origin = out_.origins[each.origin];
    Violation violation;
    violation.rule = Rule::UnmatchedWait;
    violation.reason = fmt::format(
        "{} expects {} on {}, which is {} when all have signalled in that launch: the last launch "
        "never ends.",
        describe(out_, each), *each.threshold, out_.counters[each.object].name,
        signals[each.object]);
    violation.happenings.push_back({describe(out_, each), {source_, origin.line, origin.column}});
    throw violation;
  });
}

void TextUnroller::run_statement(const TextStatement& statement, Scope& scope) {
  if (++operations_ > kMaxOperations) {  // also of loops around nothing
    throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
  }
  switch (statement.kind) {
    case Kind::For: {
      const std::uint32_t lane = scope.lane;
      const bool in_loop = std::exchange(scope.in_loop, true);
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
      scope.in_loop = in_loop;
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
      if (plan_.threads && !scope.in_loop) fence.lane = kNone;
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

namespace {

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

}  // namespace

Unrolling TextUnroller::run() {
  out_.collective = plan_.collective;
  out_.ranks = plan_.ranks;
  out_.in_place = plan_.in_place;
  out_.rank_word = "rank";
  for (const TextBlock& block : plan_.blocks) {
    // Its ranks and blocks are looked at as the values of a loop around it.
    TextStatement around;
    around.body = block.body;
    around.set = block.ranks;
    require_same_launches(source_, {around});
    if (!block.blocks) continue;
    around.body.clear();
    around.set = *block.blocks;
    require_same_launches(source_, {around});
  }
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
  check_expectations();
  if (plan_.threads) expand_fences();
  return std::move(out_);
}

}  // namespace text

std::variant<Unrolling, Violation> unroll(const TextPlan& plan, const std::string& source,
                                          std::uint32_t launches) {
  try {
    return text::TextUnroller(plan, source, launches).run();
  } catch (const Violation& violation) {
    return violation;
  }
}

std::uint32_t launches_to_check(const TextPlan& plan) {
  return std::ranges::any_of(plan.buffers, &TextBuffer::doubled) ? 4 : 3;
}

}  // namespace p2::onesided
