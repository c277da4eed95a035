// One-sided plans in the text format (docs/onesided.md): read and executed word by word, without a
// syntax tree between.

#include <algorithm>
#include <cctype>

#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel::plan {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 20U;
constexpr auto kNowhere = std::string::npos;
constexpr const char *kOrders = "relaxed acquire release acq_rel", *kScopes = "block gpu sys";
constexpr const char* kCopies =
    " put get copy reduce multimem_ld_reduce multimem_st put_packets poll ";

/// Executes a plan in the text format, word by word.
class TextUnroller : public Launches {
 public:
  /// A text that is no plan is no certificate's.
  TextUnroller(const std::string& text, Budget& budget) : Launches(1, budget) {
    for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      line.erase(std::min(line.find('#'), line.size()));
      line.erase(line.find_last_not_of(" \t\r") + 1);
      const std::size_t indent = line.find_first_not_of(' ');
      if (line.empty()) continue;
      if (line[indent] == '\t') malformed("a line that begins with a tab");
      lines_.push_back({number, indent, line.substr(indent)});
    }
    if (lines_.empty()) malformed("an empty text");
    require(accept_word("plan"), "plan");
    collective_ = name();
    require(accept_word("ranks"), "ranks");
    numbers_.resize(ranks_ = number(4096));
    require(ranks_ > 0, "ranks");
    in_place_ = accept_word("inplace");
    require(ended(), "inplace, or the end of the line");
    bool declares = true;
    while (at_.line + 1 < lines_.size()) {
      at_ = {at_.line + 1, 0};
      declares = declares && (this->text().starts_with("buffer ") ||
                              this->text().starts_with("counter ") || this->text() == "threads");
      require(lines_[at_.line].indent == 0 || declares, "rank at the line's beginning");
      declares ? declare() : block();
      require(ended(), "the end of the line");
    }
  }
  std::string words() const {
    return " in text (" + shortened(collective_) + ", " + counted(ranks_, "rank") +
           (in_place_ ? ", in place)" : ", out of place)");
  }
  bool is_known() const { return has_goal(collective_); }
  /// Precondition of take().
  void prepare() {
    mode_ = Mode::Run;
    single_threads_ = !threads_;
    size_user_buffers();
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      const UserCells user =
          out_.add_user(collective_, in_place_, buffers_["i"].cells, buffers_["o"].cells);
      buffers_["i"].first.push_back(user.input);
      buffers_["o"].first.push_back(user.output);
      for (auto& [name, buffer] : buffers_) {
        if (name == "i" || name == "o") continue;
        if (buffer.doubled) launches_ = 4;
        const std::uint64_t width = 1ULL << (int{buffer.packets} + int{buffer.doubled});
        buffer.first.push_back(out_.add_space(r, name, buffer.cells * width, false));
      }
    }
    out_.set_goal(has_goal(collective_) ? collective_ : "", 0);
  }

 private:
  enum class Mode : std::uint8_t { Read, Measure, Run };
  using Values = std::vector<std::int64_t>;
  struct Line {
    std::size_t number, indent;
    std::string text;
  };
  struct Cursor {
    std::size_t line = 0, at = 0;
  };
  struct Buffer {
    std::uint32_t cells = 0;
    bool packets = false, doubled = false;
    Numbers first = {};  ///< by rank
  };
  using Reference = std::pair<std::vector<Operand>, std::uint32_t>;  ///< with its rank
  struct Fences {
    std::array<std::uint32_t, 2> release = {kNone, kNone};  ///< for all ranks, for the own one
    std::vector<std::array<std::size_t, 3>> waits = {};     ///< relaxed: counter, use, local
  };

  void require(bool is_so, const std::string& expected) const {
    if (!is_so)
      malformed("line " + std::to_string(lines_[at_.line].number) + ": expected " + expected);
  }
  const std::string& text() const { return lines_[at_.line].text; }
  bool ended() {
    at_.at = std::min(text().find_first_not_of(" \t\r", at_.at), text().size());
    return at_.at == text().size();
  }
  bool accept(const std::string& token) {
    const bool found = !ended() && text().compare(at_.at, token.size(), token) == 0;
    if (found) at_.at += token.size();
    return found;
  }
  void expect(const std::string& token) { require(accept(token), token); }
  std::string peek_word() {
    ended();
    const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    std::size_t end = at_.at;
    while (end < text().size() && is_part(static_cast<unsigned char>(text()[end]))) ++end;
    return text().substr(at_.at, end - at_.at);
  }
  /// The next word, if it is one of these.
  std::string one_of(const std::string& words) {
    const std::string found = peek_word();
    const bool is_one = !found.empty() && (" " + words + " ").find(" " + found + " ") != kNowhere;
    at_.at += is_one ? found.size() : 0;
    return is_one ? found : "";
  }
  bool accept_word(const std::string& word) { return !one_of(word).empty(); }
  bool at_digit() { return !ended() && '0' <= text()[at_.at] && text()[at_.at] <= '9'; }
  std::string name() {
    require(!at_digit() && !peek_word().empty(), "a name");
    std::string found = peek_word();
    at_.at += found.size();
    return found;
  }
  std::uint32_t number(std::int64_t last) {
    require(at_digit(), "a number");
    std::int64_t value = 0;
    for (char c = '0'; '0' <= c && c <= '9'; c = ++at_.at < text().size() ? text()[at_.at] : ' ')
      require((value = 10 * value + (text()[at_.at] - '0')) <= last, "a smaller number");
    return static_cast<std::uint32_t>(value);
  }

  std::int64_t factor() {
    budget_.spend(16);
    if (accept("(")) {
      require(++depth_ <= 64, "fewer parentheses");
      const std::int64_t inner = expression();
      --depth_;
      expect(")");
      return inner;
    }
    degree_ = 0;
    if (at_digit()) return number(kMaxNumber);
    const std::string found = name();
    degree_ = found == "launch" ? 1 : 0;
    if (found == "launch") return here_.launch;
    if (found == "r") return here_.rank;
    if (found == "b") return here_.block;
    if (found == "n") return ranks_;
    const auto known = names_.find(found);
    require(mode_ == Mode::Read || known != names_.end(), "a name that is known");
    return mode_ == Mode::Read ? 0 : known->second;
  }

  /// A chain of operations of one strength.
  template <typename Part>
  std::int64_t chain(const std::string& operators, const Part& part) {
    std::int64_t left = part();
    for (int count = 0; !ended() && operators.find(text()[at_.at]) != kNowhere &&
                        text().compare(at_.at, 2, "+=") != 0;
         ++count) {
      const char kind = text()[at_.at++];
      const int degree = degree_;
      const std::int64_t right = part();
      const bool adds = kind == '+' || kind == '-', divides = !adds && kind != '*';
      require(count <= 64, "a shorter expression");
      require(adds || degree + degree_ <= (divides ? 0 : 1), "what is linear in launch");
      require(mode_ == Mode::Read || !divides || right > 0, "a division by a positive number");
      const std::int64_t by = divides && right > 0 ? right : 1;
      const std::int64_t rest = left % by + (left % by < 0 ? by : 0);
      left = kind == '+'   ? left + right
             : kind == '-' ? left - right
             : kind == '*' ? left * right
             : kind == '/' ? (left - rest) / by
                           : rest;
      degree_ = std::max(degree, degree_);
      if (mode_ == Mode::Read) left = 0;
      require(std::abs(left) < std::int64_t{1} << 31U, "a smaller number");
    }
    return left;
  }
  std::int64_t expression() {
    return chain("+-", [&] { return chain("*/%", [&] { return factor(); }); });
  }
  std::int64_t constant() {
    const std::int64_t found = expression();
    require(degree_ == 0, "launch after wait … >= alone");
    return found;
  }

  Values set(bool with_except, std::int64_t bound) {
    std::int64_t first = 0, last = bound - 1;
    if (!accept_word("all")) {
      first = last = constant();
      if (accept("..")) last = constant();
    } else {
      require(bound > 0 || mode_ == Mode::Read, "numbers of blocks");
    }
    const std::int64_t except = with_except && accept_word("except") ? constant() : last + 1;
    if (mode_ == Mode::Read) return {0};
    require(last - first < kMaxNumber, "fewer values");
    Values all;
    for (std::int64_t each = first; each <= last; ++each)
      if (each != except) all.push_back(each);
    budget_.spend(all.size() + 1);
    return all;
  }

  std::uint32_t peer() {
    const std::int64_t rank = constant();
    if (mode_ == Mode::Run && (rank < 0 || rank >= ranks_))
      fail(here_.name + " names a rank that does not exist");
    return static_cast<std::uint32_t>(rank);
  }

  /// The cells of a buffer, of the own rank, of another, or of a group.
  Reference reference(bool of_group) {
    Reference found{{}, here_.rank};
    Values ranks = of_group ? set(false, ranks_) : Values{};
    const std::string called = name();
    if (!of_group && accept("@")) found.second = peer();
    if (!of_group) ranks = {found.second};
    expect("[");
    const std::int64_t first = constant();
    const std::int64_t last = accept("..") ? constant() : first;
    expect("]");
    if (mode_ == Mode::Measure && (called == "i" || called == "o")) {
      std::int64_t& cells = cells_[called == "i" ? 0 : 1];
      cells = std::max(cells, last + 1);
    }
    if (mode_ != Mode::Run) return found;
    require(buffers_.contains(called), "a buffer that is declared");
    const Buffer& buffer = buffers_.at(called);
    if (first < 0 || last < first - 1 || last >= buffer.cells)
      fail(here_.name + " is out of bounds");
    if (ranks.empty() || ranks.front() < 0 || ranks.back() >= ranks_)
      fail(here_.name + " names a group without ranks, or a rank that does not exist");
    const std::uint32_t width = buffer.packets ? 2 : 1;
    for (const std::int64_t rank : ranks) {
      std::uint32_t cell =
          buffer.first[static_cast<std::size_t>(rank)] + static_cast<std::uint32_t>(first) * width;
      if (buffer.doubled && here_.launch % 2 == 1) cell += buffer.cells * width;
      found.first.push_back(
          {cell, static_cast<std::uint32_t>(last - first + 1), buffer.packets, false});
    }
    return found;
  }

  void data(const std::string& word, bool async) {
    const Reference target = reference(word == "multimem_st");
    Statement made{{}, target.first};
    expect("<-");
    const Reference source = reference(word == "multimem_ld_reduce");
    made.sources = source.first;
    if (word == "reduce") expect("+");
    for (bool more = word == "reduce"; more; more = accept("+"))
      for (const Operand& each : reference(false).first) made.sources.push_back(each);
    if (mode_ != Mode::Run) return;
    const bool sends = word == "put_packets";
    bool packets = sends;
    for (const Operand& each : made.targets)
      require(each.packets == sends, "put_packets, and it alone, to a buffer of packets");
    for (Operand& each : made.sources) {
      each.polled = each.packets;
      packets = packets || each.packets;
      if (each.count != made.targets[0].count)
        fail(here_.name + " has operands of different sizes");
    }
    require((word != "put" && word != "copy" && !sends) || source.second == here_.rank,
            "an own source");
    require((word != "get" && word != "copy" && word != "poll") || target.second == here_.rank,
            "an own target");
    require(word != "poll" || made.sources[0].packets, "packets to poll");
    require(!async || !made.sources[0].packets, "async put of what is none of packets");
    if (async) {
      push(here_, lane_, queue(target.second), {std::move(made)});
    } else {
      add(here_, false, 0, {std::move(made)}, packets);
    }
  }

  void signal_or_wait(bool waits, bool async) {
    const std::string called = name();
    if (!waits) expect("@");
    const bool has_peer = !waits || accept_word("from");
    const std::uint32_t other = has_peer ? peer() : here_.rank;
    std::int64_t expected = 1, rise = 0;
    bool adds = true;
    if (waits && accept("+=")) {
      expected = constant();
    } else if (waits && accept(">=")) {
      adds = false;
      const Cursor begin = at_;
      expected = expression();
      at_ = begin;
      ++here_.launch;
      rise = expression() - expected;
      --here_.launch;
    }
    const std::string order = one_of(kOrders), scope = one_of(kScopes);
    if (mode_ != Mode::Run) return;
    require(declared_.contains(called), "a counter that is declared");
    const auto [initial, per_peer] = declared_.at(called);
    require(!waits || per_peer == has_peer, "from where the counter is per peer");
    require(order != (waits ? "release" : "acquire"), "the order of this side");
    require(expected >= 0 && rise >= 0, "what is not negative, and does not fall");
    const std::uint32_t from = waits ? other : here_.rank, to = waits ? here_.rank : other;
    const auto [found, is_new] =
        counter_of_.try_emplace({called, per_peer ? from : kNone, to}, counters_.size());
    if (is_new) counters_.push_back({initial});
    require(!waits || rises_.try_emplace(found->second, adds ? -1 : rise).first->second ==
                          (adds ? -1 : rise),
            "waits on a counter that rise alike");
    const bool local = other == here_.rank && (!waits || per_peer || ranks_ == 1);
    const bool reaches = scope != "block" && (scope != "gpu" || local);
    const std::uint32_t event =
        async ? push(here_, lane_, queue(other), {}) : add(here_, true, lane_);
    Counter& counter = counters_[found->second];
    Fences& fences = fences_[{here_.rank, here_.block, lane_}];
    Use made = use(here_, event, lane_);
    made.seen = reaches;
    made.pushed = async;
    if (reaches && order != "relaxed") {
      made.ordering = event;
    } else if (reaches && waits) {
      fences.waits.push_back({found->second, counter.waits.size(), local ? 1U : 0U});
    } else if (reaches && !async) {
      made.ordering = fences.release[local ? 1 : 0];
    }
    if (waits) {
      if (!adds) counter.rise = static_cast<std::uint64_t>(rise);
      counter.expected = static_cast<std::uint64_t>(expected) + (adds ? counter.expected : 0);
      made.number = counter.expected;
    }
    (waits ? counter.waits : counter.signals).push_back(made);
  }

  /// Orders what a thread signals after it, and what it has waited for. Outside of a loop all
  /// threads of the block execute it.
  void fence() {
    const std::string order = one_of(kOrders), scope = one_of(kScopes);
    require(!order.empty(), "acquire, release or acq_rel");
    if (mode_ != Mode::Run) return;
    const bool by_all = threads_ && !in_loop_, both = order == "acq_rel", local = scope == "gpu";
    for (std::uint32_t lane = by_all ? 0 : lane_; lane < (by_all ? lanes_ : lane_ + 1); ++lane) {
      const std::uint32_t event = add(here_, true, lane);
      Fences& fences = fences_[{here_.rank, here_.block, lane}];
      if (scope == "block") continue;
      if (order == "release" || both) fences.release[1] = event;
      if ((order == "release" || both) && !local) fences.release[0] = event;
      if (order != "acquire" && !both) continue;
      std::erase_if(fences.waits, [&](const auto& wait) {
        const bool reached = !local || wait[2] == 1;
        if (reached) counters_[wait[0]].waits[wait[1]].ordering = event;
        return reached;
      });
    }
  }

  void barrier() {
    const auto& all = numbers_[here_.rank];
    const Values members = accept_word("all") ? Values(all.begin(), all.end()) : set(false, 0);
    if (mode_ != Mode::Run) return;
    if (std::ranges::find(members, std::int64_t{here_.block}) == members.end())
      fail(here_.name + " is a barrier of other blocks");
    if (members.size() == 1) return meet(here_);
    const auto number = static_cast<std::uint32_t>(barrier_of_.size());
    Barrier& joined = barriers_[{
        here_.rank, barrier_of_.try_emplace({here_.rank, members}, number).first->second}];
    joined.blocks = members.size();
    pass(here_, joined);
  }

  /// Goes on here with every value; without one it only reads.
  void for_each(const Values& values, const std::function<void(std::int64_t)>& visit) {
    const auto [begin, mode] = std::pair(at_, mode_);
    if (values.empty()) mode_ = Mode::Read;
    for (const std::int64_t each : values.empty() ? Values{0} : values) {
      at_ = begin;
      visit(each);
    }
    mode_ = mode;
  }

  /// `for` and `loop`. With threads the j-th value is that of thread j.
  void repeat(const std::string& word, std::size_t indent) {
    const bool is_for = word == "for";
    const std::string called = is_for ? name() : "";
    require(called != "r" && called != "b" && called != "n" && called != "launch",
            "the name of a loop's variable that has no meaning");
    if (is_for) expect("in");
    Values values = is_for ? set(true, ranks_) : Values{0};
    const std::int64_t rounds = is_for ? 0 : constant();
    if (rounds > kMaxNumber) leave_open("a loop with many rounds");
    if (!is_for && mode_ == Mode::Run)
      values.resize(static_cast<std::size_t>(std::max(0L, rounds)));
    expect(":");
    const auto outer = std::tuple(names_, lane_, in_loop_);
    std::uint32_t next = 0;
    for_each(values, [&](std::int64_t each) {
      budget_.spend(16);
      if (is_for && mode_ != Mode::Read) names_[called] = each;
      if (is_for && threads_) lanes_ = std::max(lanes_, (lane_ = next++) + 1);
      in_loop_ = in_loop_ || is_for;
      body(indent);
    });
    std::tie(names_, lane_, in_loop_) = outer;
  }

  void statement(std::size_t indent, bool async) {
    const std::string word = name();
    budget_.spend(64);
    here_.name = "rank " + std::to_string(here_.rank) + " block " + std::to_string(here_.block) +
                 " line " + std::to_string(lines_[at_.line].number) + " (" + word + ") launch " +
                 std::to_string(here_.launch);
    require(!async || word == "put" || word == "signal", "async put or signal");
    if (word == "async") return statement(indent, true);
    if (word == "for" || word == "loop") return repeat(word, indent);
    if (std::string(kCopies).find(" " + word + " ") != kNowhere) return data(word, async);
    if (word == "signal" || word == "wait") return signal_or_wait(word == "wait", async);
    if (word == "fence") return fence();
    if (word == "barrier") return barrier();
    require(word == "sync" || word == "flush", "a statement");
    if (mode_ != Mode::Run) return;
    if (word == "sync") return meet(here_);
    for (const auto& [key, queue] : queue_of_) {
      if (key[0] == here_.rank && key[1] == here_.block) flush(here_, lane_, queue);
    }
  }

  /// What follows a colon: a statement, or lines that are indented more.
  void body(std::size_t indent) {
    require(++depth_ <= 64, "fewer loops in each other");
    const std::size_t first = at_.line + 1;
    if (!ended()) {
      statement(indent, false);
    } else {
      require(first < lines_.size() && lines_[first].indent > indent, "a statement");
      while (at_.line + 1 < lines_.size() && lines_[at_.line + 1].indent > indent) {
        at_ = {at_.line + 1, 0};
        require(lines_[at_.line].indent == lines_[first].indent,
                "the indentation of the first line");
        statement(lines_[first].indent, false);
        require(ended(), "the end of the line");
      }
    }
    --depth_;
  }

  void declare() {
    if (accept_word("threads")) {
      threads_ = true;
    } else if (accept_word("buffer")) {
      const std::string called = name();
      Buffer buffer{number(kMaxNumber)};
      buffer.packets = accept_word("packets");
      buffer.doubled = accept_word("double");
      require((called != "i" && called != "o") || (!buffer.packets && !buffer.doubled),
              "neither packets nor double of i and o, which are the user's");
      require(buffers_.emplace(called, buffer).second, "another name");
    } else {
      expect("counter");
      const std::string called = name();
      const std::uint32_t initial = accept_word("init") ? number(kMaxNumber) : 0;
      const bool per_peer = accept_word("per");
      require(!per_peer || accept_word("peer"), "peer");
      require(declared_.try_emplace(called, initial, per_peer).second, "another name");
    }
  }

  /// Measures what the block names on every rank.
  void block() {
    here_ = {0, 0, 0, ""};
    expect("rank");
    for_each(set(true, ranks_), [&](std::int64_t rank) {
      require(0 <= rank && rank < ranks_, "ranks that exist");
      here_.rank = static_cast<std::uint32_t>(rank);
      here_.block = 0;
      for_each(accept_word("block") ? set(false, 0) : Values{0}, [&](std::int64_t number) {
        require(0 <= number && number < 1024, "blocks from 0 to 1023");
        here_.block = static_cast<std::uint32_t>(number);
        expect(":");
        if (mode_ == Mode::Measure) {
          numbers_[here_.rank].insert(here_.block);
          bodies_[{here_.rank, here_.block}].push_back(at_);
        }
        body(0);
      });
    });
  }

  /// Those that are declared, or the fewest of the collective that hold all that statements name.
  void size_user_buffers() {
    const std::int64_t ranks = ranks_;
    const bool scatters = collective_ == "reducescatter";
    // A buffer with all, and the one with the part of a rank.
    const int part = scatters ? 1 : 0, whole = 1 - part;
    const std::int64_t factor = scatters || collective_ == "allgather" ? ranks : 1;
    std::optional<std::int64_t> given[2];
    if (buffers_.contains("i")) given[0] = buffers_["i"].cells;
    if (buffers_.contains("o")) given[1] = buffers_["o"].cells;
    std::int64_t least = std::max(cells_[part], (cells_[whole] + factor - 1) / factor);
    const bool is_cut = collective_ == "alltoall";
    if (is_cut) least = (least + ranks - 1) / ranks * ranks;
    cells_[part] = given[part].value_or(given[whole] ? *given[whole] / factor : least);
    cells_[whole] = given[whole].value_or(cells_[part] * factor);
    buffers_["i"].cells = static_cast<std::uint32_t>(cells_[0]);
    buffers_["o"].cells = static_cast<std::uint32_t>(cells_[1]);
    if (cells_[whole] != cells_[part] * factor || (is_cut && cells_[part] % ranks != 0))
      malformed("i and o have not the cells of the collective");
  }

  void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) override {
    here_ = {rank, block, launch, ""};
    for (const Cursor& each : bodies_.at({rank, block})) {
      at_ = each;
      body(0);
    }
  }
  std::uint32_t queue(std::uint32_t to) {
    queues_.resize(queue_of_.size() + 1);
    const auto next = static_cast<std::uint32_t>(queue_of_.size());
    return queue_of_.try_emplace({here_.rank, here_.block, to}, next).first->second;
  }

  std::vector<Line> lines_;
  Cursor at_;
  int depth_ = 0;
  int degree_ = 0;  ///< of the last expression, in launch
  Mode mode_ = Mode::Measure;
  std::uint32_t ranks_ = 0;
  bool threads_ = false;
  std::map<std::string, Buffer> buffers_;
  std::map<std::string, std::pair<std::uint32_t, bool>> declared_;  ///< initial, per peer
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Cursor>> bodies_;
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> queue_of_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::size_t> counter_of_;
  std::map<std::size_t, std::int64_t> rises_;  ///< by counter; -1 if waits add to it
  std::map<std::pair<std::uint32_t, Values>, std::uint32_t> barrier_of_;
  std::map<std::array<std::uint32_t, 3>, Fences> fences_;  ///< by rank, block and lane
  std::int64_t cells_[2] = {0, 0};                         ///< of i and o
  std::uint32_t lanes_ = 1, lane_ = 0;
  bool in_loop_ = false;  ///< over threads
  Place here_{0, 0, 0, ""};
  std::map<std::string, std::int64_t> names_;
};

}  // namespace

std::optional<Fault> find_text_fault(const std::string& text, bool surely, Interleaving& drawn,
                                     Budget& budget, std::string& words) {
  TextUnroller unroller(text, budget);
  words += unroller.words();
  if (!surely && !unroller.is_known()) reject("no result is known for the collective");
  unroller.prepare();
  Execution execution = unroller.take();
  drawn.matters = !execution.shared.empty();
  return execution.find_fault(surely, drawn.seed);
}

}  // namespace p2::kernel::plan
