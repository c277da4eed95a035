#include "engine/onesided/text_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "p2/document.h"
#include "p2/error.h"

namespace p2::onesided {
namespace {

constexpr std::uint64_t kMaxTextRanks = 4096;
constexpr std::uint64_t kMaxTextCells = std::uint64_t{1} << 20;
constexpr int kMaxDepth = 64;

/// A line that is not empty: its indentation and the text after it, up to a comment.
struct Line {
  SourcePosition where;
  std::size_t indent = 0;
  std::string_view text;
};

std::vector<Line> lines_of(const std::string& source, std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) {
      line.remove_suffix(1);
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == line.size()) continue;
    if (line[indent] == '\t') {
      throw InputError({source, number, indent + 1}, "found a tab, expected blanks to indent with");
    }
    lines.push_back({{source, number, indent + 1}, indent, line.substr(indent)});
  }
  return lines;
}

class Parser {
 public:
  Parser(const std::string& source, std::string_view text)
      : source_(source), lines_(lines_of(source, text)) {}

  TextPlan run();

 private:
  /// The words of one line.
  class Words : public TextCursor {
   public:
    explicit Words(const Line& line)
        : TextCursor(line.text, line.where, TextCursor::Comments::Hash) {}
    bool accept_word(std::string_view word) {
      if (peek_word() != word) return false;
      take(word.size());
      return true;
    }
    std::string_view peek_word() {
      const std::string_view left = rest();
      std::size_t length = 0;
      while (length < left.size() &&
             (std::isalnum(static_cast<unsigned char>(left[length])) != 0 || left[length] == '_')) {
        ++length;
      }
      return left.substr(0, length);
    }
    std::string word(std::string_view what) {
      const std::string_view found = peek_word();
      if (found.empty() || std::isdigit(static_cast<unsigned char>(found.front())) != 0) {
        unexpected(what);
      }
      return std::string(take(found.size()));
    }
  };

  void header(TextPlan& plan);
  void declaration(TextPlan& plan);
  void block(TextPlan& plan);
  void body(Words& words, std::size_t indent, std::vector<TextStatement>& out);
  TextStatement statement(Words& words, std::size_t indent);
  Reference reference(Words& words);
  Reference group_reference(Words& words);
  NumberSet set(Words& words, bool with_except);
  void order_and_scope(Words& words, TextStatement& out);
  Expression expression(Words& words);
  Expression product(Words& words);
  Expression factor(Words& words);

  const std::string& source_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

Expression Parser::factor(Words& words) {
  const SourcePosition at = words.position();
  Expression expression;
  if (words.accept("(")) {
    if (++depth_ > kMaxDepth) words.fail("parentheses are nested too deeply, expected at most 64");
    expression = this->expression(words);
    --depth_;
    words.expect(")", "after an expression");
    return expression;
  }
  expression.line = at.line;
  expression.column = at.column;
  const char first = words.peek();
  if (first >= '0' && first <= '9') {
    expression.number = static_cast<std::int64_t>(words.integer("a number", 0, kMaxTextCells));
    return expression;
  }
  expression.kind = Expression::Kind::Name;
  expression.name = words.word("a number, a name or (");
  return expression;
}

Expression Parser::product(Words& words) {
  Expression left = factor(words);
  for (int count = 0;; ++count) {
    Expression::Kind kind = Expression::Kind::Multiply;
    if (words.accept("*")) {
    } else if (words.accept("/")) {
      kind = Expression::Kind::Divide;
    } else if (words.accept("%")) {
      kind = Expression::Kind::Remainder;
    } else {
      return left;
    }
    if (count > kMaxDepth) words.fail("the expression is too long, expected at most 64 factors");
    Expression whole{kind, 0, {}, {}, left.line, left.column};
    whole.parts = {std::move(left), factor(words)};
    left = std::move(whole);
  }
}

Expression Parser::expression(Words& words) {
  Expression left = product(words);
  for (int count = 0;; ++count) {
    Expression::Kind kind = Expression::Kind::Add;
    if (words.rest().starts_with("+=")) return left;
    if (words.accept("+")) {
    } else if (words.accept("-")) {
      kind = Expression::Kind::Subtract;
    } else {
      return left;
    }
    if (count > kMaxDepth) words.fail("the expression is too long, expected at most 64 terms");
    Expression whole{kind, 0, {}, {}, left.line, left.column};
    whole.parts = {std::move(left), product(words)};
    left = std::move(whole);
  }
}

NumberSet Parser::set(Words& words, bool with_except) {
  NumberSet set;
  if (words.accept_word("all")) {
    set.all = true;
  } else {
    set.first = expression(words);
    if (words.accept("..")) set.last = expression(words);
  }
  if (with_except && words.accept_word("except")) set.except = expression(words);
  return set;
}

Reference Parser::reference(Words& words) {
  Reference reference;
  const SourcePosition at = words.position();
  reference.line = at.line;
  reference.column = at.column;
  reference.buffer = words.word("a buffer");
  if (words.accept("@")) reference.rank = expression(words);
  words.expect("[", "after a buffer");
  reference.first = expression(words);
  if (words.accept("..")) reference.last = expression(words);
  words.expect("]", "after the cells of a buffer");
  return reference;
}

Reference Parser::group_reference(Words& words) {
  NumberSet group = set(words, false);
  Reference found = reference(words);
  if (found.rank) words.fail("a group stands before the buffer, expected no @ after it");
  found.group = std::move(group);
  return found;
}

void Parser::order_and_scope(Words& words, TextStatement& out) {
  constexpr std::array<std::pair<std::string_view, Order>, 4> kOrders = {
      {{"relaxed", Order::Relaxed},
       {"acquire", Order::Acquire},
       {"release", Order::Release},
       {"acq_rel", Order::AcquireRelease}}};
  for (const auto& [name, order] : kOrders) {
    if (words.accept_word(name)) {
      out.order = order;
      break;
    }
  }
  if (words.accept_word("block")) {
    out.scope = TextStatement::Scope::Block;
  } else if (words.accept_word("gpu")) {
    out.scope = TextStatement::Scope::Gpu;
  } else {
    words.accept_word("sys");
  }
}

TextStatement Parser::statement(Words& words, std::size_t indent) {
  using Kind = TextStatement::Kind;
  TextStatement out;
  const SourcePosition at = words.position();
  out.line = at.line;
  out.column = at.column;
  const auto assign = [&](Kind kind) {
    out.kind = kind;
    out.targets.push_back(kind == Kind::GroupStore ? group_reference(words) : reference(words));
    words.expect("<-", "after the target");
    out.sources.push_back(kind == Kind::GroupReduce ? group_reference(words) : reference(words));
  };
  const std::string name = words.word("a statement");
  if (name == "for") {
    out.kind = Kind::For;
    out.name = words.word("the variable of a loop");
    for (const std::string_view taken : {"r", "b", "n", "launch"}) {
      if (out.name == taken) {
        throw InputError(at, fmt::format("the variable of a loop is {}, which has a meaning, "
                                         "expected another name",
                                         taken));
      }
    }
    if (!words.accept_word("in")) words.unexpected("in");
    out.set = set(words, true);
    words.expect(":", "after the values of a loop");
    body(words, indent, out.body);
  } else if (name == "loop") {
    out.kind = Kind::Loop;
    out.amount = expression(words);
    words.expect(":", "after the length of a loop");
    body(words, indent, out.body);
  } else if (name == "put") {
    assign(Kind::Put);
  } else if (name == "get") {
    assign(Kind::Get);
  } else if (name == "copy") {
    assign(Kind::Copy);
  } else if (name == "reduce") {
    assign(Kind::Reduce);
    if (words.peek() != '+') words.unexpected("+ and another source");
    while (words.accept("+")) out.sources.push_back(reference(words));
  } else if (name == "multimem_ld_reduce") {
    assign(Kind::GroupReduce);
  } else if (name == "multimem_st") {
    assign(Kind::GroupStore);
  } else if (name == "put_packets") {
    assign(Kind::PutPackets);
  } else if (name == "poll") {
    assign(Kind::Poll);
  } else if (name == "signal") {
    out.kind = Kind::Signal;
    out.name = words.word("a counter");
    words.expect("@", "before the rank that is signalled");
    out.peer = expression(words);
    order_and_scope(words, out);
  } else if (name == "wait") {
    out.kind = Kind::Wait;
    out.name = words.word("a counter");
    if (words.accept_word("from")) out.peer = expression(words);
    if (words.accept("+=")) {
      out.amount = expression(words);
    } else if (words.accept(">=")) {
      out.threshold = expression(words);
    }
    order_and_scope(words, out);
  } else if (name == "fence") {
    out.kind = Kind::Fence;
    order_and_scope(words, out);
    if (!out.order) words.unexpected("acquire, release or acq_rel");
  } else if (name == "sync") {
    out.kind = Kind::Sync;
  } else if (name == "barrier") {
    out.kind = Kind::Barrier;
    out.set = set(words, false);
  } else if (name == "flush") {
    out.kind = Kind::Flush;
  } else if (name == "async") {
    out = statement(words, indent);
    if ((out.kind != Kind::Put && out.kind != Kind::Signal) || out.async) {
      throw InputError(at, "async stands before no put and no signal, expected one of them");
    }
    out.async = true;
  } else {
    throw InputError(at, fmt::format("found '{}', expected a statement: put, get, copy, reduce, "
                                     "signal, wait, fence, sync, barrier, flush, for, loop, async, "
                                     "put_packets, poll, multimem_ld_reduce or multimem_st",
                                     printable(name)));
  }
  return out;
}

/// What follows a colon: a statement on the same line, or lines that are indented more.
void Parser::body(Words& words, std::size_t indent, std::vector<TextStatement>& out) {
  if (++depth_ > kMaxDepth) words.fail("loops are nested too deeply, expected at most 64");
  if (!words.at_end()) {
    out.push_back(statement(words, indent));
    --depth_;
    return;
  }
  const std::size_t start = next_;
  while (next_ < lines_.size() && lines_[next_].indent > indent) {
    const Line& line = lines_[next_];
    if (line.indent != lines_[start].indent) {
      throw InputError(line.where, fmt::format("is indented by {} blanks, expected {}", line.indent,
                                               lines_[start].indent));
    }
    Words own(line);
    ++next_;
    out.push_back(statement(own, line.indent));
    if (!own.at_end()) own.unexpected("the end of the line");
  }
  if (out.empty()) words.unexpected("a statement, here or indented on the next line");
  --depth_;
}

void Parser::header(TextPlan& plan) {
  if (lines_.empty()) throw InputError({source_, 1, 1}, "the plan is empty, expected plan …");
  Words words(lines_[next_++]);
  if (!words.accept_word("plan")) words.unexpected("plan");
  plan.collective = words.word("a collective");
  if (!words.accept_word("ranks")) words.unexpected("ranks");
  plan.ranks = static_cast<std::uint32_t>(words.integer("the number of ranks", 1, kMaxTextRanks));
  plan.in_place = words.accept_word("inplace");
  if (!words.at_end()) words.unexpected("inplace, or the end of the line");
}

void Parser::declaration(TextPlan& plan) {
  Words words(lines_[next_++]);
  if (words.accept_word("threads")) {
    plan.threads = true;
  } else if (words.accept_word("buffer")) {
    TextBuffer buffer{words.word("the name of a buffer")};
    buffer.cells =
        static_cast<std::uint32_t>(words.integer("the cells of a buffer", 0, kMaxTextCells));
    buffer.packets = words.accept_word("packets");
    buffer.doubled = words.accept_word("double");
    for (const TextBuffer& each : plan.buffers) {
      if (each.name == buffer.name) {
        words.fail(fmt::format("duplicate buffer {}, expected another name", buffer.name));
      }
    }
    if ((buffer.name == "i" || buffer.name == "o") && (buffer.packets || buffer.doubled)) {
      words.fail("i and o are the user's, expected neither packets nor double");
    }
    plan.buffers.push_back(std::move(buffer));
  } else {
    words.accept_word("counter");
    TextCounter counter{words.word("the name of a counter")};
    if (words.accept_word("init")) {
      counter.initial = static_cast<std::uint32_t>(words.integer("its value", 0, kMaxTextCells));
    }
    if (words.accept_word("per")) {
      if (!words.accept_word("peer")) words.unexpected("peer");
      counter.per_peer = true;
    }
    for (const TextCounter& each : plan.counters) {
      if (each.name == counter.name) {
        words.fail(fmt::format("duplicate counter {}, expected another name", counter.name));
      }
    }
    plan.counters.push_back(std::move(counter));
  }
  if (!words.at_end()) words.unexpected("the end of the line");
}

void Parser::block(TextPlan& plan) {
  const Line& line = lines_[next_++];
  Words words(line);
  TextBlock block;
  block.line = line.where.line;
  if (!words.accept_word("rank")) words.unexpected("rank, or a declaration before the first rank");
  block.ranks = set(words, true);
  if (words.accept_word("block")) block.blocks = set(words, false);
  words.expect(":", "after the ranks of a block");
  body(words, line.indent, block.body);
  if (!words.at_end()) words.unexpected("the end of the line");
  plan.blocks.push_back(std::move(block));
}

TextPlan Parser::run() {
  TextPlan plan;
  header(plan);
  const auto declares = [&] {
    const std::string_view text = lines_[next_].text;
    return text.starts_with("buffer ") || text.starts_with("counter ") || text == "threads";
  };
  while (next_ < lines_.size() && declares()) declaration(plan);
  while (next_ < lines_.size()) {
    if (lines_[next_].indent > 0) {
      throw InputError(lines_[next_].where, "is indented, expected rank at the line's beginning");
    }
    block(plan);
  }
  return plan;
}

}  // namespace

bool is_text_plan(std::string_view text) {
  TextCursor cursor("", text);
  return cursor.peek_name() == "plan";
}

TextPlan read_text_plan(const std::string& source, const std::string& text) {
  return Parser(source, text).run();
}

}  // namespace p2::onesided
