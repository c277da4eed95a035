#include <algorithm>
#include <cctype>
#include <limits>

#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 20U;

/// A number, a name, or an operation on two of them.
struct Expression {
  char kind = '0';  ///< 0, a, + - * / %
  std::int64_t number = 0;
  std::string name = {};
  std::vector<Expression> parts = {};
};
using Optional = std::optional<Expression>;

struct Set {
  bool all = false;
  Expression first = {};
  Optional last = {}, except = {};
};

/// Cells of a buffer, of the own rank, of another, or of a group.
struct Reference {
  std::string buffer = {};
  Optional rank = {};
  std::optional<Set> group = {};
  Expression first = {};
  Optional last = {};
};

struct TextStatement {
  std::string word = {}, name = {}, order = {}, scope = {};
  std::size_t line = 0;
  bool async = false;
  Set set = {};
  std::vector<TextStatement> body = {};
  std::vector<Reference> targets = {}, sources = {};
  Optional peer = {}, amount = {}, threshold = {};
};

struct TextBuffer {
  std::uint32_t cells = 0;
  bool packets = false, doubled = false;
  Numbers first = {};  ///< by rank
};

struct TextCounter {
  std::uint32_t initial = 0;
  bool per_peer = false;
};

struct TextBlock {
  Set ranks = {};
  std::optional<Set> blocks = {};
  std::vector<TextStatement> body = {};
};

struct TextPlan {
  std::string collective = {};
  std::uint32_t ranks = 0;
  bool in_place = false, threads = false;
  std::vector<std::pair<std::string, TextBuffer>> buffers = {};
  std::map<std::string, TextCounter> counters = {};
  std::vector<TextBlock> blocks = {};
};

/// Reads the text, line by line.
class TextReader {
 public:
  explicit TextReader(const std::string& text) {
    for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      line.erase(std::min(line.find('#'), line.size()));
      line.erase(line.find_last_not_of(" \t\r") + 1);
      const std::size_t indent = line.find_first_not_of(' ');
      if (!line.empty()) lines_.push_back({number, indent, line.substr(indent)});
    }
  }

  TextPlan plan();

 private:
  struct Line {
    std::size_t number, indent;
    std::string text;
  };

  [[noreturn]] void wrong(const std::string& expected) const {
    malformed("line " + std::to_string(lines_.at(line_).number) + ": expected " + expected);
  }
  const std::string& text() const { return lines_[line_].text; }
  void go_to(std::size_t line) {
    line_ = line;
    at_ = 0;
    if (text()[0] == '\t') wrong("blanks to indent with");
  }
  bool at_end() {
    at_ = std::min(text().find_first_not_of(" \t\r", at_), text().size());
    return at_ == text().size();
  }
  void expect_end() {
    if (!at_end()) wrong("the end of the line");
  }
  bool take(const std::string& token) {
    const bool found = !at_end() && text().compare(at_, token.size(), token) == 0;
    if (found) at_ += token.size();
    return found;
  }
  void expect(const std::string& token) {
    if (!take(token)) wrong(token);
  }
  std::string peek_word() {
    at_end();
    std::size_t end = at_;
    while (end < text().size() &&
           (std::isalnum(static_cast<unsigned char>(text()[end])) != 0 || text()[end] == '_'))
      ++end;
    return text().substr(at_, end - at_);
  }
  bool take_word(const std::string& word) { return peek_word() == word && take(word); }
  std::string name() {
    const std::string found = peek_word();
    if (found.empty() || std::isdigit(static_cast<unsigned char>(found[0])) != 0) wrong("a name");
    at_ += found.size();
    return found;
  }
  std::int64_t number(std::int64_t end) {
    at_end();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text().size() && '0' <= text()[at_] && text()[at_] <= '9' && value < end)
      value = 10 * value + (text()[at_++] - '0');
    if (at_ == begin || value >= end) wrong("a number below " + std::to_string(end));
    return value;
  }
  std::string one_of(const std::vector<const char*>& words) {
    for (const char* const each : words)
      if (take_word(each)) return each;
    return "";
  }

  Expression factor() {
    if (take("(")) {
      if (++depth_ > 64) wrong("fewer parentheses");
      Expression inner = expression();
      --depth_;
      expect(")");
      return inner;
    }
    if (!at_end() && std::isdigit(static_cast<unsigned char>(text()[at_])) != 0)
      return {'0', number(kMaxNumber + 1)};
    Expression named{'a', 0, name()};
    if (named.name == "launch" && !launch_allowed_) wrong("launch after wait … >= alone");
    return named;
  }
  /// A chain of operations of one strength.
  template <typename Operand>
  Expression chain(const std::string& operators, const Operand& operand) {
    Expression left = operand();
    for (int count = 0; !at_end(); ++count) {
      const char kind = text()[at_];
      if (operators.find(kind) == std::string::npos || text().compare(at_, 2, "+=") == 0) break;
      if (count > 64) wrong("a shorter expression");
      ++at_;
      Expression whole{kind};
      whole.parts = {std::move(left), operand()};
      left = std::move(whole);
    }
    return left;
  }
  Expression expression() {
    return chain("+-", [&] { return chain("*/%", [&] { return factor(); }); });
  }
  Set set(bool with_except) {
    Set found;
    found.all = take_word("all");
    if (!found.all) {
      found.first = expression();
      if (take("..")) found.last = expression();
    }
    if (with_except && take_word("except")) found.except = expression();
    return found;
  }
  Reference reference(bool of_group) {
    Reference found;
    if (of_group) found.group = set(false);
    found.buffer = name();
    if (!of_group && take("@")) found.rank = expression();
    expect("[");
    found.first = expression();
    if (take("..")) found.last = expression();
    expect("]");
    return found;
  }
  TextStatement statement(std::size_t indent);
  void body(std::size_t indent, std::vector<TextStatement>& out);

  std::vector<Line> lines_;
  std::size_t line_ = 0, at_ = 0;
  int depth_ = 0;
  bool launch_allowed_ = false;
};

const std::set<std::string> kCopies = {
    "put", "get", "copy", "reduce", "multimem_ld_reduce", "multimem_st", "put_packets", "poll"};

TextStatement TextReader::statement(std::size_t indent) {
  TextStatement out;
  out.line = lines_[line_].number;
  const std::string& word = out.word = name();
  if (word == "async") {
    out = statement(indent);
    if ((out.word != "put" && out.word != "signal") || out.async) wrong("async put or signal");
    out.async = true;
  } else if (word == "for" || word == "loop") {
    if (word == "for") {
      out.name = name();
      if (std::set<std::string>{"r", "b", "n", "launch"}.contains(out.name))
        wrong("the name of a loop's variable that has no meaning");
      expect("in");
      out.set = set(true);
    } else {
      out.amount = expression();
    }
    expect(":");
    body(indent, out.body);
  } else if (kCopies.contains(word)) {
    out.targets.push_back(reference(word == "multimem_st"));
    expect("<-");
    out.sources.push_back(reference(word == "multimem_ld_reduce"));
    while (word == "reduce" && take("+")) out.sources.push_back(reference(false));
    if (word == "reduce" && out.sources.size() < 2) wrong("another source");
  } else if (word == "signal" || word == "wait" || word == "fence") {
    if (word != "fence") out.name = name();
    if (word == "signal") expect("@");
    if (word == "signal" || (word == "wait" && take_word("from"))) out.peer = expression();
    if (word == "wait" && take("+=")) {
      out.amount = expression();
    } else if (word == "wait" && take(">=")) {
      launch_allowed_ = true;
      out.threshold = expression();
      launch_allowed_ = false;
    }
    out.order = one_of({"relaxed", "acquire", "release", "acq_rel"});
    out.scope = one_of({"block", "gpu", "sys"});
    if (word == "fence" && out.order.empty()) wrong("acquire, release or acq_rel");
  } else if (word == "barrier") {
    out.set = set(false);
  } else if (word != "sync" && word != "flush") {
    wrong("a statement");
  }
  return out;
}

/// What follows a colon: a statement, or lines that are indented more.
void TextReader::body(std::size_t indent, std::vector<TextStatement>& out) {
  if (++depth_ > 64) wrong("fewer loops in each other");
  if (!at_end()) {
    out.push_back(statement(indent));
  } else {
    const std::size_t start = line_ + 1;
    while (line_ + 1 < lines_.size() && lines_[line_ + 1].indent > indent) {
      go_to(line_ + 1);
      if (lines_[line_].indent != lines_[start].indent) wrong("the indentation of the first line");
      out.push_back(statement(lines_[start].indent));
      expect_end();
    }
    if (out.empty()) wrong("a statement, here or indented on the next line");
  }
  --depth_;
}

TextPlan TextReader::plan() {
  if (lines_.empty()) malformed("an empty text");
  TextPlan plan;
  go_to(0);
  expect("plan");
  plan.collective = name();
  expect("ranks");
  plan.ranks = static_cast<std::uint32_t>(number(4097));
  if (plan.ranks == 0) wrong("ranks");
  plan.in_place = take_word("inplace");
  expect_end();
  bool has_blocks = false;
  while (line_ + 1 < lines_.size()) {
    go_to(line_ + 1);
    if (!has_blocks && text() == "threads") {
      plan.threads = true;
    } else if (!has_blocks && text().starts_with("buffer ") && take("buffer")) {
      const std::string called = name();
      TextBuffer buffer{static_cast<std::uint32_t>(number(kMaxNumber + 1))};
      buffer.packets = take_word("packets");
      buffer.doubled = take_word("double");
      if ((called == "i" || called == "o") && (buffer.packets || buffer.doubled))
        wrong("i and o, which are the user's, without packets and double");
      for (const auto& each : plan.buffers)
        if (each.first == called) wrong("another name");
      plan.buffers.emplace_back(called, buffer);
      expect_end();
    } else if (!has_blocks && text().starts_with("counter ") && take("counter")) {
      const std::string called = name();
      TextCounter counter;
      if (take_word("init")) counter.initial = static_cast<std::uint32_t>(number(kMaxNumber + 1));
      if ((counter.per_peer = take_word("per")) && !take_word("peer")) wrong("peer");
      if (!plan.counters.emplace(called, counter).second) wrong("another name");
      expect_end();
    } else {
      has_blocks = true;
      if (lines_[line_].indent > 0 || !take_word("rank")) wrong("rank, at the line's beginning");
      TextBlock block;
      block.ranks = set(true);
      if (take_word("block")) block.blocks = set(false);
      expect(":");
      body(lines_[line_].indent, block.body);
      expect_end();
      plan.blocks.push_back(std::move(block));
    }
  }
  return plan;
}

/// Unrolls the launches of a plan in the text format.
class TextUnroller : public Launches {
 public:
  TextUnroller(TextPlan plan, Budget& budget);

 private:
  struct Fences {
    std::uint32_t release = kNone, local_release = kNone;
    struct Wait {
      std::uint32_t counter;
      std::size_t use;
      bool local;
    };
    std::vector<Wait> waits = {};  ///< relaxed ones
  };

  std::int64_t value(const Expression& expression) const;
  std::vector<std::int64_t> values(const Set& set, std::int64_t bound) const;
  std::uint32_t natural(const Expression& expression) const;
  std::uint32_t rank_of(const Expression& expression, const Place& at) const;
  void for_each_value(const TextStatement& loop, const std::function<void()>& visit);
  void measure(const std::vector<TextStatement>& body);
  void size_user_buffers();
  std::vector<std::uint32_t> blocks_of(std::uint32_t rank) const override {
    std::vector<std::uint32_t> all;
    for (const auto& [key, bodies] : bodies_)
      if (key.first == rank) all.push_back(key.second);
    return all;
  }
  void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) override;
  void run(const std::vector<TextStatement>& body);
  void run_data(const TextStatement& statement, const Place& at);
  void run_counter(const TextStatement& statement, const Place& at);
  void run_fence(const TextStatement& statement, const Place& at, std::uint32_t lane);
  void run_barrier(const TextStatement& statement, const Place& at);
  void add_operands(const Reference& reference, const Place& at, std::vector<Operand>& out) const;
  std::uint32_t queue(const Place& at, std::uint32_t to) {
    const auto [found, is_new] = queue_of_.try_emplace({at.rank, at.block, to}, queues_.size());
    if (is_new) queues_.emplace_back();
    return static_cast<std::uint32_t>(found->second);
  }
  std::uint32_t counter(const std::string& name, std::uint32_t from, std::uint32_t to) {
    const TextCounter& declared = plan_.counters.at(name);
    const auto [found, is_new] =
        counter_of_.try_emplace({name, declared.per_peer ? from : kNone, to}, counters_.size());
    if (is_new) counters_.push_back({declared.initial});
    return static_cast<std::uint32_t>(found->second);
  }

  TextPlan plan_;
  std::map<std::string, TextBuffer> buffers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const TextBlock*>> bodies_;
  std::map<std::array<std::uint32_t, 3>, std::size_t> queue_of_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::size_t> counter_of_;
  std::map<std::uint32_t, std::int64_t> rises_;  ///< by counter; -1 if waits add to it
  std::map<std::pair<std::uint32_t, std::set<std::int64_t>>, std::uint32_t> barrier_of_;
  std::map<std::array<std::uint32_t, 3>, Fences> fences_;  ///< by rank, block and lane
  std::int64_t cells_[2] = {0, 0};                         ///< of i and o
  std::uint32_t lanes_ = 1;                                ///< of a block, at most
  // What runs.
  std::uint32_t rank_ = 0, block_ = 0, launch_ = 0, lane_ = 0;
  bool in_loop_ = false;  ///< over threads
  std::map<std::string, std::int64_t> names_;
};

/// How often launch is a factor of an expression.
int degree(const Expression& expression) {
  if (expression.parts.empty()) return expression.name == "launch" ? 1 : 0;
  const int a = degree(expression.parts[0]), b = degree(expression.parts[1]);
  if (expression.kind == '+' || expression.kind == '-') return std::max(a, b);
  if (a + b > 1 || (expression.kind != '*' && a + b > 0))
    malformed("an expectation that is not linear in launch");
  return a + b;
}

std::int64_t TextUnroller::value(const Expression& expression) const {
  budget_.spend(4);
  const std::string& name = expression.name;
  if (expression.kind == '0') return expression.number;
  if (name == "r") return rank_;
  if (name == "b") return block_;
  if (name == "n") return plan_.ranks;
  if (name == "launch") return launch_;
  if (expression.kind == 'a') {
    if (!names_.contains(name)) malformed("an unknown name: " + shortened(name));
    return names_.at(name);
  }
  const std::int64_t a = value(expression.parts[0]), b = value(expression.parts[1]);
  const bool divides = expression.kind == '/' || expression.kind == '%';
  if (divides && b <= 0) malformed("a division by what is not positive");
  const std::int64_t down = divides ? a / b - (a % b < 0 ? 1 : 0) : 0;
  const std::int64_t result = expression.kind == '+'   ? a + b
                              : expression.kind == '-' ? a - b
                              : expression.kind == '*' ? a * b
                              : expression.kind == '/' ? down
                                                       : a - down * b;
  if (std::abs(result) >= std::int64_t{1} << 31U) malformed("a number that is too large");
  return result;
}

std::vector<std::int64_t> TextUnroller::values(const Set& set, std::int64_t bound) const {
  const std::int64_t first = set.all ? 0 : value(set.first);
  const std::int64_t last = set.all ? bound - 1 : set.last ? value(*set.last) : first;
  const std::int64_t except = set.except ? value(*set.except) : last + 1;
  if (last - first >= kMaxNumber) malformed("a set with too many numbers");
  std::vector<std::int64_t> all;
  for (std::int64_t each = first; each <= last; ++each)
    if (each != except) all.push_back(each);
  budget_.spend(all.size() + 1);
  return all;
}

std::uint32_t TextUnroller::natural(const Expression& expression) const {
  const std::int64_t found = value(expression);
  if (found < 0) malformed("a negative number");
  return static_cast<std::uint32_t>(found);
}

std::uint32_t TextUnroller::rank_of(const Expression& expression, const Place& at) const {
  const std::int64_t rank = value(expression);
  if (rank < 0 || rank >= plan_.ranks) fail(at.name + " names a rank that does not exist");
  return static_cast<std::uint32_t>(rank);
}

/// With threads the j-th value is that of thread j.
void TextUnroller::for_each_value(const TextStatement& loop, const std::function<void()>& visit) {
  const auto outer = names_;
  const std::uint32_t lane = lane_;
  const bool in_loop = std::exchange(in_loop_, true);
  std::uint32_t next = 0;
  budget_.spend(16 * outer.size());
  for (const std::int64_t each : values(loop.set, plan_.ranks)) {
    names_[loop.name] = each;
    if (plan_.threads) lanes_ = std::max(lanes_, (lane_ = next++) + 1);
    visit();
  }
  names_ = outer;
  lane_ = lane;
  in_loop_ = in_loop;
}

/// The cells of i and o that statements name.
void TextUnroller::measure(const std::vector<TextStatement>& body) {
  for (const TextStatement& each : body) {
    budget_.spend(16);
    if (each.word == "for") for_each_value(each, [&] { measure(each.body); });
    if (each.word == "loop") measure(each.body);
    for (const auto* list : {&each.targets, &each.sources}) {
      for (const Reference& found : *list) {
        if (found.buffer != "i" && found.buffer != "o") continue;
        std::int64_t& cells = cells_[found.buffer == "i" ? 0 : 1];
        cells = std::max(cells, value(found.last ? *found.last : found.first) + 1);
      }
    }
  }
}

/// Those that are declared, or the fewest of the collective that hold all that statements name.
void TextUnroller::size_user_buffers() {
  const std::int64_t ranks = plan_.ranks;
  const bool gathers = collective_ == "allgather", scatters = collective_ == "reducescatter";
  std::optional<std::int64_t> given[2];
  for (const auto& [name, buffer] : plan_.buffers)
    if (name == "i" || name == "o") given[name == "i" ? 0 : 1] = buffer.cells;
  // All of a rank, and the part of it that the other buffer holds.
  const int part = scatters ? 1 : 0, whole = 1 - part;
  const std::int64_t factor = gathers || scatters ? ranks : 1;
  std::int64_t least = std::max(cells_[part], (cells_[whole] + factor - 1) / factor);
  if (collective_ == "alltoall") least = (least + ranks - 1) / ranks * ranks;
  cells_[part] = given[part].value_or(given[whole] ? *given[whole] / factor : least);
  cells_[whole] = given[whole].value_or(cells_[part] * factor);
  if (cells_[whole] != cells_[part] * factor ||
      (collective_ == "alltoall" && cells_[part] % ranks != 0))
    malformed("i and o have not the cells of the collective");
}

TextUnroller::TextUnroller(TextPlan plan, Budget& budget)
    : Launches(1, budget), plan_(std::move(plan)) {
  collective_ = plan_.collective;
  in_place_ = plan_.in_place;
  single_threads_ = !plan_.threads;
  for (const TextBlock& each : plan_.blocks) {
    rank_ = block_ = 0;
    for (const std::int64_t rank : values(each.ranks, plan_.ranks)) {
      if (rank < 0 || rank >= plan_.ranks) malformed("a rank that does not exist");
      rank_ = static_cast<std::uint32_t>(rank);
      block_ = 0;
      if (each.blocks && each.blocks->all) malformed("a block of which not all can be meant");
      for (const std::int64_t number :
           each.blocks ? values(*each.blocks, 0) : std::vector<std::int64_t>{0}) {
        if (number < 0 || number >= 1024) malformed("a block that is none of 0 to 1023");
        block_ = static_cast<std::uint32_t>(number);
        bodies_[{rank_, block_}].push_back(&each);
        measure(each.body);
      }
      block_ = 0;
    }
  }
  size_user_buffers();
  const auto cells = [&](int k) { return static_cast<std::uint32_t>(cells_[k]); };
  buffers_ = {{"i", {cells(0)}}, {"o", {cells(1)}}};
  for (const auto& [name, buffer] : plan_.buffers) buffers_.try_emplace(name, buffer);
  for (std::uint32_t r = 0; r < plan_.ranks; ++r) {
    const UserCells user = lay_out_user(cells(0), cells(1));
    buffers_["i"].first.push_back(user.input);
    buffers_["o"].first.push_back(user.output);
    for (const auto& [name, buffer] : plan_.buffers) {
      if (name == "i" || name == "o") continue;
      if (buffer.doubled) launches_ = 4;
      const std::uint64_t width = (buffer.packets ? 2 : 1) * (buffer.doubled ? 2 : 1);
      buffers_[name].first.push_back(out_.add_space(r, name, buffer.cells * width, false));
    }
  }
  set_goal(plan_.ranks);
}

void TextUnroller::add_operands(const Reference& reference, const Place& at,
                                std::vector<Operand>& out) const {
  const auto found = buffers_.find(reference.buffer);
  if (found == buffers_.end()) malformed("an unknown buffer: " + shortened(reference.buffer));
  const TextBuffer& buffer = found->second;
  const std::int64_t first = value(reference.first);
  const std::int64_t last = reference.last ? value(*reference.last) : first;
  if (first < 0 || last < first - 1 || last >= buffer.cells) fail(at.name + " is out of bounds");
  std::vector<std::int64_t> ranks = {rank_};
  if (reference.rank) ranks = {rank_of(*reference.rank, at)};
  if (reference.group) ranks = values(*reference.group, plan_.ranks);
  if (ranks.empty()) fail(at.name + " names a group without ranks");
  const std::uint32_t width = buffer.packets ? 2 : 1;
  for (const std::int64_t rank : ranks) {
    if (rank < 0 || rank >= plan_.ranks) fail(at.name + " names a rank that does not exist");
    std::uint32_t cell =
        buffer.first[static_cast<std::size_t>(rank)] + static_cast<std::uint32_t>(first) * width;
    if (buffer.doubled && launch_ % 2 == 1) cell += buffer.cells * width;
    out.push_back(
        {cell, static_cast<std::uint32_t>(last - first + 1), buffer.packets, buffer.packets});
  }
}

void TextUnroller::run_data(const TextStatement& statement, const Place& at) {
  const std::string& word = statement.word;
  Statement made;
  for (const Reference& each : statement.targets) add_operands(each, at, made.targets);
  for (const Reference& each : statement.sources) add_operands(each, at, made.sources);
  const bool sends = word == "put_packets";
  bool packets = sends;
  for (Operand& each : made.targets) {
    each.polled = false;
    if (each.packets != sends) malformed(at.name + ": packets are written by put_packets alone");
  }
  for (const Operand& each : made.sources) {
    packets = packets || each.packets;
    if (each.count != made.targets[0].count) fail(at.name + " has operands of different sizes");
  }
  const auto is_own = [&](const Reference& each) {
    return !each.rank || value(*each.rank) == rank_;
  };
  if (((word == "put" || word == "copy" || sends) && !is_own(statement.sources[0])) ||
      ((word == "get" || word == "copy" || word == "poll") && !is_own(statement.targets[0])))
    malformed(at.name + " has an operand of another rank, expected an own one");
  if ((word == "poll" || statement.async) && made.sources[0].packets != (word == "poll"))
    malformed(at.name + ": poll takes packets, and async put takes none");
  if (!statement.async) {
    add(at, false, 0, {std::move(made)}, packets);
    return;
  }
  const auto& to = statement.targets[0].rank;
  push(at, lane_, queue(at, to ? rank_of(*to, at) : rank_), {std::move(made)});
}

void TextUnroller::run_counter(const TextStatement& statement, const Place& at) {
  const bool waits = statement.word == "wait";
  const auto declared = plan_.counters.find(statement.name);
  if (declared == plan_.counters.end()) malformed(at.name + " names no counter");
  const bool per_peer = declared->second.per_peer;
  if (waits && per_peer != statement.peer.has_value())
    malformed(at.name + ": from stands where the counter is per peer");
  const std::uint32_t peer = statement.peer ? rank_of(*statement.peer, at) : rank_;
  if (statement.order == (waits ? "release" : "acquire"))
    malformed(at.name + " has an order of the other side");
  const bool local = peer == rank_ && (!waits || per_peer || plan_.ranks == 1);
  const bool reaches = statement.scope != "block" && (statement.scope != "gpu" || local);
  const std::uint32_t number =
      waits ? counter(statement.name, peer, rank_) : counter(statement.name, rank_, peer);
  const std::uint32_t event =
      statement.async ? push(at, lane_, queue(at, peer), {}) : add(at, true, lane_);
  Counter& counter = counters_[number];
  Use made = use(at, event, lane_);
  made.seen = reaches;
  made.pushed = statement.async;
  const bool relaxed = statement.order == "relaxed";
  Fences& fences = fences_[{rank_, block_, lane_}];
  if (reaches && !relaxed) made.ordering = event;
  if (!waits) {
    if (reaches && relaxed && !statement.async)
      made.ordering = local ? fences.local_release : fences.release;
    counter.signals.push_back(made);
    return;
  }
  if (reaches && relaxed) fences.waits.push_back({number, counter.waits.size(), local});
  std::int64_t rise = -1;
  if (statement.threshold) {
    degree(*statement.threshold);
    counter.expected = natural(*statement.threshold);
    ++launch_;
    rise = value(*statement.threshold) - static_cast<std::int64_t>(counter.expected);
    --launch_;
    if (rise < 0) malformed(at.name + " expects less in later launches");
    counter.rise = static_cast<std::uint64_t>(rise);
  } else {
    counter.expected += statement.amount ? natural(*statement.amount) : 1;
  }
  if (rises_.try_emplace(number, rise).first->second != rise)
    malformed(at.name + " waits on a counter whose other waits rise otherwise");
  made.number = counter.expected;
  counter.waits.push_back(made);
}

/// Orders what its thread signals after it, and what it has waited for.
void TextUnroller::run_fence(const TextStatement& statement, const Place& at, std::uint32_t lane) {
  const std::uint32_t event = add(at, true, lane);
  Fences& fences = fences_[{rank_, block_, lane}];
  if (statement.scope == "block") return;
  const bool local = statement.scope == "gpu";
  if (statement.order == "release" || statement.order == "acq_rel") {
    fences.local_release = event;
    if (!local) fences.release = event;
  }
  if (statement.order == "acquire" || statement.order == "acq_rel") {
    std::erase_if(fences.waits, [&](const Fences::Wait& each) {
      const bool reached = !local || each.local;
      if (reached) counters_[each.counter].waits[each.use].ordering = event;
      return reached;
    });
  }
}

void TextUnroller::run_barrier(const TextStatement& statement, const Place& at) {
  std::set<std::int64_t> members;
  if (statement.set.all) {
    for (const std::uint32_t each : blocks_of(rank_)) members.insert(each);
  } else {
    for (const std::int64_t each : values(statement.set, 0)) members.insert(each);
  }
  if (!members.contains(block_)) fail(at.name + " is a barrier of other blocks");
  if (members.size() == 1) return meet(at);
  const auto number = static_cast<std::uint32_t>(barrier_of_.size());
  const auto found = barrier_of_.try_emplace({rank_, members}, number).first;
  Barrier& barrier = barriers_[{rank_, found->second}];
  barrier.blocks = members.size();
  pass(at, barrier);
}

void TextUnroller::run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) {
  rank_ = rank;
  block_ = block;
  launch_ = launch;
  for (const TextBlock* const each : bodies_.at({rank, block})) run(each->body);
}

void TextUnroller::run(const std::vector<TextStatement>& body) {
  for (const TextStatement& each : body) {
    budget_.spend(16);
    const Place at{rank_, block_, launch_,
                   "rank " + std::to_string(rank_) + " block " + std::to_string(block_) + " line " +
                       std::to_string(each.line) + " (" + each.word + ") launch " +
                       std::to_string(launch_)};
    if (each.word == "for") {
      for_each_value(each, [&] { run(each.body); });
    } else if (each.word == "loop") {
      const std::int64_t rounds = value(*each.amount);
      for (std::int64_t round = 0; round < rounds; ++round) {
        budget_.spend(16);
        run(each.body);
      }
    } else if (each.word == "signal" || each.word == "wait") {
      run_counter(each, at);
    } else if (each.word == "fence") {
      const bool by_all = plan_.threads && !in_loop_;
      for (std::uint32_t lane = 0; lane < (by_all ? lanes_ : 1); ++lane)
        run_fence(each, at, by_all ? lane : lane_);
    } else if (each.word == "sync") {
      meet(at);
    } else if (each.word == "barrier") {
      run_barrier(each, at);
    } else if (each.word == "flush") {
      for (const auto& [key, queue] : queue_of_) {
        if (key[0] == rank_ && key[1] == block_)
          flush(at, lane_, static_cast<std::uint32_t>(queue));
      }
    } else {
      run_data(each, at);
    }
  }
}

}  // namespace

TextJudgement judge_text(const std::string& text, bool surely, Budget& budget) {
  const TextPlan plan = TextReader(text).plan();
  TextJudgement found{plan.collective, plan.ranks, plan.in_place};
  try {
    found.fault = TextUnroller(plan, budget).take().find_fault(surely);
  } catch (const Fault& fault) {
    found.fault = fault;
  }
  return found;
}

}  // namespace p2::kernel::plan
