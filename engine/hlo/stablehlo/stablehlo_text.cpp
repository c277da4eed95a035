#include "engine/hlo/stablehlo/stablehlo_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/stablehlo/stablehlo_functions.h"

namespace p2::hlo {
namespace {

/// Puts computations that are called before those that call them. Throws InputError for a cycle.
void sort_computations(Module& module, const std::vector<SourcePosition>& positions) {
  const std::size_t count = module.computations.size();
  enum class State : std::uint8_t { New, Open, Done };
  std::vector<State> state(count, State::New);
  std::vector<std::uint32_t> order;
  const auto callees = [&](std::uint32_t index) {
    std::vector<std::uint32_t> all;
    for (const Instruction& instruction : module.computations[index].instructions) {
      all.insert(all.end(), instruction.called.begin(), instruction.called.end());
    }
    return all;
  };
  for (std::uint32_t first = 0; first < count; ++first) {
    std::vector<std::uint32_t> open = {first};
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      if (state[index] == State::Done) {
        open.pop_back();
        continue;
      }
      const bool again = state[index] == State::Open;
      state[index] = State::Open;
      for (const std::uint32_t callee : callees(index)) {
        if (state[callee] == State::Open) {
          throw InputError(positions[callee], fmt::format("'{}' calls itself, expected no cycle",
                                                          module.computations[callee].name));
        }
        if (state[callee] == State::New) open.push_back(callee);
      }
      if (!again && open.back() != index) continue;
      state[index] = State::Done;
      order.push_back(index);
      open.pop_back();
    }
  }
  std::vector<std::uint32_t> place(count);
  std::vector<Computation> sorted;
  for (std::uint32_t i = 0; i < count; ++i) place[order[i]] = i;
  for (const std::uint32_t index : order) sorted.push_back(std::move(module.computations[index]));
  for (Computation& computation : sorted) {
    for (Instruction& instruction : computation.instructions) {
      for (std::uint32_t& called : instruction.called) called = place[called];
    }
  }
  module.computations = std::move(sorted);
  module.entry = place[module.entry];
}

StableHloModule finished(FunctionReader& reader, TextReader& text) {
  const auto& functions = reader.functions();
  if (functions.empty()) text.unexpected("a function");
  std::string entry = functions.back();
  if (std::find(functions.begin(), functions.end(), "main") != functions.end()) entry = "main";
  Module& read = reader.module();
  const std::optional<ParallelRun>& run = reader.run();
  if (run) {
    entry = run->programs[0][0];
    read.replicas = static_cast<std::int64_t>(run->programs.size());
    read.partitions = static_cast<std::int64_t>(run->programs[0].size());
  }
  read.entry = reader.function(entry);
  read.language = Language::StableHlo;
  StableHloModule result{std::move(read), run};
  Module& module = result.module;
  sort_computations(module, reader.positions());
  return result;
}

/// `module @name attributes {mhlo.num_partitions = 4 : i32} {`
void read_module_header(TextReader& reader, Module& module) {
  if (reader.accept("@")) module.name = reader.word("the name of a module");
  if (!reader.accept_word("attributes")) return;
  reader.expect("{", "before attributes");
  while (!reader.accept("}")) {
    const std::string name(reader.word("an attribute"));
    if (reader.accept("=")) {
      std::optional<std::int64_t>* count = name == "mhlo.num_partitions" ? &module.partitions
                                           : name == "mhlo.num_replicas" ? &module.replicas
                                                                         : nullptr;
      if (count != nullptr) *count = reader.integer("a number", 1, kMostDevices);
      reader.raw(",}", false, true);
    }
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
}

/// Everything up to the end of the module. Definitions that are no functions are passed over.
void read_items(TextReader& reader, FunctionReader& functions) {
  while (!reader.at_end() && !reader.next_is("}")) {
    if (reader.accept("#")) {
      reader.raw("=", false, true);
      reader.expect("=", "after the name of an attribute");
      reader.raw("", true, true);
    } else if (reader.accept_word("func.func")) {
      functions.read_function();
    } else if (reader.accept_word("sdy.mesh")) {
      functions.read_mesh();
    } else {
      reader.unexpected("a function");
    }
  }
}

StableHloModule read_one(TextReader& reader, const std::string& source) {
  FunctionReader functions(reader);
  functions.module().file = source;
  while (reader.next_is("#")) {
    reader.accept("#");
    reader.raw("", true, true);
  }
  if (reader.accept_word("module")) {
    read_module_header(reader, functions.module());
    reader.expect("{", "before the functions of a module");
    read_items(reader, functions);
    reader.expect("}", "after the functions of a module");
    while (reader.accept("#")) reader.raw("", true, true);  // locations
  } else {
    read_items(reader, functions);
  }
  if (!reader.at_end()) reader.unexpected("the end of the module");
  return finished(functions, reader);
}

}  // namespace

bool is_stablehlo(std::string_view text) {
  TextReader reader("", text);
  try {
    while (reader.accept("#")) reader.raw("", true, true);
    const std::string_view word = reader.peek_word();
    return word == "module" || word == "func.func" || word == "sdy.mesh";
  } catch (const InputError&) {
    return false;
  }
}

std::vector<StableHloModule> read_stablehlo(const std::string& source, const std::string& text) {
  constexpr std::string_view kBetween = "\n// -----";
  std::vector<StableHloModule> modules;
  std::size_t line = 1;
  const std::string_view all(text);
  for (std::size_t start = 0; start <= all.size();) {
    const std::size_t end = std::min(all.find(kBetween, start), all.size());
    const std::string_view part = all.substr(start, end - start);
    const SourcePosition where{source, line, 1};
    TextReader reader(part, where);
    modules.push_back(read_one(reader, source));
    line += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n')) + 1;
    start = end + 1;
    if (end == all.size()) break;
  }
  return modules;
}

}  // namespace p2::hlo
