// Reads a relation between a global module and the one that devices run.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/json_reader.h"
#include "engine/hlo/module_relation.h"
#include "p2/error.h"

namespace p2::hlo {
namespace {

constexpr std::int64_t kMaxIndex = std::int64_t{1} << 40U;
constexpr std::size_t kMaxPieces = 1U << 22U;

using List = std::vector<std::int64_t>;

/// The axes of a relation's mesh; device ids are row-major.
class Mesh {
 public:
  Mesh(const JsonValue& root, std::int64_t devices) {
    const auto mesh = root.find("mesh");
    if (!mesh) return;
    std::int64_t product = 1;
    for (const auto& [name, size] : mesh->members("the mesh")) {
      axes_.push_back({name, size.integer("the size of an axis", 1, kMaxDevices), {}});
      product *= axes_.back().size;
      if (product > kMaxDevices) break;
    }
    if (product != devices) {
      mesh->fail(fmt::format("the mesh has {} devices, expected {}", product, devices));
    }
  }

  /// The product of the sizes of axes, and the coordinate of a device along them, outermost first.
  std::int64_t size(const JsonValue& axes) const {
    std::int64_t product = 1;
    for (const std::size_t axis : numbers(axes)) product *= axes_[axis].size;
    return product;
  }
  std::int64_t coordinate(std::int64_t device, const JsonValue& axes) const {
    std::int64_t at = 0;
    for (const std::size_t axis : numbers(axes)) {
      std::int64_t stride = 1;
      for (std::size_t i = axis + 1; i < axes_.size(); ++i) stride *= axes_[i].size;
      at = at * axes_[axis].size + device / stride % axes_[axis].size;
    }
    return at;
  }
  const std::vector<MeshAxis>& axes() const { return axes_; }

 private:
  std::vector<std::size_t> numbers(const JsonValue& axes) const {
    std::vector<std::size_t> all;
    for (const JsonValue& axis : axes.array("a list of axes")) {
      const std::string& name = axis.string("the name of an axis");
      const auto found = std::find_if(axes_.begin(), axes_.end(),
                                      [&](const MeshAxis& each) { return each.name == name; });
      if (found == axes_.end()) axis.fail(fmt::format("'{}' is no axis of the mesh", name));
      const auto number = static_cast<std::size_t>(found - axes_.begin());
      if (std::find(all.begin(), all.end(), number) != all.end()) {
        axis.fail(fmt::format("axis '{}' is named twice", name));
      }
      all.push_back(number);
    }
    return all;
  }

  std::vector<MeshAxis> axes_;
};

/// A range `[from, to]` for every dimension of a tensor: its first index and its sizes.
std::pair<List, List> read_ranges(const JsonValue& value, const List& sizes, const char* what) {
  const std::vector<JsonValue> ranges = value.array("the ranges of a box");
  if (ranges.size() != sizes.size()) {
    value.fail(fmt::format("{} ranges, expected one for each of the {} dimensions {}",
                           ranges.size(), sizes.size(), what));
  }
  std::pair<List, List> box;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::vector<JsonValue> ends = ranges[i].array("a range");
    if (ends.size() != 2) ranges[i].fail("a range has a first index and one past the last");
    const std::int64_t first = ends[0].integer("the first index of a range", 0, sizes[i]);
    box.first.push_back(first);
    box.second.push_back(ends[1].integer("the end of a range", first, sizes[i]) - first);
  }
  return box;
}

bool overlap(const Piece& a, const Piece& b, const List Piece::*first) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const std::int64_t begin = std::max((a.*first)[i], (b.*first)[i]);
    const std::int64_t end = std::min((a.*first)[i] + a.sizes[i], (b.*first)[i] + b.sizes[i]);
    if (begin >= end) return false;
  }
  return true;
}

/// Whether boxes cover a whole tensor: by cutting what is left at the boxes.
bool cover(const List& whole, const std::vector<const Piece*>& boxes) {
  std::vector<std::pair<List, List>> rest = {{List(whole.size(), 0), whole}};  // first, end
  if (volume(whole) == 0) return true;
  for (const Piece* box : boxes) {
    std::vector<std::pair<List, List>> left;
    for (auto& [first, end] : rest) {
      bool meets = volume(box->sizes) > 0;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        meets =
            meets && std::max(first[i], box->of[i]) < std::min(end[i], box->of[i] + box->sizes[i]);
      }
      if (!meets) {
        left.emplace_back(first, end);
        continue;
      }
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const std::int64_t low = box->of[i];
        const std::int64_t high = box->of[i] + box->sizes[i];
        if (first[i] < low) {
          auto part = std::pair(first, end);
          part.second[i] = low;
          left.push_back(std::move(part));
          first[i] = low;
        }
        if (end[i] > high) {
          auto part = std::pair(first, end);
          part.first[i] = high;
          left.push_back(std::move(part));
          end[i] = high;
        }
      }
    }
    rest = std::move(left);
    if (rest.empty()) return true;
  }
  return rest.empty();
}

class RelationReader {
 public:
  RelationReader(const JsonValue& root, const Devices& devices)
      : devices_(devices.count()), mesh_(root, devices_) {}

  const std::vector<MeshAxis>& axes() const { return mesh_.axes(); }

  /// The relation of one tensor of sizes `whole` to those of sizes `local` on devices.
  TensorRelation read(const JsonValue& entry, const ArrayShape& whole,
                      const std::vector<ArrayShape>& locals) {
    entry.only_keys({"after", "relation"}, "the relation of a tensor");
    TensorRelation relation{whole};
    const JsonValue after = entry.member("after", "the relation of a tensor");
    relation.number = static_cast<std::uint32_t>(
        after.integer("the number of a tensor", 0, static_cast<std::int64_t>(locals.size()) - 1));
    const ArrayShape& local = locals[relation.number];
    if (local.type != whole.type) {
      after.fail(fmt::format("tensor {} is {}, expected the type of {}", relation.number,
                             to_string(local), to_string(whole)));
    }
    const JsonValue value = entry.member("relation", "the relation of a tensor");
    if (value.is_string()) {
      if (value.string("a relation") != "replicated") {
        value.fail("expected \"replicated\" or an object with \"dims\" or \"boxes\"");
      }
      replicate(relation);
    } else {
      value.only_keys({"dims", "boxes", "sum", "max", "min", "product", "device"}, "a relation");
      if (value.find("dims") && value.find("boxes")) value.fail("expected dims or boxes, not both");
      if (const auto dims = value.find("dims")) {
        cut(relation, *dims, local);
      } else if (const auto boxes = value.find("boxes")) {
        place(relation, *boxes, local);
      } else {
        replicate(relation);
      }
      reduce(relation, value);
      if (const auto device = value.find("device")) {
        const std::int64_t only = device->integer("a device", 0, devices_ - 1);
        for (std::int64_t each = 0; each < devices_; ++each) {
          if (each != only) relation.pieces[static_cast<std::size_t>(each)].clear();
        }
        relation.words += fmt::format(" on device {}", only);
      }
    }
    require_fit(relation, value, local);
    return relation;
  }

 private:
  void replicate(TensorRelation& relation) const {
    const List zero(relation.whole.sizes.size(), 0);
    relation.pieces.assign(static_cast<std::size_t>(devices_),
                           {Piece{zero, zero, relation.whole.sizes}});
    relation.words = "replicated";
  }

  void cut(TensorRelation& relation, const JsonValue& dims, const ArrayShape& local) {
    const std::vector<JsonValue> by_dimension = dims.array("dims");
    const List& sizes = relation.whole.sizes;
    if (by_dimension.size() != sizes.size()) {
      dims.fail(fmt::format("{} lists of axes, expected one for each of the {} dimensions of {}",
                            by_dimension.size(), sizes.size(), to_string(relation.whole)));
    }
    List tile;
    List parts;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      parts.push_back(mesh_.size(by_dimension[i]));
      tile.push_back((sizes[i] + parts[i] - 1) / parts[i]);
    }
    if (tile != local.sizes) {
      dims.fail(fmt::format("shards have sizes {}, expected those of {}", fmt::join(tile, "×"),
                            to_string(local)));
    }
    for (std::int64_t device = 0; device < devices_; ++device) {
      Piece piece{{}, List(sizes.size(), 0), {}};
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t start = mesh_.coordinate(device, by_dimension[i]) * tile[i];
        piece.of.push_back(start);
        piece.sizes.push_back(std::clamp<std::int64_t>(sizes[i] - start, 0, tile[i]));
      }
      const bool empty = volume(piece.sizes) == 0;
      relation.pieces.push_back(empty ? std::vector<Piece>{} : std::vector{std::move(piece)});
    }
    relation.words = volume(parts) == 1 ? "replicated" : fmt::format("{}", fmt::join(parts, "×"));
  }

  void place(TensorRelation& relation, const JsonValue& boxes, const ArrayShape& local) const {
    relation.pieces.resize(static_cast<std::size_t>(devices_));
    const std::vector<JsonValue> all = boxes.array("boxes");
    if (all.size() > kMaxPieces) boxes.fail("too many boxes");
    for (const JsonValue& box : all) {
      box.only_keys({"device", "of", "at"}, "a box");
      const std::int64_t device =
          box.member("device", "a box").integer("a device", 0, devices_ - 1);
      const auto [of, sizes] =
          read_ranges(box.member("of", "a box"), relation.whole.sizes, "of the whole tensor");
      const JsonValue there = box.member("at", "a box");
      const auto [at, same] = read_ranges(there, local.sizes, "of the device's tensor");
      if (same != sizes) there.fail("a box has other sizes here than in the whole tensor");
      if (volume(sizes) > 0) {
        relation.pieces[static_cast<std::size_t>(device)].push_back({of, at, sizes});
      }
    }
    relation.words = fmt::format("{} boxes", all.size());
  }

  void reduce(TensorRelation& relation, const JsonValue& value) {
    static constexpr std::pair<const char*, Reducer> kReducers[] = {{"sum", Reducer::Add},
                                                                    {"product", Reducer::Multiply},
                                                                    {"max", Reducer::Maximum},
                                                                    {"min", Reducer::Minimum}};
    for (const auto& [name, reducer] : kReducers) {
      const auto axes = value.find(name);
      if (!axes) continue;
      if (relation.parts > 1) axes->fail("a tensor has one reduction");
      relation.reducer = reducer;
      if (axes->is_array()) {
        relation.parts = static_cast<std::uint32_t>(mesh_.size(*axes));
        for (std::int64_t device = 0; device < devices_; ++device) {
          relation.part.push_back(static_cast<std::uint32_t>(mesh_.coordinate(device, *axes)));
        }
      } else {
        axes->fail("expected a list of axes");
      }
      if (relation.parts == 1) {
        relation.reducer = Reducer::Unknown;
        relation.part.clear();
      }
      relation.words += fmt::format(", {} of {} parts", name, relation.parts);
    }
  }

  /// Every element of every part is held by a device, and no device's element stands for two.
  void require_fit(const TensorRelation& relation, const JsonValue& value,
                   const ArrayShape& local) const {
    std::vector<std::vector<const Piece*>> by_part(relation.parts);
    for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
      const std::vector<Piece>& own = relation.pieces[device];
      for (std::size_t i = 0; i < own.size(); ++i) {
        for (std::size_t d = 0; d < local.sizes.size(); ++d) {
          if (own[i].at[d] + own[i].sizes[d] > local.sizes[d]) {
            value.fail(fmt::format("device {} holds {}, which has no room for it", device,
                                   to_string(local)));
          }
        }
        if (local.sizes.size() != relation.whole.sizes.size()) {
          value.fail(fmt::format("{} has other dimensions than {}", to_string(local),
                                 to_string(relation.whole)));
        }
        for (std::size_t k = 0; k < i; ++k) {
          if (overlap(own[i], own[k], &Piece::at)) {
            value.fail(fmt::format("two boxes overlap in the tensor of device {}", device));
          }
        }
        auto& known = by_part[relation.part_of(device)];
        const bool repeated = std::any_of(known.begin(), known.end(), [&](const Piece* each) {
          return each->of == own[i].of && each->sizes == own[i].sizes;
        });
        if (!repeated) known.push_back(&own[i]);
      }
    }
    for (const auto& boxes : by_part) {
      if (!cover(relation.whole.sizes, boxes)) {
        value.fail(fmt::format("no device holds some element of {}", to_string(relation.whole)));
      }
    }
  }

  std::int64_t devices_;
  Mesh mesh_;
};

}  // namespace

ModuleRelation read_relation(const std::string& source, const std::string& text,
                             const Module& before, const Module& after, const Devices& devices) {
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"format", "devices", "mesh", "modules", "inputs", "outputs"}, "a relation");
  const JsonValue format = root.member("format", "a relation");
  if (format.string("the format") != "p2-relation/1") format.fail("expected p2-relation/1");
  const JsonValue count = root.member("devices", "a relation");
  if (count.integer("the number of devices", 1, kMaxDevices) != devices.count()) {
    count.fail(fmt::format("the modules run on {}, expected as many", devices.count()));
  }
  if (const auto modules = root.find("modules")) {
    modules->fail("devices that run different modules are not supported, expected one module");
  }
  RelationReader reader(root, devices);
  ModuleRelation relation;
  relation.before = Form::Global;
  relation.is_given = true;
  const auto read = [&](const char* key, const std::vector<ArrayShape>& wholes,
                        const std::vector<ArrayShape>& locals) {
    const JsonValue given = root.member(key, "a relation");
    std::vector<TensorRelation> all(wholes.size());
    std::vector<bool> named(wholes.size());
    std::set<std::uint32_t> used;
    for (const auto& [name, entry] : given.members(key)) {
      std::size_t number = wholes.size();
      if (!name.empty() && name.size() < 8 &&
          name.find_first_not_of("0123456789") == std::string::npos) {
        number = static_cast<std::size_t>(std::stoul(name));
      }
      if (number >= wholes.size() || named[number]) {
        entry.fail(fmt::format("'{}', expected numbers from 0 to {}, each once", name,
                               static_cast<std::int64_t>(wholes.size()) - 1));
      }
      named[number] = true;
      all[number] = reader.read(entry, wholes[number], locals);
      if (!used.insert(all[number].number).second) {
        entry.fail(
            fmt::format("tensor {} of the module after is related twice", all[number].number));
      }
    }
    const auto missing = std::find(named.begin(), named.end(), false);
    if (missing != named.end()) {
      given.fail(fmt::format("number {} of {} is missing", missing - named.begin(), wholes.size()));
    }
    if (used.size() != locals.size()) {
      given.fail(fmt::format("{} tensors of the module after are related, expected all {}",
                             used.size(), locals.size()));
    }
    return all;
  };
  relation.inputs = read("inputs", inputs_of(before), inputs_of(after));
  relation.outputs = read("outputs", outputs_of(before), outputs_of(after));
  relation.mesh = reader.axes();
  describe(relation, before);
  return relation;
}

}  // namespace p2::hlo
