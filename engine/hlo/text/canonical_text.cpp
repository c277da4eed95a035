// The canonical text of a module, whichever language it was read from.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

[[noreturn]] void refuse_text(const Instruction& instruction, std::string_view why) {
  throw NoCanonicalText(fmt::format("{} {} has no text in XLA's form: {}", instruction.opcode,
                                    instruction.name, why));
}

/// Builds canonical_module().
class CanonicalModule {
 public:
  explicit CanonicalModule(const Module& from) : from_(from) {
    if (!from.programs.empty()) throw NoCanonicalText("the module is linked from several programs");
    for (const Computation& computation : from.computations) {
      for (const Instruction& each : computation.instructions) {
        channel_ = std::max(channel_, each.attributes.channel);
      }
    }
    module_ = from;
    module_.language = Language::Hlo;
    module_.name = unique(from.name, module_names_);
    module_.computations.clear();
    module_.entry = add(from.entry);
  }
  Module take() { return std::move(module_); }

 private:
  /// A name of letters, digits, `_`, `-` and `.` that begins with a letter and is not in `taken`.
  static std::string unique(std::string_view name, std::set<std::string>& taken) {
    std::string plain;
    for (const char ch : name) {
      const bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
      const bool inner = (ch >= '0' && ch <= '9') || ch == '.' || ch == '-';
      if (ch == '%' && plain.empty()) continue;
      if (plain.empty() && !letter) plain = "v";
      plain += letter || inner ? ch : '_';
    }
    if (plain.empty()) plain = "v";
    std::string result = plain;
    for (int k = 1; !taken.insert(result).second; ++k) result = fmt::format("{}.{}", plain, k);
    return result;
  }

  std::uint32_t add(std::uint32_t number) {
    const auto known = places_.find(number);
    if (known != places_.end()) return known->second;
    const Computation& from = from_.computations[number];
    Computation computation{unique(from.name, computation_names_)};
    std::set<std::string> names;
    std::vector<std::uint32_t> places;
    for (const Instruction& each : from.instructions) {
      Instruction own = each;
      for (std::uint32_t& operand : own.operands) operand = places[operand];
      for (std::uint32_t& called : own.called) called = add(called);
      own.name = unique(own.name, names);
      if (own.literal && own.literal->elements.size() == 1 && !own.literal->elided &&
          !own.shape.array.sizes.empty()) {
        own = splat(own, computation, names);
      }
      normalize(own);
      places.push_back(static_cast<std::uint32_t>(computation.instructions.size()));
      computation.instructions.push_back(std::move(own));
    }
    computation.root = places[from.root];
    number_parameters(computation, {});
    module_.computations.push_back(std::move(computation));
    const auto place = static_cast<std::uint32_t>(module_.computations.size() - 1);
    places_.emplace(number, place);
    return place;
  }

  /// Appends the value as a scalar, of which the constant becomes a broadcast.
  Instruction splat(const Instruction& constant, Computation& computation,
                    std::set<std::string>& names) {
    Instruction scalar = constant;
    scalar.name = unique(constant.name, names);
    scalar.shape.array.sizes.clear();
    scalar.shape.array.minor_to_major.clear();
    scalar.literal =
        std::make_shared<const Literal>(Literal{scalar.shape.array, constant.literal->elements});
    scalar.attributes = {};
    Instruction broadcast = constant;
    broadcast.opcode = "broadcast";
    broadcast.literal.reset();
    broadcast.operands = {static_cast<std::uint32_t>(computation.instructions.size())};
    normalize(scalar);
    computation.instructions.push_back(std::move(scalar));
    return broadcast;
  }

  void normalize(Instruction& instruction) {
    Attributes& attributes = instruction.attributes;
    if (is_foreign(instruction.shape)) refuse_text(instruction, "its type is of another dialect");
    if (instruction.opcode.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
        std::string::npos) {
      refuse_text(instruction, "it is no operation of XLA");
    }
    if (attributes.is_linked) refuse_text(instruction, "its groups are those of linked programs");
    if (instruction.literal && instruction.literal->elided)
      refuse_text(instruction, "its elements are unknown");
    if (attributes.accuracy.find('#') != std::string::npos)
      refuse_text(instruction, "its accuracy is of another dialect");
    if (attributes.concat_dimension) {
      if (attributes.dimensions != std::vector<std::int64_t>{*attributes.concat_dimension})
        refuse_text(instruction, "it concatenates along another dimension than it splits");
      attributes.concat_dimension.reset();
    }
    if (attributes.sharding.starts_with('#')) {
      attributes.shardy["xla.sdy.sharding"] = attributes.sharding;
      attributes.sharding.clear();
    }
    if (!attributes.global_ids.value_or(true)) attributes.global_ids.reset();
    if (!attributes.has_channel) attributes.channel = 0;
    if (attributes.has_channel && attributes.channel == 0) attributes.channel = ++channel_;
    // With groups of replicas StableHLO orders members by partition, XLA by replica.
    const bool may_differ = from_.language == Language::StableHlo &&
                            from_.replicas.value_or(1) > 1 && attributes.has_channel &&
                            !attributes.global_ids && is_collective(instruction.opcode);
    if (may_differ) refuse_text(instruction, "its groups are replicas with all their partitions");
    if (instruction.opcode == "slice" && attributes.strides.empty())
      attributes.strides.assign(attributes.starts.size(), 1);
    if (instruction.opcode == "pad" && attributes.strides.empty())
      attributes.strides.assign(attributes.starts.size(), 0);
  }

  const Module& from_;
  Module module_;
  std::int64_t channel_ = 0;  ///< the largest number of one
  std::set<std::string> module_names_;
  std::set<std::string> computation_names_;
  std::map<std::uint32_t, std::uint32_t> places_;
};

/// The exact decimal of a number whose denominator divides a power of ten.
std::string decimal_of(const Instruction& instruction, const Number& number) {
  if (number.is_whole()) return to_string(number);
  const bool negative = number.numerator < 0;
  WideUnsigned rest = negative ? WideUnsigned{0} - static_cast<WideUnsigned>(number.numerator)
                               : static_cast<WideUnsigned>(number.numerator);
  const auto by = static_cast<WideUnsigned>(number.denominator);
  std::string text =
      fmt::format("{}{}.", negative ? "-" : "", static_cast<std::uint64_t>(rest / by));
  for (rest %= by; rest != 0; rest %= by) {
    rest *= 10;
    text += static_cast<char>('0' + static_cast<int>(rest / by));
    if (text.size() > 128) refuse_text(instruction, "an element that is no decimal");
  }
  return text;
}

/// Writes a canonical module.
class CanonicalText {
 public:
  explicit CanonicalText(const Module& module) : module_(module) {}

  std::string text() {
    text_ = "HloModule " + module_.name;
    if (module_.is_scheduled) text_ += ", is_scheduled=true";
    if (module_.replicas) text_ += fmt::format(", replica_count={}", *module_.replicas);
    if (module_.partitions) text_ += fmt::format(", num_partitions={}", *module_.partitions);
    if (!module_.parameter_shardings.empty())
      text_ += ", spmd_parameters_shardings=" + module_.parameter_shardings;
    if (!module_.output_sharding.empty())
      text_ += ", spmd_output_sharding=" + module_.output_sharding;
    if (!module_.meshes.empty()) {
      std::string meshes;
      for (const auto& [name, mesh] : module_.meshes) {
        meshes += fmt::format("{}{} = #sdy.mesh{}", meshes.empty() ? "" : ", ", name, mesh);
      }
      text_ += fmt::format(", frontend_attributes={{xla.sdy.meshes={{{}}}}}", meshes);
    }
    text_ += "\n";
    for (const Computation& computation : module_.computations) add(computation);
    return std::move(text_);
  }

 private:
  void add(const Computation& computation) {
    const bool entry = &computation == &module_.entry_computation();
    text_ += fmt::format("\n{}{} {{\n", entry ? "ENTRY " : "", computation.name);
    for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      text_ += fmt::format("  {}{} = {} {}({})", i == computation.root ? "ROOT " : "",
                           instruction.name, shape_text(instruction.shape), instruction.opcode,
                           operands_text(computation, instruction));
      add_attributes(computation, instruction);
      text_ += "\n";
    }
    text_ += "}\n";
  }

  static std::string shape_text(const Shape& shape) {
    if (!shape.is_tuple) {
      const std::vector<std::int64_t>& layout = shape.array.minor_to_major;
      return to_string(shape.array) +
             (layout.empty() ? "" : fmt::format("{{{}}}", fmt::join(layout, ",")));
    }
    std::string text;
    for (const Shape& part : shape.parts) text += (text.empty() ? "" : ", ") + shape_text(part);
    return "(" + text + ")";
  }

  static std::string element_text(const Instruction& constant, const LiteralElement& element) {
    if (element.negative_zero) return "-0";
    if (element.text.empty()) {
      const bool boolean = constant.shape.array.type.kind() == ElementType::Kind::Boolean;
      if (boolean) return element.number.is_zero() ? "false" : "true";
      return decimal_of(constant, element.number);
    }
    if (element.text.starts_with("0x")) refuse_text(constant, "an element given by its bits");
    return element.text;
  }

  /// Elements in braces for every dimension.
  static std::string literal_text(const Instruction& constant) {
    const Literal& literal = *constant.literal;
    const std::vector<std::int64_t>& sizes = constant.shape.array.sizes;
    std::string text;
    std::size_t next = 0;
    const auto add = [&](const auto& self, std::size_t dimension) -> void {
      if (dimension == sizes.size()) {
        text += element_text(constant, literal.at(static_cast<std::int64_t>(next++)));
        return;
      }
      text += "{";
      for (std::int64_t i = 0; i < sizes[dimension]; ++i) {
        if (i > 0) text += ",";
        self(self, dimension + 1);
      }
      text += "}";
    };
    add(add, 0);
    return text;
  }

  static std::string operands_text(const Computation& computation, const Instruction& instruction) {
    if (instruction.opcode == "parameter") return std::to_string(instruction.attributes.index);
    if (instruction.literal) return literal_text(instruction);
    if (instruction.opcode == "constant") return instruction.attributes.others;  // a tuple
    std::string text;
    for (const std::uint32_t operand : instruction.operands) {
      text += (text.empty() ? "" : ", ") + computation.instructions[operand].name;
    }
    return text;
  }

  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format(", {}={}", name, value);
  }
  template <typename Numbers>
  static std::string list_text(const Numbers& numbers) {
    return fmt::format("{{{}}}", fmt::join(numbers, ","));
  }

  void add_ranges(const Instruction& instruction) {
    const Attributes& attributes = instruction.attributes;
    std::string text;
    for (std::size_t i = 0; i < attributes.starts.size(); ++i) {
      const std::int64_t step = attributes.strides[i];
      if (instruction.opcode == "slice") {
        text += fmt::format("{}[{}:{}{}]", i == 0 ? "" : ", ", attributes.starts[i],
                            attributes.limits[i], step == 1 ? "" : fmt::format(":{}", step));
      } else {
        text += fmt::format("{}{}_{}{}", i == 0 ? "" : "x", attributes.starts[i],
                            attributes.limits[i], step == 0 ? "" : fmt::format("_{}", step));
      }
    }
    if (instruction.opcode == "slice") return add("slice", "{" + text + "}");
    if (text.empty()) refuse_text(instruction, "padding of a scalar");
    add("padding", text);
  }

  void add_called(const Computation& computation, const Instruction& instruction) {
    std::vector<std::string> names;
    for (const std::uint32_t called : instruction.called) {
      names.push_back(module_.computations[called].name);
    }
    const std::string& opcode = instruction.opcode;
    const auto require_count = [&](std::size_t count) {
      if (names.size() != count) refuse_text(instruction, "the computations that it calls");
    };
    if (opcode == "while") {
      require_count(2);
      add("condition", names[0]);
      add("body", names[1]);
    } else if (opcode == "conditional") {
      const std::uint32_t index = instruction.operands.at(0);
      const ElementType type = computation.instructions[index].shape.array.type;
      if (type.kind() == ElementType::Kind::Boolean) {
        require_count(2);
        add("true_computation", names[0]);
        add("false_computation", names[1]);
      } else {
        add("branch_computations", list_text(names));
      }
    } else if (opcode == "select-and-scatter") {
      require_count(2);
      add("select", names[0]);
      add("scatter", names[1]);
    } else if (opcode == "custom-call") {
      if (!names.empty()) add("called_computations", list_text(names));
    } else if (!names.empty()) {
      require_count(1);
      add(opcode == "fusion" || opcode == "async-start" ? "calls" : "to_apply", names[0]);
    }
  }

  void add_attributes(const Computation& computation, const Instruction& instruction) {
    const Attributes& attributes = instruction.attributes;
    const std::string& opcode = instruction.opcode;
    if (attributes.has_channel) add("channel_id", std::to_string(attributes.channel));
    if (is_collective(base_opcode(opcode)) && base_opcode(opcode) != "collective-permute") {
      std::string groups;
      for (const auto& group : attributes.groups.lists) {
        groups += (groups.empty() ? "" : ",") + list_text(group);
      }
      add("replica_groups", "{" + groups + "}");
    }
    if (attributes.global_ids) add("use_global_device_ids", "true");
    if (!attributes.pairs.empty() || base_opcode(opcode) == "collective-permute") {
      std::string pairs;
      for (const auto& [from, to] : attributes.pairs) {
        pairs += fmt::format("{}{{{},{}}}", pairs.empty() ? "" : ",", from, to);
      }
      add("source_target_pairs", "{" + pairs + "}");
    }
    if (opcode == "iota") {
      if (!attributes.dimensions.empty())
        add("iota_dimension", std::to_string(attributes.dimensions[0]));
    } else if (!attributes.dimensions.empty() || opcode == "broadcast" || opcode == "reduce" ||
               opcode == "transpose" || opcode == "reverse") {
      add("dimensions", list_text(attributes.dimensions));
    }
    if (opcode == "slice" || opcode == "pad") {
      add_ranges(instruction);
    } else if (!attributes.starts.empty() || !attributes.limits.empty()) {
      refuse_text(instruction, "ranges");
    }
    if (!attributes.slice_sizes.empty())
      add("dynamic_slice_sizes", list_text(attributes.slice_sizes));
    if (opcode == "get-tuple-element") add("index", std::to_string(attributes.index));
    if (!attributes.direction.empty()) add("direction", attributes.direction);
    if (opcode != "constant") add_others(instruction);
    if (!attributes.accuracy.empty()) add("result_accuracy", attributes.accuracy);
    add_called(computation, instruction);
    if (!attributes.sharding.empty()) add("sharding", attributes.sharding);
    if (attributes.shardy.empty()) return;
    std::string frontend;
    for (const auto& [name, value] : attributes.shardy) {
      frontend += fmt::format("{}{}=\"", frontend.empty() ? "" : ",", name);
      for (const char ch : value) {
        if (ch == '"' || ch == '\\') frontend += '\\';
        frontend += ch;
      }
      frontend += '"';
    }
    add("frontend_attributes", "{" + frontend + "}");
  }

  void add_others(const Instruction& instruction) {
    for (const std::string_view part : attributes_in(instruction.attributes.others)) {
      const std::size_t equals = part.find('=');
      if (equals == std::string_view::npos || part.find('#') != std::string_view::npos) {
        const bool quoted = equals != std::string_view::npos && part.ends_with('"');
        if (!quoted) refuse_text(instruction, "an attribute of another dialect");
      }
      // What says how results lie in memory stands with the operands' layouts.
      if (part.starts_with("result_layout=")) continue;
      text_ += ", " + std::string(part);
    }
  }

  const Module& module_;
  std::string text_;
};

}  // namespace

Module canonical_module(const Module& module) { return CanonicalModule(module).take(); }

std::string canonical_text(const Module& module) {
  std::string text = CanonicalText(canonical_module(module)).text();
  std::string again;
  try {
    again = CanonicalText(canonical_module(read_hlo(module.file, text))).text();
  } catch (const InputError& error) {
    throw NoCanonicalText(fmt::format("its text is not read again: {}", error.what()));
  }
  if (again != text) throw NoCanonicalText("its text is read as another module");
  return text;
}

}  // namespace p2::hlo
