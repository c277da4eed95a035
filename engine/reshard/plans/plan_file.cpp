#include "engine/reshard/plans/plan_file.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_document.h"

namespace p2::reshard {
namespace {

constexpr std::string_view kFormat = "reshard-plan/1";

TensorShape read_shape(const JsonValue& value, const std::string& source) {
  std::string text;
  for (const JsonValue& length : value.array("the shape")) {
    const auto number = length.integer("the length of a dimension", 1, kMostElements);
    text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  }
  if (text.empty()) value.fail("no dimension, expected at least one");
  return parse_shape(source, text);
}

Layout read_layout(const JsonValue& value, std::size_t dimensions, std::size_t devices) {
  value.only_keys({"mesh", "spec"}, "a mesh with its sharding");
  Layout layout;
  const JsonValue rows = value.member("mesh", "a mesh with its sharding");
  std::set<std::uint32_t> seen;
  std::size_t columns = 0;
  for (const JsonValue& row : rows.array("a mesh")) {
    const auto before = layout.devices.size();
    for (const JsonValue& each : row.array("a row of a mesh")) {
      const auto device = static_cast<std::uint32_t>(
          each.integer("a device", 0, static_cast<std::int64_t>(devices) - 1));
      if (!seen.insert(device).second) each.fail("a device twice, expected each once in a mesh");
      layout.devices.push_back(device);
    }
    const std::size_t here = layout.devices.size() - before;
    if (here == 0 || (columns != 0 && here != columns)) {
      row.fail("expected rows of equally many devices, at least one");
    }
    columns = here;
  }
  if (columns == 0) rows.fail("no row, expected at least one");
  const JsonValue spec = value.member("spec", "a mesh with its sharding");
  std::string words;
  for (const JsonValue& word : spec.array("a sharding")) {
    words += (words.empty() ? "" : ",") + word.string("how a dimension is cut");
  }
  const std::string text = fmt::format("{}x{}:{}", layout.devices.size() / columns, columns, words);
  try {
    layout.sharding = parse_sharding("spec", text, dimensions);
  } catch (const InputError& error) {
    spec.fail(fmt::format("'{}' is no sharding of the tensor: {}", words, error.what()));
  }
  return layout;
}

Element read_element(const JsonValue& value, std::size_t dimensions) {
  Element element;
  for (const JsonValue& each : value.array("a corner of a box")) {
    element.push_back(each.integer("a coordinate", -kMostElements, 2 * kMostElements));
  }
  if (element.size() == dimensions) return element;
  value.fail(
      fmt::format("{} coordinates, expected {} as in the shape", element.size(), dimensions));
}

Operation read_operation(const JsonValue& value, std::size_t dimensions, std::size_t devices) {
  Operation operation;
  const char* what = "an operation";
  const auto send = value.find("send");
  operation.sends = send.has_value();
  if (send) {
    value.only_keys({"send", "of", "low", "high"}, what);
    const JsonValue of = value.member("of", what);
    const std::string& buffer = of.string("a buffer");
    if (buffer != "source" && buffer != "destination") {
      of.fail("expected \"source\" or \"destination\"");
    }
    operation.buffer = buffer == "source" ? Buffer::Source : Buffer::Destination;
  } else {
    value.only_keys({"receive", "low", "high"}, what);
  }
  const JsonValue peer = send ? *send : value.member("receive", what);
  operation.peer = static_cast<std::uint32_t>(
      peer.integer("a device", 0, static_cast<std::int64_t>(devices) - 1));
  operation.box = {read_element(value.member("low", what), dimensions),
                   read_element(value.member("high", what), dimensions)};
  if (operation.box.elements() > kMostElements) {
    value.fail(fmt::format("a box of more elements than a tensor may have, expected at most {}",
                           kMostElements));
  }
  return operation;
}

std::vector<DeviceProgram> read_programs(const JsonValue& list, const Reshard& problem) {
  std::vector<DeviceProgram> programs;
  std::size_t operations = 0;
  for (const JsonValue& program : list.array("the programs")) {
    DeviceProgram& steps = programs.emplace_back();
    for (const JsonValue& step : program.array("the program of a device")) {
      Step& together = steps.emplace_back();
      for (const JsonValue& each : step.array("a step")) {
        if (++operations > kMostOperations) {
          each.fail(fmt::format("expected at most {} operations", kMostOperations));
        }
        together.push_back(read_operation(each, problem.shape.size(), problem.hosts.size()));
      }
    }
  }
  if (programs.size() == problem.hosts.size()) return programs;
  list.fail(fmt::format("{} programs, expected {} as there are devices in hosts", programs.size(),
                        problem.hosts.size()));
}

std::string layout_json(const Layout& layout) {
  std::string rows;
  const std::size_t columns = layout.sharding.mesh[1];
  for (auto row = layout.devices.begin(); row != layout.devices.end();) {
    const auto end = row + static_cast<std::ptrdiff_t>(columns);
    rows += fmt::format("{}[{}]", rows.empty() ? "" : ",", fmt::join(row, end, ","));
    row = end;
  }
  std::string spec;
  for (const auto& axes : layout.sharding.axes) {
    spec += fmt::format("{}\"{}{}\"", spec.empty() ? "" : ",", axes.empty() ? "R" : "S",
                        fmt::join(axes, ""));
  }
  return fmt::format("{{\"mesh\":[{}],\"spec\":[{}]}}", rows, spec);
}

std::string operation_json(const Operation& each) {
  const std::string box = fmt::format("\"low\":[{}],\"high\":[{}]}}", fmt::join(each.box.low, ","),
                                      fmt::join(each.box.high, ","));
  if (!each.sends) return fmt::format("{{\"receive\":{},{}", each.peer, box);
  return fmt::format("{{\"send\":{},\"of\":\"{}\",{}", each.peer,
                     each.buffer == Buffer::Source ? "source" : "destination", box);
}

}  // namespace

bool is_plan(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  return text.find("\"reshard-plan/", first) != std::string::npos;
}

Plan read_plan(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  const char* what = "a plan";
  root.only_keys({"format", "shape", "hosts", "from", "to", "strategy", "programs"}, what);
  const JsonValue format = root.member("format", what);
  if (format.string("the format") != kFormat) {
    format.fail(fmt::format("expected \"{}\"", kFormat));
  }
  Plan plan;
  Reshard& problem = plan.problem;
  problem.shape = read_shape(root.member("shape", what), source);
  const JsonValue hosts = root.member("hosts", what);
  for (const JsonValue& host : hosts.array("the hosts of the devices")) {
    if (problem.hosts.size() == 2 * kMostDevices) host.fail("expected fewer devices");
    problem.hosts.push_back(
        static_cast<std::uint32_t>(host.integer("a host", 0, 2 * kMostHosts - 1)));
  }
  if (problem.hosts.empty()) hosts.fail("no device, expected at least one");
  problem.from = read_layout(root.member("from", what), problem.shape.size(), problem.hosts.size());
  problem.to = read_layout(root.member("to", what), problem.shape.size(), problem.hosts.size());
  if (const auto strategy = root.find("strategy")) plan.strategy = strategy->string("a strategy");
  plan.programs = read_programs(root.member("programs", what), problem);
  return plan;
}

std::string to_json(const Plan& plan) {
  const Reshard& problem = plan.problem;
  std::string text = fmt::format(
      "{{\"format\":\"{}\",\"strategy\":\"{}\",\"shape\":[{}],\"hosts\":[{}],\n\"from\":{},"
      "\n\"to\":{"
      "},\n\"programs\":[",
      kFormat, plan.strategy, fmt::join(problem.shape, ","), fmt::join(problem.hosts, ","),
      layout_json(problem.from), layout_json(problem.to));
  for (const DeviceProgram& program : plan.programs) {
    text += &program == &plan.programs.front() ? "\n[" : ",\n[";
    for (const Step& step : program) {
      text += &step == &program.front() ? "[" : ",\n [";
      for (const Operation& each : step) {
        text += &each == &step.front() ? "" : ",";
        text += operation_json(each);
      }
      text += "]";
    }
    text += "]";
  }
  return text + "\n]}\n";
}

}  // namespace p2::reshard
