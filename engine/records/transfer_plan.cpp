// Plans of what is sent when the weights of a model move from one sharding to another: from a
// trainer to an inference engine, or to a checkpoint's readers.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_reader.h"
#include "engine/records/record.h"

namespace p2::records {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
constexpr std::int64_t kMaxRank = 1 << 24;
constexpr std::size_t kMaxDimensions = 16;

/// A half-open range in every dimension.
struct Box {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
};

std::string to_string(const Box& box) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < box.begin.size(); ++i) {
    ranges.push_back(fmt::format("{}:{}", box.begin[i], box.end[i]));
  }
  return fmt::format("[{}]", fmt::join(ranges, ","));
}

Json json_of(const Box& box) {
  Json ranges = Json::array();
  for (std::size_t i = 0; i < box.begin.size(); ++i) {
    ranges.push_back(Json::array({box.begin[i], box.end[i]}));
  }
  return ranges;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box common = a;
  for (std::size_t i = 0; i < a.begin.size(); ++i) {
    common.begin[i] = std::max(a.begin[i], b.begin[i]);
    common.end[i] = std::min(a.end[i], b.end[i]);
    if (common.begin[i] >= common.end[i]) return std::nullopt;
  }
  return common;
}

/// `box` without `cut`, as boxes that do not overlap.
void subtract(Box box, const Box& cut, std::vector<Box>& rest) {
  const auto common = intersection(box, cut);
  if (!common) {
    rest.push_back(std::move(box));
    return;
  }
  for (std::size_t i = 0; i < box.begin.size(); ++i) {
    if (box.begin[i] < common->begin[i]) {
      Box part = box;
      part.end[i] = common->begin[i];
      rest.push_back(std::move(part));
      box.begin[i] = common->begin[i];
    }
    if (common->end[i] < box.end[i]) {
      Box part = box;
      part.begin[i] = common->end[i];
      rest.push_back(std::move(part));
      box.end[i] = common->end[i];
    }
  }
}

/// The part of `box` that none of `others` covers; nothing if they cover it.
std::optional<Box> uncovered(const Box& box, const std::vector<const Box*>& others,
                             const Limits& limits) {
  std::vector<Box> rest = {box};
  for (const Box* other : others) {
    limits.require(rest.size() * sizeof(Box), "the check of a transfer plan");
    std::vector<Box> left;
    for (Box& each : rest) subtract(std::move(each), *other, left);
    rest = std::move(left);
    if (rest.empty()) return std::nullopt;
  }
  return rest.front();
}

struct Shard {
  std::uint32_t rank = 0;
  Box box;
  SourcePosition where;
};

struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Box box;
  SourcePosition where;
};

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<Shard> source;
  std::vector<Shard> destination;
  std::vector<Transfer> transfers;
};

Box read_box(const JsonValue& value, const Tensor& tensor) {
  Box box;
  for (const JsonValue& range : value.array("a box")) {
    const std::vector<JsonValue> ends = range.array("a range of a box");
    if (ends.size() != 2) range.fail("is not a range, expected [begin, end]");
    box.begin.push_back(ends[0].integer("the begin of a range", -kMaxExtent, kMaxExtent));
    box.end.push_back(ends[1].integer("the end of a range", -kMaxExtent, kMaxExtent));
  }
  if (box.begin.size() != tensor.shape.size()) {
    value.fail(fmt::format("{} ranges, expected {}: the tensor's dimensions", box.begin.size(),
                           tensor.shape.size()));
  }
  return box;
}

std::uint32_t read_rank(const JsonValue& value, std::string_view key) {
  const JsonValue member = value.member(key, "a part of a tensor");
  return static_cast<std::uint32_t>(member.integer("a rank", 0, kMaxRank));
}

std::vector<Shard> read_shards(const JsonValue& value, const Tensor& tensor) {
  std::vector<Shard> shards;
  for (const JsonValue& each : value.array("the shards of a tensor")) {
    each.only_keys({"rank", "box"}, "a shard");
    shards.push_back({read_rank(each, "rank"), read_box(each.member("box", "a shard"), tensor),
                      each.position()});
  }
  return shards;
}

std::vector<Tensor> read_tensors(const RecordText& source) {
  const JsonDocument document(source.file, source.text);
  const JsonValue root = document.root();
  root.only_keys({"format", "tensors", "transfers"}, "a transfer plan");
  const JsonValue format = root.member("format", "a transfer plan");
  if (format.string("the format") != "transfer-plan/1") {
    format.fail("unknown format, expected transfer-plan/1");
  }
  std::vector<Tensor> tensors;
  std::map<std::string, std::size_t> numbers;
  for (const auto& [name, value] : root.member("tensors", "a transfer plan").members("tensors")) {
    value.only_keys({"shape", "source", "destination", "dtype"}, "a tensor");
    Tensor tensor;
    tensor.name = name;
    const JsonValue shape = value.member("shape", "a tensor");
    for (const JsonValue& extent : shape.array("the shape of a tensor")) {
      tensor.shape.push_back(extent.integer("an extent", 1, kMaxExtent));
    }
    if (tensor.shape.size() > kMaxDimensions) {
      shape.fail(
          fmt::format("{} dimensions, expected at most {}", tensor.shape.size(), kMaxDimensions));
    }
    tensor.source = read_shards(value.member("source", "a tensor"), tensor);
    tensor.destination = read_shards(value.member("destination", "a tensor"), tensor);
    numbers[name] = tensors.size();
    tensors.push_back(std::move(tensor));
  }
  const JsonValue transfers = root.member("transfers", "a transfer plan");
  for (const JsonValue& each : transfers.array("the transfers")) {
    each.only_keys({"tensor", "from", "to", "box"}, "a transfer");
    const JsonValue name = each.member("tensor", "a transfer");
    const auto found = numbers.find(name.string("the tensor of a transfer"));
    if (found == numbers.end()) name.fail("unknown tensor, expected one of `tensors`");
    Tensor& tensor = tensors[found->second];
    tensor.transfers.push_back({read_rank(each, "from"), read_rank(each, "to"),
                                read_box(each.member("box", "a transfer"), tensor),
                                each.position()});
  }
  return tensors;
}

Counterexample fault(std::string rule, const SourcePosition& where, std::string explanation,
                     const Tensor& tensor, std::uint32_t rank, const Box& box) {
  return {std::move(rule),
          where,
          std::move(explanation),
          Json::object({{"tensor", tensor.name}, {"rank", rank}, {"box", json_of(box)}}),
          {}};
}

std::optional<Counterexample> check_bounds(const Tensor& tensor) {
  const auto outside = [&](const Box& box) {
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      if (box.begin[i] < 0 || box.begin[i] >= box.end[i] || box.end[i] > tensor.shape[i]) {
        return true;
      }
    }
    return false;
  };
  const auto told = [&](std::string_view what, std::uint32_t rank, const Box& box,
                        const SourcePosition& where) {
    return fault("bounds", where,
                 fmt::format("{} {} of {} is empty or reaches beyond the shape [{}].", what,
                             to_string(box), tensor.name, fmt::join(tensor.shape, ",")),
                 tensor, rank, box);
  };
  for (const Shard& each : tensor.source) {
    if (outside(each.box)) return told("The source shard", each.rank, each.box, each.where);
  }
  for (const Shard& each : tensor.destination) {
    if (outside(each.box)) return told("The destination shard", each.rank, each.box, each.where);
  }
  for (const Transfer& each : tensor.transfers) {
    if (outside(each.box)) return told("The transfer of", each.from, each.box, each.where);
  }
  return std::nullopt;
}

std::vector<const Box*> boxes_of(const std::vector<Shard>& shards, std::uint32_t rank) {
  std::vector<const Box*> boxes;
  for (const Shard& shard : shards) {
    if (shard.rank == rank) boxes.push_back(&shard.box);
  }
  return boxes;
}

/// Every transfer sends what its sender holds to one who needs it; every element that is needed
/// arrives exactly once. A rank keeps nothing that is not sent to it: a copy inside a rank is a
/// transfer from it to itself.
std::optional<Counterexample> check_tensor(const Tensor& tensor, const Limits& limits) {
  if (auto found = check_bounds(tensor)) return found;
  std::map<std::uint32_t, std::vector<const Transfer*>> received;
  for (const Transfer& each : tensor.transfers) {
    if (const auto lacks = uncovered(each.box, boxes_of(tensor.source, each.from), limits)) {
      return fault("source", each.where,
                   fmt::format("Rank {} sends {} of {}, of which it does not hold {}.", each.from,
                               to_string(each.box), tensor.name, to_string(*lacks)),
                   tensor, each.from, *lacks);
    }
    if (const auto excess = uncovered(each.box, boxes_of(tensor.destination, each.to), limits)) {
      return fault("destination", each.where,
                   fmt::format("Rank {} receives {} of {}, of which it has no place for {}.",
                               each.to, to_string(each.box), tensor.name, to_string(*excess)),
                   tensor, each.to, *excess);
    }
    std::vector<const Transfer*>& earlier = received[each.to];
    for (const Transfer* other : earlier) {
      limits.require(0, "the check of a transfer plan");
      if (const auto twice = intersection(each.box, other->box)) {
        return fault("twice", each.where,
                     fmt::format("Rank {} receives {} of {} twice: from rank {} (line {}) and from "
                                 "rank {} (line {}).",
                                 each.to, to_string(*twice), tensor.name, other->from,
                                 other->where.line, each.from, each.where.line),
                     tensor, each.to, *twice);
      }
    }
    earlier.push_back(&each);
  }
  for (const Shard& shard : tensor.destination) {
    std::vector<const Box*> boxes;
    for (const Transfer* each : received[shard.rank]) boxes.push_back(&each->box);
    if (const auto missing = uncovered(shard.box, boxes, limits)) {
      return fault("missing", shard.where,
                   fmt::format("Rank {} never receives {} of {}.", shard.rank, to_string(*missing),
                               tensor.name),
                   tensor, shard.rank, *missing);
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_transfer_plan(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"transfer-plan/", first) != std::string_view::npos;
}

RecordDecision check_transfers(const RecordText& plan, const Limits& limits) {
  RecordDecision decision;
  decision.format = "transfer-plan";
  decision.model = "every element that a destination holds is sent to it exactly once";
  const std::vector<Tensor> tensors = read_tensors(plan);
  std::size_t transfers = 0;
  std::set<std::uint32_t> ranks;
  for (const Tensor& tensor : tensors) {
    transfers += tensor.transfers.size();
    for (const Shard& each : tensor.source) ranks.insert(each.rank);
    for (const Shard& each : tensor.destination) ranks.insert(each.rank);
    if (!decision.violation) decision.violation = check_tensor(tensor, limits);
  }
  if (decision.violation) decision.outcome = Outcome::Refuted;
  decision.summary =
      fmt::format("{} tensors, {} ranks, {} transfers", tensors.size(), ranks.size(), transfers);
  decision.facts = Json::object(
      {{"tensors", tensors.size()}, {"ranks", ranks.size()}, {"transfers", transfers}});
  return decision;
}

}  // namespace p2::records
