#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/onesided/plan.h"

namespace p2::kernel {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 31U;
constexpr std::int64_t kMaxChunks = 65536;
constexpr std::size_t kMaxElements = std::size_t{1} << 20U;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62U;

struct Element {
  std::size_t depth = 0;
  std::string name;
  std::map<std::string, std::string> attributes = {};

  const std::string& text(const char* key) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) malformed(name + " without " + key);
    return found->second;
  }
  std::int64_t number(const char* key, std::int64_t low, std::int64_t end) const {
    const std::string& digits = text(key);
    const std::size_t first = digits.starts_with("-") ? 1 : 0;
    const bool is_number = digits.size() > first && digits.size() < 20 &&
                           std::all_of(digits.begin() + static_cast<std::ptrdiff_t>(first),
                                       digits.end(), [](char c) { return '0' <= c && c <= '9'; });
    const std::int64_t value = is_number ? std::strtoll(digits.c_str(), nullptr, 10) : end;
    if (value < low || value >= end) malformed(name + ": " + key + " is out of range");
    return value;
  }
  std::int64_t number_or(const char* key, std::int64_t low, std::int64_t end,
                         std::int64_t otherwise) const {
    return attributes.contains(key) ? number(key, low, end) : otherwise;
  }
};

/// The elements of an XML document that has attributes only.
class XmlReader {
 public:
  explicit XmlReader(const std::string& text) : text_(text) {}

  std::vector<Element> elements() {
    std::vector<Element> all;
    std::vector<std::string> open;
    for (skip(); at_ < text_.size(); skip()) {
      expect('<');
      if (take('/')) {
        if (open.empty() || word() != open.back()) malformed("an element ends that has not begun");
        open.pop_back();
        blanks();
        expect('>');
        continue;
      }
      if (open.empty() && !all.empty()) malformed("several elements at the top");
      Element element{open.size(), word()};
      for (blanks(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/'; blanks()) {
        const std::string key = word();
        blanks();
        expect('=');
        blanks();
        if (!element.attributes.emplace(key, quoted()).second) malformed("an attribute twice");
      }
      if (all.size() == kMaxElements) throw CheckFailure(Verdict::Incomplete, "many elements");
      if (!take('/')) open.push_back(element.name);
      expect('>');
      all.push_back(std::move(element));
    }
    if (!open.empty()) malformed("an element does not end");
    return all;
  }

 private:
  bool take(char c) {
    const bool found = at_ < text_.size() && text_[at_] == c;
    if (found) ++at_;
    return found;
  }
  void expect(char c) {
    if (!take(c)) malformed(std::string("not XML: no ") + c);
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool skip(const std::string& begin, const std::string& end) {
    if (text_.compare(at_, begin.size(), begin) != 0) return false;
    const std::size_t found = text_.find(end, at_ + begin.size());
    if (found == std::string::npos) malformed("a comment does not end");
    at_ = found + end.size();
    return true;
  }
  /// White space, comments and the declaration.
  void skip() {
    do blanks();
    while (skip("<!--", "-->") || skip("<?", "?>"));
  }
  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '-'))
      ++at_;
    if (at_ == begin) malformed("not XML: no name");
    return text_.substr(begin, at_ - begin);
  }
  std::string quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string::npos) malformed("a value does not end");
    std::string value = text_.substr(at_, end - at_);
    if (value.find_first_of("&<") != std::string::npos) malformed("a value with & or <");
    at_ = end + 1;
    return value;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

/// What a step does: receives, reads its source, reads and writes its destination, sends.
struct Effect {
  bool receives, reads_source, reads_destination, writes, sends;
};
const std::map<std::string, Effect> kEffects = {
    {"s", {false, true, false, false, true}},    {"r", {true, false, false, true, false}},
    {"rcs", {true, false, false, true, true}},   {"rrc", {true, true, false, true, false}},
    {"rrcs", {true, true, false, true, true}},   {"rrs", {true, true, false, false, true}},
    {"cpy", {false, true, false, true, false}},  {"re", {false, true, true, true, false}},
    {"nop", {false, false, false, false, false}}};

[[noreturn]] void wrong(const std::string& text) { throw Fault{text}; }

/// Builds the execution of one call of an algorithm.
class Algorithm {
 public:
  Algorithm(const std::vector<Element>& elements, bool in_place, Budget& budget)
      : root_(elements.at(0)), in_place_(in_place), budget_(budget), out_(budget) {
    read(elements);
    lay_out();
    for (std::uint32_t g = 0; g < gpus_.size(); ++g) run(g);
    connect();
  }
  Execution take() { return std::move(out_); }

 private:
  struct Step {
    std::uint32_t number = 0, event = 0, block = 0;
    std::uint32_t count = 0, message = 0;
    bool publishes = false;
    std::string name = {};
    const Element* element = nullptr;
  };
  struct Block {
    const Element* element = nullptr;
    std::vector<Step> steps = {};
  };
  struct Gpu {
    const Element* element = nullptr;
    std::map<std::int64_t, Block> blocks = {};                             // by id
    std::map<char, std::pair<std::uint32_t, std::uint32_t>> buffers = {};  // first cell, cells
  };

  void read(const std::vector<Element>& elements);
  void lay_out();
  void run(std::uint32_t gpu);
  void connect();
  Operand operand(std::uint32_t gpu, const Step& step, const char* buffer,
                  const char* offset) const;

  const Element& root_;
  bool in_place_;
  Budget& budget_;
  std::vector<Gpu> gpus_;
  Execution out_;
  /// By source, destination and channel: sends and receives, in the order of their thread blocks.
  using Ends = std::array<std::vector<Step*>, 2>;
  std::map<std::array<std::int64_t, 3>, Ends> connections_;
};

void Algorithm::read(const std::vector<Element>& elements) {
  static constexpr const char* kNames[] = {"algo", "gpu", "tb", "step"};
  for (const Element& each : elements) {
    if (each.depth > 3 || each.name != kNames[each.depth]) malformed("unexpected " + each.name);
  }
  const std::int64_t ranks = root_.number("ngpus", 1, 4097);
  root_.number_or("nchannels", 1, kMaxNumber, 1);
  for (const char* bytes : {"minBytes", "maxBytes"}) root_.number_or(bytes, 0, kMaxBytes, 0);
  gpus_.resize(static_cast<std::size_t>(ranks));
  Gpu* gpu = nullptr;
  Block* block = nullptr;
  for (const Element& each : elements) {
    if (each.depth == 1) {
      gpu = &gpus_[static_cast<std::size_t>(each.number("id", 0, ranks))];
      if (gpu->element != nullptr) malformed("a GPU twice");
      gpu->element = &each;
    } else if (each.depth == 2) {
      block = &gpu->blocks[each.number("id", 0, kMaxNumber)];
      if (block->element != nullptr) malformed("a thread block twice");
      block->element = &each;
      for (const char* peer : {"send", "recv"}) each.number(peer, -1, ranks);
      each.number("chan", -1, kMaxNumber);
    } else if (each.depth == 3) {
      Step step;
      step.number = static_cast<std::uint32_t>(each.number("s", 0, kMaxNumber));
      step.block = static_cast<std::uint32_t>(block->element->number("id", 0, kMaxNumber));
      step.count = static_cast<std::uint32_t>(
          each.number("cnt", each.text("type") == "nop" ? 0 : 1, kMaxChunks + 1));
      step.publishes = each.number("hasdep", 0, 2) == 1 && each.text("type") != "nop";
      step.element = &each;
      for (const char* key : {"srcbuf", "dstbuf"}) {
        const std::string& name = each.text(key);
        if (name != "i" && name != "o" && name != "s") malformed("a buffer that is not i, o or s");
      }
      for (const char* offset : {"srcoff", "dstoff"}) each.number(offset, -kMaxNumber, kMaxNumber);
      if (each.number("depid", -1, kMaxNumber) >= 0) each.number("deps", 0, kMaxNumber);
      if (!block->steps.empty() && block->steps.back().number >= step.number)
        malformed("steps do not increase");
      block->steps.push_back(step);
    }
  }
  if (std::ranges::any_of(gpus_, [](const Gpu& each) { return each.element == nullptr; }))
    malformed("a GPU is missing");
}

/// The buffers of all GPUs, and what the collective makes of them.
void Algorithm::lay_out() {
  std::string name = root_.text("coll");
  if (name == "reduce_scatter") name = "reducescatter";
  const auto ranks = static_cast<std::uint32_t>(gpus_.size());
  const auto chunks = static_cast<std::uint32_t>(root_.number("nchunksperloop", 1, kMaxChunks + 1));
  const bool gathers = name == "allgather", scatters = name == "reducescatter";
  static const std::set<std::string> known = {"allreduce", "allgather", "reducescatter",
                                              "alltoall",  "broadcast", "reduce"};
  if (!known.contains(name) || ((gathers || scatters || name == "alltoall") && chunks % ranks != 0))
    throw CheckFailure(Verdict::Incomplete, "no result is known for the collective");
  const std::uint32_t part = chunks / ranks;
  for (std::uint32_t g = 0; g < ranks; ++g) {
    const UserCells user =
        out_.add_user(name, in_place_, gathers ? part : chunks, scatters ? part : chunks);
    const Element& gpu = *gpus_[g].element;
    const auto declared = [&](const char* key) {
      return static_cast<std::uint32_t>(gpu.number(key, 0, kMaxChunks + 1));
    };
    const std::uint32_t scratch = declared("s_chunks");
    gpus_[g].buffers = {{'i', {user.input, std::min(user.inputs, declared("i_chunks"))}},
                        {'o', {user.output, std::min(user.outputs, declared("o_chunks"))}},
                        {'s', {out_.add_space(g, "s", scratch, false), scratch}}};
  }
  out_.set_goal(name, static_cast<std::uint32_t>(root_.number_or("root", 0, ranks, 0)));
}

Operand Algorithm::operand(std::uint32_t gpu, const Step& step, const char* buffer,
                           const char* offset) const {
  const auto found = gpus_[gpu].buffers.find(step.element->text(buffer).at(0));
  const std::int64_t first = step.element->number(offset, -kMaxNumber, kMaxNumber);
  const auto [begin, cells] = found->second;
  if (first < 0 || first + step.count > cells) wrong(step.name + " is out of bounds");
  return {begin + static_cast<std::uint32_t>(first), step.count};
}

/// The steps of a GPU, and of its user before and after.
void Algorithm::run(std::uint32_t gpu) {
  const std::string user = "the user of gpu " + std::to_string(gpu);
  const std::uint32_t before = out_.add_user_access(user, gpu, 0);
  Numbers last;
  for (auto& [id, block] : gpus_[gpu].blocks) {
    const auto peer = [&own = block, end = static_cast<std::int64_t>(gpus_.size())](
                          const char* key) { return own.element->number(key, -1, end); };
    const std::int64_t channel =
        std::max<std::int64_t>(0, block.element->number("chan", -1, kMaxNumber));
    std::uint32_t previous = before;
    for (Step& step : block.steps) {
      step.name = "gpu " + std::to_string(gpu) + " tb " + std::to_string(id) + " step " +
                  std::to_string(step.number) + " (" + step.element->text("type") + ")";
      const auto effect = kEffects.find(step.element->text("type"));
      if (effect == kEffects.end())
        throw CheckFailure(Verdict::Incomplete, step.name + " is not interpreted");
      const Effect& does = effect->second;
      Event event{step.name, gpu, 0};
      Statement statement;
      if (does.reads_source) statement.sources.push_back(operand(gpu, step, "srcbuf", "srcoff"));
      if (does.writes) {
        statement.targets.push_back(operand(gpu, step, "dstbuf", "dstoff"));
        if (does.reads_destination) statement.sources.push_back(statement.targets[0]);
      }
      if (does.sends) {
        if (peer("send") < 0) wrong(step.name + " sends to nobody");
        step.message = out_.add_space(gpu, "m", step.count, false);
        statement.targets.push_back({step.message, step.count});
        connections_[{gpu, peer("send"), channel}][0].push_back(&step);
      }
      if (does.receives) {
        if (peer("recv") < 0) wrong(step.name + " receives from nobody");
        connections_[{peer("recv"), gpu, channel}][1].push_back(&step);
      }
      if (step.element->text("type") != "nop") event.statements.push_back(std::move(statement));
      step.event = out_.add(std::move(event));
      out_.order(std::exchange(previous, step.event), step.event, Execution::Memory);
    }
    last.push_back(previous);
  }
  const std::uint32_t after = out_.add_user_access(user, gpu, 1);
  out_.order(before, after, Execution::Memory);
  for (const std::uint32_t each : last) out_.order(each, after, Execution::Memory);
}

/// The k-th send of a connection is what the k-th receive receives; a send waits until there is
/// room. A step that depends on another one waits for the next that is announced from there on.
void Algorithm::connect() {
  const std::string& protocol = root_.text("proto");
  if (protocol != "LL" && protocol != "LL128" && protocol != "Simple") malformed("no protocol");
  const std::size_t capacity = protocol == "Simple" ? 2 : 8;
  for (const auto& [connection, ends] : connections_) {
    const auto& [sends, receives] = ends;
    for (const auto* end : {&sends, &receives}) {
      for (const Step* each : *end)
        if (each->block != end->front()->block) wrong(each->name + " shares its connection");
    }
    if (sends.size() != receives.size())
      wrong((sends.empty() ? receives : sends).back()->name +
            " uses a connection with other sends than receives");
    for (std::size_t k = 0; k < sends.size(); ++k) {
      if (sends[k]->count != receives[k]->count)
        wrong(receives[k]->name + " receives another count");
      out_.order(sends[k]->event, receives[k]->event, Execution::Memory);
      out_.at(receives[k]->event)
          .statements[0]
          .sources.push_back({sends[k]->message, sends[k]->count});
      if (k >= capacity)
        out_.order(receives[k - capacity]->event, sends[k]->event, Execution::SomeElement);
    }
  }
  for (const Gpu& gpu : gpus_) {
    for (const auto& [id, block] : gpu.blocks) {
      for (const Step& step : block.steps) {
        const std::int64_t other = step.element->number("depid", -1, kMaxNumber);
        if (other < 0) continue;
        const std::int64_t number = step.element->number("deps", 0, kMaxNumber);
        const auto named = gpu.blocks.find(other);
        if (named == gpu.blocks.end()) wrong(step.name + " waits for no thread block");
        budget_.spend(named->second.steps.size());
        const auto awaited = std::ranges::find_if(named->second.steps, [&](const Step& each) {
          return each.number >= number && each.publishes;
        });
        if (awaited == named->second.steps.end())
          wrong(step.name + " waits for what is never announced");
        out_.order(awaited->event, step.event, Execution::Memory);
      }
    }
  }
}

std::optional<Fault> find_fault_of_call(const std::vector<Element>& elements, bool in_place,
                                        bool surely, Budget& budget) try {
  return Algorithm(elements, in_place, budget).take().find_fault(surely, 0);
} catch (const Fault& fault) {
  return fault;
}

/// How the algorithm may be called: out of place, in place, or both.
std::vector<bool> calls_of(const Element& root) {
  const bool in_place = root.number("inplace", 0, 2) == 1;
  std::vector<bool> calls;
  if (root.number_or("outofplace", 0, 2, in_place ? 0 : 1) == 1) calls.push_back(false);
  if (in_place) calls.push_back(true);
  if (calls.empty()) malformed("neither in place nor out of place");
  return calls;
}

std::vector<Element> elements_of(const Json& problem) {
  expect_keys(problem, {"xml"});
  auto elements = XmlReader(as_text(problem["xml"])).elements();
  if (elements.empty()) malformed("no algorithm");
  return elements;
}

}  // namespace

std::string judge_algorithm(const std::string& claim, const Json& statement, const Files& files) {
  const std::vector<Element> elements = elements_of(statement["problem.json"]);
  const Element& root = elements[0];
  Budget budget;
  const bool valid = claim == "algorithm-valid";
  const std::string words =
      "the algorithm of MSCCL (" + shortened(Json(root.text("coll")).dump(-1, ' ', true)) + ", " +
      counted(static_cast<std::size_t>(root.number("ngpus", 1, kMaxNumber)), "rank");
  std::string how;
  for (const bool in_place : calls_of(root)) {
    const auto fault = find_fault_of_call(elements, in_place, !valid, budget);
    how += std::string(how.empty() ? "" : " and ") + (in_place ? "in place" : "out of place");
    if (fault && valid) reject(how + ": " + shortened(fault->text));
    if (!fault) continue;
    const Json root_of_fault = parse_json(files, "fault.json");
    expect_keys(root_of_fault, {"fault"});
    if (as_text(root_of_fault["fault"]) != fault->text)
      reject("the algorithm's first fault is another one: " + shortened(fault->text));
    return words + ") is wrong, called " + (in_place ? "in place" : "out of place") + ": " +
           shortened(fault->text);
  }
  if (!valid) reject("the algorithm has no such fault");
  return words + ", " + root.text("proto") + ") called " + how +
         " has the right result, no race and no deadlock in every interleaving, if every step is "
         "one transmission and a connection holds " +
         (root.text("proto") == "Simple" ? "2" : "8");
}

std::string algorithm_fault(const Files& files) {
  const std::vector<Element> elements = elements_of(parse_json(files, "problem.json"));
  Budget budget;
  for (const bool in_place : calls_of(elements[0])) {
    const auto fault = find_fault_of_call(elements, in_place, true, budget);
    if (fault) return Json({{"fault", fault->text}}).dump() + "\n";
  }
  return "";
}

}  // namespace p2::kernel
