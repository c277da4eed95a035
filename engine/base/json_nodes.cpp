#include "engine/base/json_nodes.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "engine/base/json_mistake.h"

namespace p2 {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr int kNumberOverflow = 406;  // the JSON library's identifier of that exception

/// Tells how far the JSON library has read, which its events do not.
class WatchedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  WatchedIterator(pointer at, pointer* furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  WatchedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const WatchedIterator& other) const { return at_ == other.at_; }

 private:
  pointer at_;
  pointer* furthest_;
};

class JsonReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(JsonNodes& out) : out_(out), furthest_(out.text.data()) {}

  void read() {
    const char* const begin = out_.text.data();
    nlohmann::json::sax_parse(WatchedIterator(begin, &furthest_),
                              WatchedIterator(begin + out_.text.size(), &furthest_), this);
    // The library takes a zero byte for the end of the text.
    if (skip_json_blanks(out_.text, end_) != out_.text.size()) {
      const auto mistake = explain_json_mistake(out_.text, progress(), {});
      fail(mistake.offset, mistake.message);
    }
  }

  bool null() override { return value(JsonKind::Null, 0); }
  bool boolean(bool) override { return value(JsonKind::Boolean, 0); }
  bool number_integer(std::int64_t number) override {
    out_.integers.push_back(number);
    return number_read(JsonKind::Integer, index_of_last(out_.integers));
  }
  bool number_unsigned(std::uint64_t number) override {
    if (!std::in_range<std::int64_t>(number)) return number_read(JsonKind::Number, 0);
    return number_integer(static_cast<std::int64_t>(number));
  }
  bool number_float(double, const std::string&) override {
    return number_read(JsonKind::Number, 0);
  }
  bool string(std::string& text) override {
    out_.strings.push_back(std::move(text));
    return value(JsonKind::String, index_of_last(out_.strings));
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_array(std::size_t) override { return open(JsonKind::Array); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override { return open(JsonKind::Object); }
  bool end_object() override { return close(); }

  bool key(std::string& text) override {
    if (!open_.back().keys.insert(text).second) {
      fail(next_token(), fmt::format("the key \"{}\" stands twice in one object", text));
    }
    out_.strings.push_back(std::move(text));
    append(JsonKind::Key, index_of_last(out_.strings));
    return token_read(JsonToken::Key, 0);
  }

  bool parse_error(std::size_t bytes_read, const std::string&,
                   const nlohmann::json::exception& complaint) override {
    const auto mistake = explain_json_mistake(
        out_.text, progress(), {bytes_read, complaint.what(), complaint.id == kNumberOverflow});
    fail(mistake.offset, mistake.message);
  }

 private:
  struct Open {
    std::uint32_t node;
    std::uint32_t last_child = 0;
    std::set<std::string> keys = {};
  };
  template <typename Table>
  static std::uint32_t index_of_last(const Table& table) {
    return static_cast<std::uint32_t>(table.size() - 1);
  }

  std::size_t next_token() const {
    std::size_t offset = skip_json_blanks(out_.text, end_);
    while (out_.text[offset] == ',' || out_.text[offset] == ':')
      offset = skip_json_blanks(out_.text, offset + 1);
    return offset;
  }

  std::uint32_t append(JsonKind kind, std::uint32_t content) {
    const auto node = static_cast<std::uint32_t>(out_.nodes.size());
    out_.nodes.push_back({kind, static_cast<std::uint32_t>(next_token()), 0, content});
    if (last_ != JsonToken::Key && !open_.empty()) {
      Open& parent = open_.back();
      (parent.last_child == 0 ? out_.nodes[parent.node].content
                              : out_.nodes[parent.last_child].next) = node;
      parent.last_child = node;
    }
    return node;
  }

  bool token_read(JsonToken last, std::size_t bytes_ahead) {
    last_ = last;
    end_ = static_cast<std::size_t>(furthest_ - out_.text.data()) - bytes_ahead;
    return true;
  }

  bool value(JsonKind kind, std::uint32_t content) {
    append(kind, content);
    return token_read(JsonToken::Value, 0);
  }

  bool number_read(JsonKind kind, std::uint32_t content) {
    append(kind, content);
    return token_read(JsonToken::Value, 1);
  }

  bool open(JsonKind kind) {
    if (open_.size() == kDeepest) {
      fail(next_token(), fmt::format("nested too deeply, expected at most {} levels", kDeepest));
    }
    open_.push_back({append(kind, 0)});
    return token_read(JsonToken::Opening, 0);
  }

  bool close() {
    open_.pop_back();
    return token_read(JsonToken::Value, 0);
  }

  JsonProgress progress() const {
    const bool in_object = !open_.empty() && out_.nodes[open_.back().node].kind == JsonKind::Object;
    return {end_, last_, !open_.empty(), in_object};
  }

  [[noreturn]] void fail(std::size_t offset, std::string_view message) const {
    throw InputError(out_.position(offset), message);
  }

  JsonNodes& out_;
  const char* furthest_;
  std::size_t end_ = 0;  // of the last token that was a value, a key, or a bracket
  JsonToken last_ = JsonToken::Nothing;
  std::vector<Open> open_;
};

std::vector<std::uint32_t> line_starts_of(const std::string& text) {
  std::vector<std::uint32_t> starts{0};
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    starts.push_back(static_cast<std::uint32_t>(at + 1));
  }
  return starts;
}

}  // namespace

SourcePosition JsonNodes::position(std::size_t offset) const {
  offset = std::min(offset, text.size() - 1);
  const auto next_line = std::upper_bound(line_starts.begin(), line_starts.end(), offset);
  const auto line = static_cast<std::size_t>(next_line - line_starts.begin());
  return {source, line, offset - line_starts[line - 1] + 1};
}

std::unique_ptr<const JsonNodes> read_json(std::string source, std::string text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw InputError({source}, "the text is too long, expected less than 4 GiB");
  }
  auto nodes = std::make_unique<JsonNodes>();
  nodes->source = std::move(source);
  nodes->text = std::move(text);
  nodes->text += ' ';
  nodes->line_starts = line_starts_of(nodes->text);
  JsonReader(*nodes).read();
  return nodes;
}

}  // namespace p2
