#include "engine/reshard/sharding.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/json_reader.h"
#include "engine/base/text_cursor.h"
#include "p2/error.h"

namespace p2 {

bool share_receiver(const UnitTask& a, const UnitTask& b) {
  return std::any_of(a.receiver_hosts.begin(), a.receiver_hosts.end(), [&](std::uint32_t host) {
    return std::binary_search(b.receiver_hosts.begin(), b.receiver_hosts.end(), host);
  });
}

TaskSchedule schedule_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                               const std::vector<std::uint32_t>& senders) {
  std::map<std::uint32_t, std::int64_t> send_free;
  std::map<std::uint32_t, std::int64_t> receive_free;
  TaskSchedule schedule;
  for (const std::size_t task : order) {
    const UnitTask& each = tasks[task];
    std::int64_t start = send_free[senders[task]];
    for (const std::uint32_t host : each.receiver_hosts)
      start = std::max(start, receive_free[host]);
    const std::int64_t end = start + each.size;
    send_free[senders[task]] = end;
    for (const std::uint32_t host : each.receiver_hosts) receive_free[host] = end;
    schedule.runs.push_back({task, senders[task], start});
    schedule.makespan = std::max(schedule.makespan, end);
  }
  std::sort(schedule.runs.begin(), schedule.runs.end(), [](const TaskRun& a, const TaskRun& b) {
    return std::tie(a.start, a.task) < std::tie(b.start, b.task);
  });
  return schedule;
}

std::optional<std::string> find_violation(const TaskSchedule& schedule, const UnitTasks& tasks) {
  std::vector<bool> seen(tasks.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < schedule.runs.size(); ++i) {
    const TaskRun& run = schedule.runs[i];
    if (run.task >= tasks.size() || seen[run.task])
      return fmt::format("duplicate task {}", run.task);
    seen[run.task] = true;
    const UnitTask& task = tasks[run.task];
    if (!std::binary_search(task.sender_hosts.begin(), task.sender_hosts.end(), run.sender)) {
      return fmt::format("host {} does not hold task {}", run.sender, run.task);
    }
    const std::int64_t end = run.start + task.size;
    if (run.start < 0) return fmt::format("task {} starts before time 0", run.task);
    last = std::max(last, end);
    for (std::size_t j = 0; j < i; ++j) {
      const TaskRun& other = schedule.runs[j];
      const bool apart = other.start + tasks[other.task].size <= run.start || end <= other.start;
      if (apart) continue;
      if (other.sender == run.sender || share_receiver(task, tasks[other.task])) {
        return fmt::format("tasks {} and {} overlap", other.task, run.task);
      }
    }
  }
  if (schedule.runs.size() != tasks.size()) return "a task does not run";
  if (schedule.makespan != last) return "the makespan is not the last end";
  return std::nullopt;
}

namespace {

std::vector<std::uint32_t> read_hosts(const JsonValue& task, std::string_view key) {
  const JsonValue list = task.member(key, "a task");
  std::vector<std::uint32_t> hosts;
  for (const JsonValue& host : list.array("the hosts of a task")) {
    hosts.push_back(static_cast<std::uint32_t>(host.integer("a host", 0, kMaxMeshHosts - 1)));
    if (std::count(hosts.begin(), hosts.end(), hosts.back()) > 1) {
      host.fail(fmt::format("duplicate host {}, expected each host once", hosts.back()));
    }
  }
  if (hosts.empty()) list.fail("no host, expected at least one");
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

UnitTasks read_task_list(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"tasks"}, "a set of tasks");
  const JsonValue list = root.member("tasks", "a set of tasks");
  UnitTasks tasks;
  for (const JsonValue& task : list.array("the tasks")) {
    task.only_keys({"size", "sender_hosts", "receiver_hosts"}, "a task");
    if (tasks.size() == kMaxTasks) task.fail(fmt::format("expected at most {} tasks", kMaxTasks));
    tasks.push_back({task.member("size", "a task").integer("the size of a task", 1, kMaxTaskSize),
                     read_hosts(task, "sender_hosts"), read_hosts(task, "receiver_hosts")});
  }
  if (tasks.empty()) list.fail("no task, expected at least one");
  return tasks;
}

}  // namespace

UnitTasks read_tasks(const std::string& source, const std::string& text) {
  return read_as({FileKind::Tasks}, source, text, [&] { return read_task_list(source, text); });
}

namespace {

void check_elements(const TensorShape& shape, const SourcePosition& where) {
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) {
    if (length > kMaxTensorElements / elements) {
      throw InputError(where, fmt::format("too large a tensor, expected at most {} elements",
                                          kMaxTensorElements));
    }
    elements *= length;
  }
}

/// R, S0, S1, S01 or S10, of axes that are not in `used` yet.
std::vector<std::size_t> parse_dimension(TextCursor& cursor, std::array<bool, 2>& used) {
  const SourcePosition where = cursor.position();
  const std::string word = cursor.name("R, S0, S1, S01 or S10");
  if (word == "R") return {};
  if (word != "S0" && word != "S1" && word != "S01" && word != "S10") {
    throw InputError(where, fmt::format("unknown '{}', expected R, S0, S1, S01 or S10", word));
  }
  std::vector<std::size_t> axes;
  for (const char digit : word.substr(1)) {
    axes.push_back(digit == '0' ? 0 : 1);
    if (used[axes.back()]) {
      throw InputError(
          where, fmt::format("mesh axis {} shards two dimensions, expected at most one", digit));
    }
    used[axes.back()] = true;
  }
  return axes;
}

std::array<std::uint32_t, 2> parse_mesh(TextCursor& cursor) {
  const SourcePosition where = cursor.position();
  const auto hosts = cursor.integer("the hosts of the mesh", 1, kMaxMeshHosts);
  cursor.expect("x", "between the hosts and the devices of a host");
  const auto devices = cursor.integer("the devices of a host", 1, kMaxMeshDevices);
  if (hosts * devices > kMaxMeshDevices) {
    throw InputError(where,
                     fmt::format("too large a mesh, expected at most {} devices", kMaxMeshDevices));
  }
  return {static_cast<std::uint32_t>(hosts), static_cast<std::uint32_t>(devices)};
}

/// The shard index of a device in every dimension.
std::vector<std::uint32_t> shards_of(const Sharding& sharding,
                                     const std::array<std::uint32_t, 2>& device) {
  std::vector<std::uint32_t> numbers;
  for (const auto& axes : sharding.axes) {
    std::uint32_t number = 0;
    for (const std::size_t axis : axes) number = number * sharding.mesh[axis] + device[axis];
    numbers.push_back(number);
  }
  return numbers;
}

Slice slice_of(const TensorShape& shape, const Sharding& sharding,
               const std::vector<std::uint32_t>& numbers) {
  Slice slice;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t shards = sharding.shards(i);
    const std::int64_t length = (shape[i] + shards - 1) / shards;
    slice.low.push_back(std::min(shape[i], numbers[i] * length));
    slice.high.push_back(std::min(shape[i], (numbers[i] + 1) * length));
  }
  return slice;
}

}  // namespace

std::uint32_t Sharding::shards(std::size_t dimension) const {
  std::uint32_t count = 1;
  for (const std::size_t axis : axes[dimension]) count *= mesh[axis];
  return count;
}

TensorShape parse_shape(std::string_view source, const std::string& text) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  TensorShape shape;
  do {
    if (shape.size() == kMaxTensorDimensions) {
      cursor.fail(fmt::format("expected at most {} dimensions", kMaxTensorDimensions));
    }
    shape.push_back(static_cast<std::int64_t>(
        cursor.integer("the length of a dimension", 1, std::uint64_t{kMaxTensorElements})));
  } while (cursor.accept(","));
  expect_end(cursor, "the shape");
  check_elements(shape, where);
  return shape;
}

Sharding parse_sharding(std::string_view source, const std::string& text, std::size_t dimensions) {
  TextCursor cursor(source, text);
  Sharding sharding{parse_mesh(cursor), {}};
  cursor.expect(":", "between the mesh and the dimensions");
  std::array<bool, 2> used{};
  do {
    sharding.axes.push_back(parse_dimension(cursor, used));
  } while (cursor.accept(","));
  expect_end(cursor, "the dimensions");
  if (sharding.axes.size() != dimensions) {
    throw InputError({std::string(source)},
                     fmt::format("{} dimensions, expected {} as in the shape", sharding.axes.size(),
                                 dimensions));
  }
  return sharding;
}

TensorShape padded(const TensorShape& shape, const Sharding& from, const Sharding& to,
                   std::string_view source) {
  TensorShape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto multiple = std::lcm<std::int64_t>(from.shards(i), to.shards(i));
    result.push_back((shape[i] + multiple - 1) / multiple * multiple);
  }
  check_elements(result, {std::string(source)});
  return result;
}

std::int64_t Slice::elements() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < low.size(); ++i)
    product *= std::max<std::int64_t>(0, high[i] - low[i]);
  return product;
}

Slice slice_on(const TensorShape& shape, const Sharding& sharding, std::uint32_t host,
               std::uint32_t device) {
  Slice slice = slice_of(shape, sharding, shards_of(sharding, {host, device}));
  slice.hosts = {host};
  return slice;
}

std::vector<Slice> slices_of(const TensorShape& shape, const Sharding& sharding) {
  std::map<std::vector<std::uint32_t>, Slice> slices;
  for (std::uint32_t host = 0; host < sharding.mesh[0]; ++host) {
    for (std::uint32_t device = 0; device < sharding.mesh[1]; ++device) {
      const auto numbers = shards_of(sharding, {host, device});
      Slice& slice = slices.try_emplace(numbers, slice_of(shape, sharding, numbers)).first->second;
      if (slice.hosts.empty() || slice.hosts.back() != host) slice.hosts.push_back(host);
    }
  }
  std::vector<Slice> held;
  for (auto& [numbers, slice] : slices) {
    if (slice.elements() > 0) held.push_back(std::move(slice));
  }
  return held;
}

namespace {

std::int64_t intersection_size(const Slice& a, const Slice& b) {
  Slice both = a;
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    both.low[i] = std::max(a.low[i], b.low[i]);
    both.high[i] = std::min(a.high[i], b.high[i]);
  }
  return both.elements();
}

}  // namespace

UnitTasks decompose(const TensorShape& shape, const Sharding& from, const Sharding& to,
                    Decomposition decomposition, std::string_view source) {
  const std::vector<Slice> destinations = slices_of(shape, to);
  UnitTasks tasks;
  for (const Slice& slice : slices_of(shape, from)) {
    std::set<std::uint32_t> receivers;
    for (const Slice& destination : destinations) {
      const std::int64_t common = intersection_size(slice, destination);
      if (common == 0) continue;
      receivers.insert(destination.hosts.begin(), destination.hosts.end());
      if (decomposition == Decomposition::Intersection) {
        tasks.push_back({common, slice.hosts, destination.hosts});
      }
    }
    if (decomposition == Decomposition::Source) {
      tasks.push_back({slice.elements(), slice.hosts, {receivers.begin(), receivers.end()}});
    }
    if (tasks.size() > kMaxTasks) {
      throw InputError(
          {std::string(source)},
          fmt::format("more than {} unit tasks, expected coarser shardings", kMaxTasks));
    }
  }
  return tasks;
}

}  // namespace p2
