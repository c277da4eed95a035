// Modules of XLA in binary form, as their text: so there is one reader of modules, and a
// certificate about a binary module has the text that it is about.

#include "engine/hlo/binary/binary_module.h"

#include <limits>
#include <set>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "engine/hlo/collective.h"
#include "p2/error.h"

namespace p2::hlo {
namespace binary {
namespace {

/// Whether XLA gives such names. Others could be read as something else than a name.
bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                              "YZ0123456789_.-<>[]") == std::string_view::npos;
}

class Writer {
 public:
  Writer(const std::string& source, const Module& module, const Limits& limits)
      : source_(source), module_(module), limits_(limits) {}

  std::string text(const Configuration& configuration) {
    require_name(module_.name(), "module");
    add_header(configuration);
    add_tables();
    std::set<std::string_view> names;
    for (const Computation& computation : module_.computations()) {
      require_name(computation.name(), "computation");
      if (!names.insert(computation.name()).second ||
          !computations_.emplace(computation.id(), &computation).second) {
        fail(fmt::format("a second computation '{}', expected another name and id",
                         computation.name()));
      }
      add(computation);
    }
    if (!computations_.contains(module_.entry_computation_id())) {
      fail("no entry computation, expected one of the module's");
    }
    return std::move(text_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw InputError({source_}, message); }

  void require_name(const std::string& name, std::string_view what) const {
    if (!is_name(name)) {
      fail(fmt::format("a {} called {}, expected letters, digits, '_', '.' and '-'", what,
                       in_quotes(name)));
    }
  }

  void add_header(const Configuration& configuration) {
    text_ += "HloModule " + module_.name();
    const auto count = [&](std::string_view name, std::int64_t configured, std::int64_t assigned) {
      const std::int64_t number = configured > 0 ? configured : assigned;
      if (number > 0) text_ += fmt::format(", {}={}", name, number);
    };
    count("replica_count", configuration.replica_count(),
          module_.device_assignment().replica_count());
    count("num_partitions", configuration.num_partitions(),
          module_.device_assignment().computation_count());
    if (module_.spmd_parameters_shardings_size() > 0) {
      std::string shardings;
      for (const Sharding& each : module_.spmd_parameters_shardings()) {
        shardings += (shardings.empty() ? "" : ",") + sharding_text(each, source_);
      }
      text_ += fmt::format(", spmd_parameters_shardings={{{}}}", shardings);
    }
    if (module_.has_spmd_output_sharding()) {
      text_ += ", spmd_output_sharding=" + sharding_text(module_.spmd_output_sharding(), source_);
    }
    if (!module_.frontend_attributes().map().empty()) {
      text_ += ", frontend_attributes=" + frontend_attributes_text(module_.frontend_attributes());
    }
    text_ += "\n";
  }

  /// Where instructions come from in the user's program.
  void add_tables() {
    const StackFrameIndex& index = module_.stack_frame_index();
    const auto table = [&](std::string_view name, const auto& rows, const auto& row) {
      if (rows.empty()) return;
      text_ += fmt::format("\n{}\n", name);
      for (int i = 0; i < rows.size(); ++i) text_ += fmt::format("{} {}\n", i + 1, row(rows[i]));
    };
    table("FileNames", index.file_names(), [](const std::string& name) { return in_quotes(name); });
    table("FunctionNames", index.function_names(),
          [](const std::string& name) { return in_quotes(name); });
    table("FileLocations", index.file_locations(), [](const StackFrameIndex::FileLocation& each) {
      return fmt::format(
          "{{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
          each.file_name_id(), each.function_name_id(), each.line(), each.end_line(), each.column(),
          each.end_column());
    });
    table("StackFrames", index.stack_frames(), [](const StackFrameIndex::StackFrame& each) {
      return fmt::format("{{file_location_id={} parent_frame_id={}}}", each.file_location_id(),
                         each.parent_frame_id());
    });
  }

  void add(const Computation& computation) {
    text_ += fmt::format("\n{}%{} {{\n",
                         computation.id() == module_.entry_computation_id() ? "ENTRY " : "",
                         computation.name());
    std::unordered_map<std::int64_t, const Instruction*> known;
    std::set<std::string_view> names;
    bool root = false;
    for (const Instruction& instruction : computation.instructions()) {
      limits_.require(text_.size(), "reading a binary module");
      const bool is_root = instruction.id() == computation.root_id();
      root = root || is_root;
      require_name(instruction.name(), "instruction");
      require_name(instruction.opcode(), "operation");
      text_ += is_root ? "  ROOT " : "  ";
      add(instruction, known);
      if (!names.insert(instruction.name()).second ||
          !known.emplace(instruction.id(), &instruction).second) {
        fail(fmt::format("a second instruction '{}' in '{}', expected another name and id",
                         instruction.name(), computation.name()));
      }
    }
    if (!root) fail(fmt::format("no root in '{}', expected one", computation.name()));
    text_ += "}\n";
  }

  void add(const Instruction& instruction,
           const std::unordered_map<std::int64_t, const Instruction*>& known) {
    const std::string where = fmt::format("{}: {}", source_, instruction.name());
    const std::string& opcode = instruction.opcode();
    text_ += fmt::format("%{} = {} {}(", instruction.name(), shape_text(instruction.shape(), where),
                         opcode);
    std::int32_t operand_type = 0;
    if (opcode == "parameter") {
      text_ += std::to_string(instruction.parameter_number());
    } else if (opcode == "constant") {
      text_ += literal_text(instruction.literal(), where);
    }
    for (int i = 0; i < instruction.operand_ids_size(); ++i) {
      const auto operand = known.find(instruction.operand_ids(i));
      if (operand == known.end()) {
        fail(
            fmt::format("'{}' has an operand that is not before it, expected one of the same "
                        "computation",
                        instruction.name()));
      }
      if (i == 0) operand_type = operand->second->shape().element_type();
      text_ += fmt::format("{}%{}", i > 0 ? ", " : "", operand->second->name());
    }
    text_ += ")";
    text_ += attributes_text(instruction, operand_type, where);
    add_called(instruction, operand_type);
    if (instruction.has_sharding()) {
      text_ += ", sharding=" + sharding_text(instruction.sharding(), where);
    }
    if (!instruction.frontend_attributes().map().empty()) {
      text_ +=
          ", frontend_attributes=" + frontend_attributes_text(instruction.frontend_attributes());
    }
    add_metadata(instruction.metadata());
    if (!instruction.backend_config().empty()) {
      text_ += ", backend_config=" + dictionary_or_quoted(instruction.backend_config());
    }
    text_ += "\n";
  }

  const std::string& called(const Instruction& instruction, int i) const {
    const std::int64_t id = instruction.called_computation_ids(i);
    const auto found = computations_.find(id);
    if (found == computations_.end()) {
      fail(fmt::format("'{}' calls a computation that is not before its own, expected one that is",
                       instruction.name()));
    }
    return found->second->name();
  }

  void add_called(const Instruction& instruction, std::int32_t operand_type) {
    constexpr std::int32_t kPred = 1;
    const int count = instruction.called_computation_ids_size();
    const std::string& opcode = instruction.opcode();
    if (count == 0 || opcode == "async-update" || opcode == "async-done") return;
    const auto add = [&](std::string_view attribute, int i) {
      text_ += fmt::format(", {}=%{}", attribute, called(instruction, i));
    };
    if (count == 2 && opcode == "while") {
      add("condition", 1);
      add("body", 0);
    } else if (count == 2 && opcode == "select-and-scatter") {
      add("select", 0);
      add("scatter", 1);
    } else if (count == 2 && opcode == "conditional" && operand_type == kPred) {
      add("true_computation", 0);
      add("false_computation", 1);
    } else if (opcode == "conditional" || opcode == "custom-call") {
      text_ += opcode == "conditional" ? ", branch_computations={" : ", called_computations={";
      for (int i = 0; i < count; ++i) {
        text_ += fmt::format("{}%{}", i > 0 ? ", " : "", called(instruction, i));
      }
      text_ += "}";
    } else if (count == 1) {
      add(opcode == "fusion" || opcode == "async-start" ? "calls" : "to_apply", 0);
    } else {
      fail(fmt::format("'{}', {}, calls {} computations, expected one", instruction.name(), opcode,
                       count));
    }
  }

  void add_metadata(const Metadata& metadata) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    };
    if (!metadata.op_type().empty()) add("op_type", in_quotes(metadata.op_type()));
    if (!metadata.op_name().empty()) add("op_name", in_quotes(metadata.op_name()));
    if (!metadata.source_file().empty()) add("source_file", in_quotes(metadata.source_file()));
    if (metadata.source_line() != 0) add("source_line", std::to_string(metadata.source_line()));
    if (metadata.stack_frame_id() != 0) {
      add("stack_frame_id", std::to_string(metadata.stack_frame_id()));
    }
    if (!text.empty()) text_ += ", metadata={" + text + "}";
  }

  const std::string& source_;
  const Module& module_;
  const Limits& limits_;
  std::unordered_map<std::int64_t, const Computation*> computations_;
  std::string text_;
};

}  // namespace
}  // namespace binary

std::string text_of_binary_module(const std::string& source, std::string_view bytes,
                                  const Limits& limits) {
  if (bytes.size() > std::numeric_limits<int>::max()) {
    throw LimitReached(LimitReached::Kind::Size,
                       fmt::format("{}: a binary module of more than 2 GiB", source));
  }
  const auto size = static_cast<int>(bytes.size());
  binary::ModuleFile file;
  if (!file.ParseFromArray(bytes.data(), size) || file.module().computations_size() == 0) {
    file.Clear();
    if (!file.mutable_module()->ParseFromArray(bytes.data(), size) ||
        file.module().computations_size() == 0) {
      throw InputError({source},
                       "is not a module in binary form, expected HloProto or "
                       "HloModuleProto");
    }
  }
  return binary::Writer(source, file.module(), limits).text(file.configuration());
}

}  // namespace p2::hlo
