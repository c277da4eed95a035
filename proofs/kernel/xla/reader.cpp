// Modules in the text form of XLA: a header, computations, and an instruction on every line.

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interned.h"
#include "proofs/kernel/xla/module.h"

namespace p2::kernel::xla {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 45;

/// A cursor over one line or the header.
class Line {
 public:
  Line(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool done() {
    skip_spaces();
    return at_ == text_.size();
  }
  std::string_view rest() const { return text_.substr(at_); }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("expected " + std::string(token));
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    const auto inside = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    };
    if (at_ < text_.size() && text_[at_] == '%') ++at_;
    while (at_ < text_.size() && inside(text_[at_])) ++at_;
    if (at_ == begin) fail("expected a word");
    return text_.substr(begin, at_ - begin);
  }
  /// Up to a comma or a closing bracket that was not opened; brackets and strings are balanced.
  std::string_view balanced() {
    skip_spaces();
    const std::size_t begin = at_;
    for (int depth = 0; at_ < text_.size() && !(depth == 0 && ends_part(text_[at_]));)
      depth += step();
    return trimmed(text_.substr(begin, at_ - begin));
  }
  /// A word, a string, lists in brackets: `b01f_01io->b01f`, `[2,4]<=[8]`, `mesh['x'=2] {'x'}`,
  /// `([2,4]T(1,0)) {'x'}`. What follows is no part of it, with or without a space before.
  std::string_view value() {
    skip_spaces();
    const std::size_t begin = at_;
    int depth = 0;
    for (bool is_end = false; at_ < text_.size() && !is_end;) {
      const char c = text_[at_];
      if (depth == 0 && ends_part(c)) break;
      if (depth == 0 && !continues_value(c, text_.substr(begin, at_ - begin)))
        fail("expected one value");
      depth += step();
      is_end = depth == 0 && (c == '"' || c == '}');
    }
    if (at_ == begin) fail("expected a value");
    return text_.substr(begin, at_ - begin);
  }
  /// What stands between parentheses.
  std::string_view parenthesized() {
    expect("(");
    const std::size_t begin = at_;
    while (balanced(), accept(",")) {
    }
    const std::string_view inside = text_.substr(begin, at_ - begin);
    expect(")");
    return trimmed(inside);
  }
  [[noreturn]] void fail(const std::string& what) const {
    malformed(where_ + ": " + what + " in: " + shortened(printable(text_)));
  }

  Shape shape(int depth = 0) {
    Shape result;
    if (accept("(")) {
      if (depth > 16) fail("a tuple is nested too deep");
      result.is_tuple = true;
      while (!accept(")")) {
        result.parts.push_back(shape(depth + 1));
        accept(",");
      }
      return result;
    }
    result.type = type_called(word());
    if (accept("[")) {
      const std::string_view list = balanced_list(']');
      Index sizes;
      for (const std::string_view size : split(list)) {
        if (trimmed(size).starts_with("<=")) not_covered("sizes that are not fixed");
        if (!trimmed(size).empty()) sizes.push_back(integer(trimmed(size)));
      }
      result.sizes = std::move(sizes);
      // A computation begins after a space.
      if (at_ < text_.size() && text_[at_] == '{') {
        ++at_;
        const std::string_view layout = balanced_list('}');
        const std::size_t colon = layout.find(':');
        result.layout = integers_in(layout.substr(0, colon));
        Index dimensions = result.layout;
        std::sort(dimensions.begin(), dimensions.end());
        for (std::size_t k = 0; k < dimensions.size(); ++k) {
          if (dimensions.size() != result.sizes.size() ||
              dimensions[k] != static_cast<std::int64_t>(k))
            fail("a layout that does not name every dimension once");
        }
        std::size_t tile = colon == std::string_view::npos ? colon : layout.find("T(", colon);
        if (tile != std::string_view::npos) ++tile;
        while (tile < layout.size() && layout[tile] == '(') {
          const std::size_t close = layout.find(')', tile);
          if (close == std::string_view::npos) fail("a tile that is not closed");
          const std::string_view sizes_of_tile = layout.substr(tile, close - tile);
          if (sizes_of_tile.find('*') != std::string_view::npos) not_covered("this tile");
          result.tiles.push_back(integers_in(sizes_of_tile));
          tile = close + 1;
        }
      }
    }
    for (const std::int64_t size : result.sizes) {
      if (size < 0) fail("a negative size");
    }
    if (result.elements() > kMaxElements) not_covered("tensors of more than 2^45 elements");
    return result;
  }

 private:
  static bool ends_part(char c) { return c == ',' || c == ')' || c == '}' || c == ']'; }

  /// Whether a character that stands in no brackets may follow what stands before it in a value.
  bool continues_value(char c, std::string_view before) const {
    const bool is_list = before.starts_with("mesh[") || before.starts_with("(");
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("\"({[_.-><:@+").find(c) != std::string_view::npos ||
           (c == '%' && before.empty()) || (c == '=' && before.ends_with('<')) ||
           (is_list && text_.substr(at_).starts_with(" {"));
  }

  /// Past a character, or a string; how much deeper in brackets that is.
  int step() {
    const char c = text_[at_++];
    if (c == '"') {
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      if (at_ >= text_.size()) fail("a string without end");
      ++at_;
    }
    const bool opens = c == '(' || c == '{' || c == '[';
    return opens ? 1 : c != ',' && ends_part(c) ? -1 : 0;
  }

  std::string_view balanced_list(char close) {
    const std::size_t begin = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(' || text_[at_] == '{' || text_[at_] == '[') ++depth;
      if (depth == 0 && text_[at_] == close) return text_.substr(begin, at_++ - begin);
      if (text_[at_] == ')' || text_[at_] == '}' || text_[at_] == ']') --depth;
    }
    fail("a bracket that is not closed");
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

std::string_view plain(std::string_view name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

void read_attributes(Line& line, Attributes& attributes) {
  while (line.accept(",")) {
    const std::string_view key = line.word();
    line.expect("=");
    if (!attributes.emplace(key, line.value())) line.fail("an attribute twice");
  }
}

bool is_promise(std::string_view name) {
  return name == "indices_are_sorted" || name == "unique_indices";
}

/// What an attribute that is not known changes is not known: `dot[sparsity]` is no dot.
void set_apart_if_not_known(Instruction& instruction) {
  static const Words kWithout("constant custom-call get-tuple-element parameter tuple");
  static const Words kKnown(
      "algorithm async_execution_thread backend_config batch_group_count body "
      "branch_computations called_computations calls channel_id collapsed_slice_dims "
      "condition constrain_layout control-predecessors cross_program_prefetch_index "
      "device_ids dim_labels dimension dimensions direction distribution domain "
      "dynamic_slice_sizes epsilon execution_thread exponent_bits false_computation "
      "feature_group_count feature_index fft_length fft_type frontend_attributes "
      "has_dynamic_root index index_vector_dim infeed_config "
      "input_batching_dims inserted_window_dims iota_dimension is_composite "
      "is_host_transfer is_stable is_stable_layout k kind largest left_side lhs_batch_dims "
      "lhs_contracting_dims lower mantissa_bits metadata offset_dims operand_batching_dims "
      "operand_layout_constraints operand_precision origin original_value outfeed_config "
      "output_to_operand_aliasing padding parameter_replication replica_groups "
      "result_accuracy rhs_batch_dims rhs_contracting_dims scatter "
      "scatter_dims_to_operand_dims scatter_indices_batching_dims schedule_config select "
      "sharding slice slice_sizes source_target_pairs stacktrace start_index_map "
      "start_indices_batching_dims statistics to_apply transpose_a true_computation type "
      "unit_diagonal update_window_dims use_global_device_ids window");
  if (kWithout.contains(instruction.opcode)) return;
  const bool is_lookup = instruction.opcode == "gather" || instruction.opcode == "scatter";
  std::string promise;
  for (const auto& [name, value] : instruction.attributes) {
    if (kKnown.contains(name)) continue;
    if (is_lookup && is_promise(name) && (value == "true" || value == "false")) {
      if (value == "true") promise = "[" + name + "]";
      continue;
    }
    instruction.opcode += "[" + name + "]";
    return;
  }
  instruction.opcode += promise;
}

class Reader {
  using Numbers = Interned<std::string_view>;  ///< of instructions, by name

 public:
  Reader(const std::string& text, const std::string& where) : text_(text), where_(where) {}

  Module read() {
    std::string_view line;
    while (next(line) && !line.starts_with("HloModule")) {
      if (!line.empty()) malformed(where_ + " is not a module of XLA");
    }
    read_header(line);
    while (next(line)) {
      if (!line.empty() && !is_of_table(line)) read_computation(line);
    }
    if (module_.entry.empty()) malformed(where_ + " has no entry computation");
    require_calls(module_);
    return std::move(module_);
  }

 private:
  bool next(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    line = trimmed(std::string_view(text_).substr(at_, end - at_));
    at_ = end + 1;
    // A carriage return ends a comment.
    if (std::ranges::count_if(line, [](char c) { return c >= 0 && c < ' '; }) != 0)
      malformed(where_ + ": a control character in: " + shortened(printable(line)));
    line = trimmed(without_comments(line));
    return true;
  }

  /// Of the tables of files and functions: a name, or a number and what has it.
  bool is_of_table(std::string_view text) const {
    static const Words kNames("FileLocations FileNames FunctionNames StackFrames");
    if (kNames.contains(std::string(text))) return true;
    if (std::isdigit(static_cast<unsigned char>(text[0])) == 0) return false;
    Line line(text, where_);
    line.word();
    line.value();
    if (!line.done()) line.fail("more than a row of a table");
    return true;
  }

  void read_header(std::string_view text) {
    Line line(text, where_);
    line.expect("HloModule");
    module_.name = line.word();
    Attributes attributes;
    read_attributes(line, attributes);
    if (!line.done()) line.fail("more than attributes");
    const auto read = [&](const char* key, const auto& use) {
      const auto found = attributes.find(key);
      if (found != attributes.end()) use(found->second);
    };
    read("replica_count", [&](const std::string& value) { module_.replicas = integer(value); });
    read("frontend_attributes", [&](const std::string& value) { module_.meshes = value; });
    read("num_partitions", [&](const std::string& value) { module_.partitions = integer(value); });
  }

  void read_computation(std::string_view header) {
    Line line(header, where_);
    const bool is_entry = line.accept("ENTRY ");
    const std::string name(plain(line.word()));
    if (!line.accept("{")) {
      line.parenthesized();
      line.expect("->");
      line.shape();
      line.expect("{");
    }
    if (!line.done()) line.fail("more than the begin of a computation");
    Computation computation;
    Numbers numbers;
    std::optional<std::uint32_t> root;
    std::string_view text;
    if (is_entry) {
      // As many instructions as lines.
      const auto end = std::min(text_.find("\n}", at_), text_.size());
      const std::string_view lines = std::string_view(text_).substr(std::min(at_, end), end - at_);
      computation.instructions.reserve(std::min<std::size_t>(
          static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')) + 1, 1U << 16U));
    }
    for (;;) {
      if (!next(text)) malformed(where_ + ": a computation without end");
      if (text.empty()) continue;
      if (text.starts_with("}")) break;
      if (text.starts_with("ROOT ") && root) malformed(where_ + ": two roots");
      read_instruction(text, computation, numbers);
      if (text.starts_with("ROOT ")) root = static_cast<std::uint32_t>(numbers.size() - 1);
    }
    Line end(text, where_);
    Attributes attributes;
    end.expect("}");
    read_attributes(end, attributes);
    if (!end.done()) end.fail("more than the end of a computation");
    if (computation.instructions.empty()) malformed(where_ + ": a computation is empty");
    computation.root = root.value_or(static_cast<std::uint32_t>(numbers.size() - 1));
    std::vector<std::uint32_t> parameters(computation.parameters.size(), UINT32_MAX);
    for (const std::uint32_t each : computation.parameters) {
      const auto number = static_cast<std::uint64_t>(integer(computation.instructions[each].text));
      if (number >= parameters.size() || parameters[number] != UINT32_MAX)
        malformed(where_ + ": parameters are not numbered from 0");
      parameters[number] = each;
    }
    computation.parameters = std::move(parameters);
    if (!module_.computations.emplace(name, std::move(computation)).second)
      malformed(where_ + ": two computations are called " + printable(name));
    if (is_entry) {
      if (!module_.entry.empty()) malformed(where_ + ": two entry computations");
      module_.entry = name;
    }
  }

  /// `/*index=5*/` stands before every fifth part of a list. What is in strings is no comment.
  std::string_view without_comments(std::string_view text) {
    if (text.starts_with("//")) return {};
    bool has_comment = false;
    for (std::size_t at = text.find('/'); at < text.size(); at = text.find('/', at + 1))
      has_comment =
          has_comment || text.substr(at).starts_with("/*") || text.substr(at).starts_with("//");
    if (!has_comment) return text;
    std::string& result = changed_.emplace_back();
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::string_view rest = text.substr(at);
      std::size_t end = at + 1;
      if (rest.starts_with("//")) malformed(where_ + ": a comment after " + printable(result));
      if (rest.starts_with("/*")) {
        at = text.find("*/", at + 2);
        if (at == std::string_view::npos) malformed(where_ + ": a comment of several lines");
        ++at;
        result += ' ';
        continue;
      }
      if (text[at] == '"') {
        while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, text.size());
      }
      result += text.substr(at, end - at);
      at = end - 1;
    }
    return result;
  }

  /// Of `t#1`, element 1 of a tuple, the get-tuple-element, which is put in front.
  std::uint32_t operand_called(std::string_view used, const Line& line, Computation& computation,
                               Numbers& numbers) {
    if (const auto found = numbers.find(used)) return static_cast<std::uint32_t>(*found);
    const std::size_t mark = used.rfind('#');
    if (mark == std::string_view::npos)
      line.fail("an operand that is not known: " + printable(used));
    const std::uint32_t tuple = operand_called(used.substr(0, mark), line, computation, numbers);
    const std::string_view index = used.substr(mark + 1);
    const Shape& shape = computation.instructions[tuple].shape;
    const auto place = static_cast<std::size_t>(integer(index));
    if (!shape.is_tuple || place >= shape.parts.size()) line.fail("an element that a tuple lacks");
    Instruction element;
    element.name = used;
    element.shape = shape.parts[place];
    element.opcode = "get-tuple-element";
    element.operands = {tuple};
    element.attributes.emplace("index", index);
    computation.instructions.push_back(std::move(element));
    return static_cast<std::uint32_t>(numbers.number(used).first);
  }

  /// What stands before and after the operands, and these, of a line without other parentheses
  /// before them. Without metadata, which says nothing of what is computed.
  struct Parts {
    std::string_view before, operands;
    std::array<std::string_view, 2> after = {};
    using Key = std::array<std::string_view, 3>;
    Key key() const { return {before, after[0], after[1]}; }
  };
  std::optional<Parts> parts_of(std::string_view rest) const {
    const std::size_t open = rest.find('(');
    const std::size_t close = rest.find(')', open);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view operands = rest.substr(open + 1, close - open - 1);
    const bool has_others = std::ranges::any_of(operands, [](char c) {
      return c == '(' || c == '{' || c == '[' || c == ']' || c == '}' || c == '"' || c == '\\';
    });
    if (has_others) return std::nullopt;
    const std::string_view after = rest.substr(close + 1);
    Parts parts{rest.substr(0, open), operands, {after}};
    const std::size_t at = after.find(", metadata={");
    const std::string_view first = after.substr(0, at);
    const auto has_as_many = [&](char open_bracket, char close_bracket) {
      return std::ranges::count(first, open_bracket) == std::ranges::count(first, close_bracket);
    };
    const bool is_attribute = at < after.size() && first.find('"') == std::string_view::npos &&
                              has_as_many('(', ')') && has_as_many('[', ']') &&
                              has_as_many('{', '}');
    if (!is_attribute) return parts;
    Line metadata(after.substr(at), where_);
    metadata.expect(", metadata=");
    metadata.value();
    parts.after = {first, metadata.rest()};
    return parts;
  }

  void read_operand(std::string_view operand, const Line& line,
                    std::vector<std::uint32_t>& operands, Computation& computation,
                    Numbers& numbers) {
    const std::string_view last = trimmed(operand);
    if (last.empty()) return;
    const std::string_view used = plain(last.substr(last.rfind(' ') + 1));
    operands.push_back(operand_called(used, line, computation, numbers));
  }

  /// The numbers of operands without shapes.
  std::vector<std::uint32_t> operands_in(std::string_view list, const Line& line,
                                         Computation& computation, Numbers& numbers) {
    std::vector<std::uint32_t> operands;
    operands.reserve(1 + std::ranges::count(list, ','));
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      read_operand(list.substr(begin, end - begin), line, operands, computation, numbers);
      begin = end + 1;
    }
    return operands;
  }

  /// All but the name of an instruction, of a line that is written like none before.
  Instruction new_instruction(Line& line, const std::optional<Parts>& parts,
                              Computation& computation, Numbers& numbers) {
    Instruction instruction;
    instruction.shape = line.shape();
    instruction.opcode = line.word();
    const std::string_view inside = line.parenthesized();
    const bool has_text = instruction.opcode == "parameter" || instruction.opcode == "constant";
    if (has_text) instruction.text = inside;
    read_attributes(line, instruction.attributes);
    if (!line.done()) line.fail("more than attributes");
    set_apart_if_not_known(instruction);
    instruction.attributes.erase("metadata");
    if (has_text) return instruction;
    const bool are_its_operands =
        parts && trimmed(parts->operands).data() == inside.data() &&
        trimmed(parts->operands).size() == inside.size();  // and not a tile or an empty tuple
    if (are_its_operands) {
      instruction.kind = static_cast<std::uint32_t>(kinds_.size() + 1);
      kinds_.emplace(parts->key(), instruction);
    }
    for (const std::string_view operand : split(inside))
      read_operand(operand, line, instruction.operands, computation, numbers);
    return instruction;
  }

  void read_instruction(std::string_view text, Computation& computation, Numbers& numbers) {
    Line line(text, where_);
    line.accept("ROOT ");
    const std::string_view name = plain(line.word());
    line.expect("=");
    const std::optional<Parts> parts = parts_of(line.rest());
    const auto known = parts ? kinds_.find(parts->key()) : kinds_.end();
    if (known != kinds_.end()) {
      // What was read of a line that is written alike is not read again.
      auto operands = operands_in(parts->operands, line, computation, numbers);
      computation.instructions.push_back(known->second);
      computation.instructions.back().operands = std::move(operands);
    } else {
      Instruction instruction = new_instruction(line, parts, computation, numbers);
      computation.instructions.push_back(std::move(instruction));
    }
    Instruction& instruction = computation.instructions.back();
    instruction.name = name;
    const auto number = static_cast<std::uint32_t>(computation.instructions.size() - 1);
    if (instruction.opcode == "parameter") computation.parameters.push_back(number);
    if (!numbers.number(name).second) line.fail("a name twice");
  }

  const std::string& text_;
  const std::string& where_;
  std::size_t at_ = 0;
  Module module_;
  std::deque<std::string> changed_;  ///< lines without their comments
  struct Hash {
    std::size_t operator()(const Parts::Key& key) const {
      Hasher hash;
      for (const std::string_view each : key) hash.add(each);
      return hash.value();
    }
  };
  /// Instructions without names and operands, by what stands before and after these.
  std::unordered_map<Parts::Key, Instruction, Hash> kinds_;
};

}  // namespace

std::optional<std::string> without_promises(const std::string& opcode) {
  const std::size_t end = opcode.find('[');
  if (end == std::string::npos || !opcode.ends_with("]") ||
      !is_promise(std::string_view(opcode).substr(end + 1, opcode.size() - end - 2)))
    return std::nullopt;
  return opcode.substr(0, end);
}

const Computation& Module::called(const std::string& reference) const {
  const auto found = computations.find(std::string(plain(reference)));
  if (found == computations.end()) malformed("no computation is called " + printable(reference));
  return found->second;
}

Module read_module(const std::string& text, const std::string& where) {
  return Reader(text, where).read();
}

}  // namespace p2::kernel::xla
