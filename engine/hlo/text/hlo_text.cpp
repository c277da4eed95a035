#include "engine/hlo/text/hlo_text.h"

#include <unordered_map>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_attributes.h"
#include "engine/hlo/text/hlo_shapes.h"

namespace p2::hlo {
namespace {

using Names = std::unordered_map<std::string, std::uint32_t>;

/// Reads computation after computation; what a name stands for is known once it was read.
class HloReader {
 public:
  HloReader(const std::string& source, const std::string& text) : reader_(source, text) {
    module_.file = source;
  }

  Module read() {
    read_header();
    bool entry = false;
    while (!reader_.at_end()) entry = read_computation() || entry;
    if (module_.computations.empty()) reader_.unexpected("a computation");
    if (!entry) module_.entry = static_cast<std::uint32_t>(module_.computations.size() - 1);
    return std::move(module_);
  }

 private:
  void read_header() {
    if (!reader_.accept_word("HloModule")) reader_.unexpected("'HloModule'");
    module_.name = name("the name of the module");
    while (reader_.accept(",")) {
      const std::string_view attribute = reader_.word("an attribute of the module");
      if (!reader_.accept("=")) continue;  // `is_scheduled` alone
      if (attribute == "replica_count") {
        module_.replicas = reader_.integer("the number of replicas", 1, kMostDevices);
      } else if (attribute == "num_partitions") {
        module_.partitions = reader_.integer("the number of partitions", 1, kMostDevices);
      } else {
        reader_.raw(",", true);
      }
    }
  }

  std::string name(std::string_view what) {
    reader_.accept("%");
    return std::string(reader_.word(what));
  }

  /// True for the entry.
  bool read_computation() {
    const bool entry = reader_.accept_word("ENTRY");
    const SourcePosition where = reader_.position();
    Computation computation{name("the name of a computation")};
    if (reader_.next_is("(")) {
      read_shape_of_parameters();
      reader_.expect("->", "after parameters");
      read_shape(reader_);
    }
    read_instructions(computation);
    while (reader_.accept(",")) {
      reader_.word("an attribute of a computation");
      reader_.expect("=", "after an attribute");
      reader_.raw(",", true);
    }
    const auto index = static_cast<std::uint32_t>(module_.computations.size());
    if (!computations_.emplace(computation.name, index).second) {
      throw InputError(
          where, fmt::format("a second computation '{}', expected another name", computation.name));
    }
    if (entry) module_.entry = index;
    number_parameters(computation, where);
    module_.computations.push_back(std::move(computation));
    return entry;
  }

  void read_shape_of_parameters() {
    reader_.expect("(", "before parameters");
    reader_.raw(")", false);
    reader_.expect(")", "after parameters");
  }

  void read_instructions(Computation& computation) {
    reader_.expect("{", "before instructions");
    names_.clear();
    bool root = false;
    while (!reader_.accept("}")) root = read_instruction(computation) || root;
    if (computation.instructions.empty()) reader_.fail("no instruction, expected at least one");
    if (!root) computation.root = static_cast<std::uint32_t>(computation.instructions.size() - 1);
  }

  /// True for the root. Names may repeat, as they do in shortened files; the last one counts.
  bool read_instruction(Computation& computation) {
    const bool root = reader_.accept_word("ROOT");
    Instruction instruction;
    instruction.position = reader_.position();
    instruction.name = name("an instruction");
    reader_.expect("=", "after the name of an instruction");
    instruction.shape = read_shape(reader_);
    instruction.opcode = reader_.word("an operation");
    reader_.expect("(", "before operands");
    read_operands(instruction);
    reader_.expect(")", "after operands");
    while (reader_.accept(",")) read_attribute_of(instruction);
    const auto index = static_cast<std::uint32_t>(computation.instructions.size());
    names_[instruction.name] = index;
    if (root) computation.root = index;
    computation.instructions.push_back(std::move(instruction));
    return root;
  }

  void read_operands(Instruction& instruction) {
    if (instruction.opcode == "parameter") {
      instruction.attributes.index = reader_.integer("a number", 0, kMostElements);
    } else if (instruction.opcode == "constant") {
      if (instruction.shape.is_tuple) {
        instruction.attributes.others = without_blanks(reader_.raw(")", false));
      } else {
        instruction.literal =
            std::make_shared<const Literal>(read_literal(reader_, instruction.shape.array));
      }
    } else {
      while (!reader_.next_is(")")) {
        instruction.operands.push_back(read_operand());
        if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
      }
    }
  }

  /// `%x`, `x` or, as older versions print it, `f32[8]{0} %x`.
  std::uint32_t read_operand() {
    if (reader_.next_is("(")) {
      read_shape(reader_);
    } else if (!reader_.next_is("%")) {
      const TextReader::Mark before = reader_.mark();
      reader_.word("an operand");
      const bool shape = reader_.next_is("[");
      reader_.back_to(before);
      if (shape) read_shape(reader_);
    }
    const SourcePosition where = reader_.position();
    const std::string operand = name("an operand");
    const auto found = names_.find(operand);
    if (found != names_.end()) return found->second;
    throw InputError(where, fmt::format("no instruction '{}' before this one, expected one of the "
                                        "same computation",
                                        operand));
  }

  void read_attribute_of(Instruction& instruction) {
    const std::string attribute(reader_.word("an attribute"));
    reader_.expect("=", "after the name of an attribute");
    if (!names_computations(attribute)) {
      read_attribute(reader_, attribute, instruction, instruction.attributes);
      return;
    }
    const bool several = reader_.accept("{");
    do {
      const SourcePosition where = reader_.position();
      const std::string called = name("a computation");
      const auto found = computations_.find(called);
      if (found == computations_.end()) {
        throw InputError(where,
                         fmt::format("no computation '{}' before this one, expected one", called));
      }
      instruction.called.push_back(found->second);
    } while (several && reader_.accept(","));
    if (several) reader_.expect("}", "after computations");
  }

  TextReader reader_;
  Module module_;
  Names computations_;
  Names names_;
};

}  // namespace

bool is_hlo(std::string_view text) {
  TextReader reader("", text);
  try {
    return reader.accept_word("HloModule");
  } catch (const InputError&) {
    return false;
  }
}

Module read_hlo(const std::string& source, const std::string& text) {
  return HloReader(source, text).read();
}

}  // namespace p2::hlo
