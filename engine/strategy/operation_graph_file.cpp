#include "engine/strategy/operation.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_reader.h"

namespace p2::operations {
namespace {

constexpr std::int64_t kMaxDevices = 4096;
constexpr std::int64_t kMaxLength = std::int64_t{1} << 40U;
constexpr std::int64_t kMaxFlops = 10'000'000'000'000'000;
constexpr std::int64_t kMaxBandwidth = 1'000'000'000'000'000;

Machine read_machine(const JsonValue& value) {
  value.only_keys({"flops", "word_bytes", "levels"}, "the machine");
  Machine machine;
  machine.flops = value.member("flops", "the machine").integer("flops", 1, kMaxFlops);
  machine.word_bytes = value.member("word_bytes", "the machine").integer("word_bytes", 1, 64);
  const JsonValue levels = value.member("levels", "the machine");
  for (const JsonValue& level : levels.array("the levels")) {
    level.only_keys({"name", "size", "bandwidth"}, "a level");
    Level& made = machine.levels.emplace_back();
    made.name = level.member("name", "a level").string("the name of a level");
    made.size = level.member("size", "a level").integer("size", 1, kMaxDevices);
    made.bandwidth = level.member("bandwidth", "a level").integer("bandwidth", 1, kMaxBandwidth);
    if (machine.devices() > kMaxDevices) {
      level.fail(fmt::format("the machine has more than {} devices", kMaxDevices));
    }
  }
  if (machine.levels.empty()) levels.fail("the machine has no levels, expected at least one");
  return machine;
}

std::vector<std::string> read_texts(const JsonValue& list) {
  std::vector<std::string> texts;
  for (const JsonValue& item : list.array("the tensors of an einsum")) {
    texts.push_back(item.string("a tensor"));
  }
  return texts;
}

OperationSketch read_sketch(const JsonValue& value) {
  value.only_keys(
      {"name", "kind", "dims", "pointwise", "data", "model", "inputs", "weights", "output"},
      "an operation");
  OperationSketch sketch;
  sketch.name = value.member("name", "an operation").string("the name of an operation");
  sketch.kind = value.member("kind", "an operation").string("the kind of an operation");
  for (const auto& [name, length] : value.member("dims", "an operation").members("dims")) {
    sketch.dimensions.emplace_back(name,
                                   length.integer("the length of a dimension", 1, kMaxLength));
  }
  if (const auto given = value.find("pointwise")) {
    sketch.pointwise = given->integer("pointwise", 0, 1 << 20);
  }
  if (const auto given = value.find("data")) sketch.data = given->string("data");
  if (const auto given = value.find("model")) sketch.model = given->string("model");
  if (const auto given = value.find("inputs")) sketch.inputs = read_texts(*given);
  if (const auto given = value.find("weights")) sketch.weights = read_texts(*given);
  if (const auto given = value.find("output")) sketch.output = given->string("output");
  return sketch;
}

class Reader {
 public:
  explicit Reader(const JsonValue& root) {
    root.only_keys({"format", "model", "batch", "machine", "operations", "tensors"}, "the file");
    const JsonValue format = root.member("format", "the file");
    if (format.string("the format") != "operation-graph/1") {
      format.fail("unknown format, expected \"operation-graph/1\"");
    }
    if (const auto model = root.find("model")) graph_.model = model->string("the model");
    graph_.machine = read_machine(root.member("machine", "the file"));
    const JsonValue operations = root.member("operations", "the file");
    for (const JsonValue& value : operations.array("the operations")) read_operation(value);
    if (graph_.operations.empty())
      operations.fail("there are no operations, expected at least one");
    fed_.resize(graph_.operations.size());
    const JsonValue tensors = root.member("tensors", "the file");
    for (const JsonValue& value : tensors.array("the tensors")) read_tensor(value);
    check_acyclic(tensors);
  }

  OperationGraph finish() { return std::move(graph_); }

 private:
  void read_operation(const JsonValue& value) {
    const OperationSketch sketch = read_sketch(value);
    const auto number = static_cast<std::uint32_t>(graph_.operations.size());
    if (!numbers_.emplace(sketch.name, number).second) {
      value.fail(fmt::format("duplicate operation \"{}\", expected distinct names", sketch.name));
    }
    try {
      graph_.operations.push_back(make_operation(sketch));
    } catch (const SketchError& error) {
      value.fail(error.what());
    }
  }

  std::uint32_t end_of(const JsonValue& tensor, std::string_view key) const {
    const JsonValue name = tensor.member(key, "a tensor");
    const auto found = numbers_.find(name.string("an operation"));
    if (found == numbers_.end()) name.fail("there is no such operation");
    return found->second;
  }

  void read_tensor(const JsonValue& value) {
    value.only_keys({"from", "to", "input"}, "a tensor");
    TensorEdge edge{end_of(value, "from"), end_of(value, "to"), 0};
    if (edge.from == edge.to) value.fail("a tensor joins an operation to itself");
    Operation& target = graph_.operations[edge.to];
    if (const auto input = value.find("input")) {
      edge.input = static_cast<std::size_t>(input->integer("input", 0, 1 << 20));
    }
    const auto kind = std::ranges::find(kinds(), target.kind, &Kind::name);
    if (kind->many_inputs && edge.input < (1U << 12U)) {
      while (target.inputs.size() <= edge.input) target.inputs.push_back(target.inputs[0]);
    }
    if (edge.input >= target.inputs.size()) {
      value.fail(fmt::format("operation \"{}\" has {} inputs, and this is number {} from 0",
                             target.name, target.inputs.size(), edge.input));
    }
    if (!fed_[edge.to].insert(edge.input).second) {
      value.fail(fmt::format("input {} of operation \"{}\" is fed twice", edge.input, target.name));
    }
    check_shapes(value, graph_.operations[edge.from], target, edge.input);
    graph_.tensors.push_back(edge);
  }

  /// A dimension that may be split is as long as the axis that comes in.
  static void check_shapes(const JsonValue& value, const Operation& from, const Operation& to,
                           std::size_t input) {
    const Tensor& axes = to.inputs[input];
    if (axes.size() != from.output.size()) {
      value.fail(fmt::format("the output of \"{}\" has {} axes and the input of \"{}\" {}",
                             from.name, from.output.size(), to.name, axes.size()));
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!axes[a].dimension) continue;
      const Dimension& dimension = to.dimensions[*axes[a].dimension];
      if (!dimension.splits || axes[a].length == from.output[a].length) continue;
      value.fail(fmt::format(
          "axis {} of the output of \"{}\" has length {}, expected {}, that of "
          "the dimension {} of \"{}\"",
          a, from.name, from.output[a].length, axes[a].length, dimension.name, to.name));
    }
  }

  /// Topological sort (Kahn, 1962).
  void check_acyclic(const JsonValue& tensors) const {
    std::vector<std::size_t> indegree(graph_.operations.size(), 0);
    for (const TensorEdge& edge : graph_.tensors) ++indegree[edge.to];
    std::vector<std::uint32_t> ready;
    for (std::uint32_t v = 0; v < indegree.size(); ++v) {
      if (indegree[v] == 0) ready.push_back(v);
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      for (const TensorEdge& edge : graph_.tensors) {
        if (edge.from == ready[i] && --indegree[edge.to] == 0) ready.push_back(edge.to);
      }
    }
    if (ready.size() == indegree.size()) return;
    const auto on_cycle = std::ranges::find_if(indegree, [](std::size_t n) { return n > 0; });
    const auto v = static_cast<std::size_t>(on_cycle - indegree.begin());
    tensors.fail(fmt::format("the tensors make a cycle, and \"{}\" waits for it",
                             graph_.operations[v].name));
  }

  OperationGraph graph_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::set<std::size_t>> fed_;  // by operation: its inputs
};

}  // namespace

OperationGraph read_operations(const std::string& source, std::string text) {
  const JsonDocument document(source, std::move(text));
  return Reader(document.root()).finish();
}

bool is_operation_graph(const std::string& text) {
  return text.find("\"operation-graph/") != std::string::npos &&
         text.find("\"pairwise-strategy-graph/") == std::string::npos;
}

namespace {

Json operation_json(const OperationSketch& sketch) {
  Json dimensions = Json::object();
  for (const auto& [name, length] : sketch.dimensions) dimensions.add(name, length);
  Json::Object members = {
      {"name", sketch.name}, {"kind", sketch.kind}, {"dims", std::move(dimensions)}};
  if (sketch.pointwise) members.emplace_back("pointwise", *sketch.pointwise);
  if (!sketch.data.empty()) members.emplace_back("data", sketch.data);
  if (!sketch.model.empty()) members.emplace_back("model", sketch.model);
  if (sketch.kind == "einsum") {
    members.emplace_back("inputs", Json::array_of(sketch.inputs));
    members.emplace_back("weights", Json::array_of(sketch.weights));
    members.emplace_back("output", sketch.output);
  }
  return members;
}

Json machine_json(const Machine& machine) {
  return Json::object({{"flops", machine.flops},
                       {"word_bytes", machine.word_bytes},
                       {"levels", Json::array_of(machine.levels, [](const Level& level) {
                          return Json::object({{"name", level.name},
                                               {"size", level.size},
                                               {"bandwidth", level.bandwidth}});
                        })}});
}

}  // namespace

Json operation_graph_json(const GraphSketch& sketch, const Machine& machine) {
  return Json::object(
      {{"format", "operation-graph/1"},
       {"model", sketch.model},
       {"batch", sketch.batch},
       {"machine", machine_json(machine)},
       {"operations", Json::array_of(sketch.operations, operation_json)},
       {"tensors", Json::array_of(sketch.tensors, [](const TensorSketch& tensor) {
          return Json::object({{"from", tensor.from}, {"to", tensor.to}, {"input", tensor.input}});
        })}});
}

std::string write_operations(const GraphSketch& sketch, const Machine& machine) {
  return operation_graph_json(sketch, machine).document();
}

}  // namespace p2::operations
