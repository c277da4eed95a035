#include "engine/reshard/plans/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_reader.h"
#include "p2/json.h"

namespace p2::reshard {
namespace {

/// Appends the difference of `box` and `cut` as disjoint boxes.
void append_rest(Box box, const Box& cut, std::vector<Box>& rest) {
  if (!overlap(box, cut)) {
    rest.push_back(std::move(box));
    return;
  }
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    if (box.low[i] < cut.low[i]) {
      rest.push_back(box);
      rest.back().high[i] = cut.low[i];
      box.low[i] = cut.low[i];
    }
    if (cut.high[i] < box.high[i]) {
      rest.push_back(box);
      rest.back().low[i] = cut.high[i];
      box.high[i] = cut.high[i];
    }
  }
}

std::int64_t length(const Box& box, std::size_t dimension) {
  return box.high[dimension] - box.low[dimension];
}

/// Appends `parts` slabs along a dimension. Precondition: it is at least that long.
void append_slabs(const Box& box, std::size_t dimension, std::int64_t parts,
                  std::vector<Box>& slabs) {
  const std::int64_t whole = length(box, dimension);
  for (std::int64_t i = 0; i < parts; ++i) {
    Box& slab = slabs.emplace_back(box);
    slab.low[dimension] = box.low[dimension] + whole * i / parts;
    slab.high[dimension] = box.low[dimension] + whole * (i + 1) / parts;
  }
}

void append_parts(const Box& box, std::int64_t parts, std::vector<Box>& all) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    if (length(box, i) >= parts) return append_slabs(box, i, parts, all);
    if (length(box, i) > length(box, longest)) longest = i;
  }
  const std::int64_t slabs = length(box, longest);
  if (slabs == 1) {
    all.push_back(box);
    return;
  }
  std::vector<Box> cut;
  append_slabs(box, longest, slabs, cut);
  for (std::int64_t i = 0; i < slabs; ++i) {
    append_parts(cut[static_cast<std::size_t>(i)], parts * (i + 1) / slabs - parts * i / slabs,
                 all);
  }
}

}  // namespace

std::int64_t Box::elements() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t length = high[i] - low[i];
    if (length <= 0) return 0;
    product = length > kMaxCountedElements / product ? kMaxCountedElements : product * length;
  }
  return product;
}

bool Box::contains(const Box& other) const {
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (other.low[i] < low[i] || high[i] < other.high[i]) return false;
  }
  return true;
}

bool Box::contains(const Element& element) const {
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (element[i] < low[i] || high[i] <= element[i]) return false;
  }
  return true;
}

Box common(const Box& a, const Box& b) {
  Box both = a;
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    both.low[i] = std::max(a.low[i], b.low[i]);
    both.high[i] = std::min(a.high[i], b.high[i]);
  }
  return both;
}

bool overlap(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    if (std::min(a.high[i], b.high[i]) <= std::max(a.low[i], b.low[i])) return false;
  }
  return true;
}

std::optional<Box> first_uncovered(const Box& box, std::span<const Box> cover) {
  std::vector<Box> left{box};
  for (const Box& cut : cover) {
    if (!overlap(box, cut)) continue;
    std::vector<Box> rest;
    for (Box& each : left) append_rest(std::move(each), cut, rest);
    left = std::move(rest);
    if (left.empty()) return std::nullopt;
  }
  return *std::min_element(left.begin(), left.end(),
                           [](const Box& a, const Box& b) { return a.low < b.low; });
}

std::vector<Box> split(const Box& box, std::int64_t parts) {
  std::vector<Box> all;
  if (box.elements() > 0) append_parts(box, std::min(parts, box.elements()), all);
  return all;
}

std::string to_string(const Box& box) {
  std::string text;
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "[" : ", ", box.low[i], box.high[i]);
  }
  return text + "]";
}

std::string to_string(const Element& element) {
  return fmt::format("[{}]", fmt::join(element, ", "));
}

std::vector<Box> Reshard::regions(const Layout& layout) const {
  const Element nowhere(shape.size(), 0);
  std::vector<Box> all(hosts.size(), Box{nowhere, nowhere});
  const std::uint32_t columns = layout.sharding.mesh[1];
  for (std::uint32_t i = 0; i < layout.devices.size(); ++i) {
    Slice slice = slice_on(shape, layout.sharding, i / columns, i % columns);
    all[layout.devices[i]] = {std::move(slice.low), std::move(slice.high)};
  }
  return all;
}

Reshard reshard_between(const TensorShape& shape, const Sharding& from, const Sharding& to,
                        std::uint32_t first) {
  Reshard problem{shape, {}, {from, {}}, {to, {}}};
  const std::uint32_t hosts = std::max(from.mesh[0], first + to.mesh[0]);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    const auto begin = problem.devices();
    const std::uint32_t sending = host < from.mesh[0] ? from.mesh[1] : 0;
    const bool receives = host >= first && host < first + to.mesh[0];
    const std::uint32_t receiving = receives ? to.mesh[1] : 0;
    problem.hosts.resize(begin + std::max(sending, receiving), host);
    for (std::uint32_t i = 0; i < sending; ++i) problem.from.devices.push_back(begin + i);
    for (std::uint32_t i = 0; i < receiving; ++i) problem.to.devices.push_back(begin + i);
  }
  return problem;
}

std::size_t Plan::transfers() const {
  std::size_t count = 0;
  for (const DeviceProgram& program : programs) {
    for (const Step& step : program) {
      count += static_cast<std::size_t>(std::count_if(
          step.begin(), step.end(), [](const Operation& each) { return each.sends; }));
    }
  }
  return count;
}

namespace {

TensorShape read_shape(const JsonValue& value, const std::string& source) {
  std::string text;
  for (const JsonValue& length : value.array("the shape")) {
    const auto number = length.integer("the length of a dimension", 1, kMaxTensorElements);
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
      if (!seen.insert(device).second)
        each.fail("a duplicate device, expected each once in a mesh");
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
    spec.fail(fmt::format("'{}' is not a sharding of the tensor: {}", words, error.what()));
  }
  return layout;
}

Element read_element(const JsonValue& value, std::size_t dimensions) {
  Element element;
  for (const JsonValue& each : value.array("a corner of a box")) {
    element.push_back(each.integer("a coordinate", -kMaxTensorElements, 2 * kMaxTensorElements));
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
  if (operation.box.elements() > kMaxTensorElements) {
    value.fail(fmt::format("a box of more elements than a tensor may have, expected at most {}",
                           kMaxTensorElements));
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
        if (++operations > kMaxOperations) {
          each.fail(fmt::format("expected at most {} operations", kMaxOperations));
        }
        together.push_back(read_operation(each, problem.shape.size(), problem.hosts.size()));
      }
    }
  }
  if (programs.size() == problem.hosts.size()) return programs;
  list.fail(fmt::format("{} programs, expected {} as there are devices in hosts", programs.size(),
                        problem.hosts.size()));
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
  if (format.string("the format") != kPlanFormat) {
    format.fail(fmt::format("expected \"{}\"", kPlanFormat));
  }
  Plan plan;
  Reshard& problem = plan.problem;
  problem.shape = read_shape(root.member("shape", what), source);
  const JsonValue hosts = root.member("hosts", what);
  for (const JsonValue& host : hosts.array("the hosts of the devices")) {
    if (problem.hosts.size() == std::size_t{2} * kMaxMeshDevices)
      host.fail("expected fewer devices");
    problem.hosts.push_back(
        static_cast<std::uint32_t>(host.integer("a host", 0, 2 * kMaxMeshHosts - 1)));
  }
  if (problem.hosts.empty()) hosts.fail("no device, expected at least one");
  problem.from = read_layout(root.member("from", what), problem.shape.size(), problem.hosts.size());
  problem.to = read_layout(root.member("to", what), problem.shape.size(), problem.hosts.size());
  if (const auto strategy = root.find("strategy")) plan.strategy = strategy->string("a strategy");
  plan.programs = read_programs(root.member("programs", what), problem);
  return plan;
}

Json to_json(const Layout& layout) {
  Json rows = Json::array();
  const std::size_t columns = layout.sharding.mesh[1];
  for (std::size_t i = 0; i < layout.devices.size(); i += columns) {
    Json row = Json::array();
    for (std::size_t k = 0; k < columns; ++k) row.push_back(layout.devices[i + k]);
    rows.push_back(std::move(row));
  }
  return Json::object({{"mesh", std::move(rows)},
                       {"spec", Json::array_of(layout.sharding.axes, [](const auto& axes) {
                          return fmt::format("{}{}", axes.empty() ? "R" : "S", fmt::join(axes, ""));
                        })}});
}

Json to_json(const Operation& each) {
  Json json = Json::object();
  if (each.sends) {
    json.add("send", each.peer);
    json.add("of", each.buffer == Buffer::Source ? "source" : "destination");
  } else {
    json.add("receive", each.peer);
  }
  json.add("low", Json::array_of(each.box.low));
  json.add("high", Json::array_of(each.box.high));
  return json;
}

std::string to_json(const Plan& plan) {
  const Reshard& problem = plan.problem;
  std::string text = fmt::format(
      "{{\"format\":\"{}\",\"strategy\":{},\"shape\":[{}],\"hosts\":[{}],\n\"from\":{},"
      "\n\"to\":{"
      "},\n\"programs\":[",
      kPlanFormat, json_string(plan.strategy), fmt::join(problem.shape, ","),
      fmt::join(problem.hosts, ","), to_json(problem.from).dump(), to_json(problem.to).dump());
  for (const DeviceProgram& program : plan.programs) {
    text += &program == &plan.programs.front() ? "\n[" : ",\n[";
    for (const Step& step : program) {
      text += &step == &program.front() ? "[" : ",\n [";
      for (const Operation& each : step) {
        text += &each == &step.front() ? "" : ",";
        text += to_json(each).dump();
      }
      text += "]";
    }
    text += "]";
  }
  return text + "\n]}\n";
}

}  // namespace p2::reshard
