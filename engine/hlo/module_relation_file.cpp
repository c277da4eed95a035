// Reads a relation between a global module and the one that devices run.

#include <algorithm>
#include <filesystem>
#include <iterator>
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
  /// As axes_text().
  std::string names(const JsonValue& axes) const {
    std::vector<MeshAxis> all;
    for (const std::size_t axis : numbers(axes)) all.push_back(axes_[axis]);
    return axes_text(all);
  }
  const std::vector<MeshAxis>& axes() const { return axes_; }

 private:
  std::vector<std::size_t> numbers(const JsonValue& axes) const {
    std::vector<std::size_t> all;
    for (const JsonValue& axis : axes.array("a list of axes")) {
      const std::string& name = axis.string("the name of an axis");
      const auto found = std::find_if(axes_.begin(), axes_.end(),
                                      [&](const MeshAxis& each) { return each.name == name; });
      if (found == axes_.end()) axis.fail(fmt::format("'{}' is not an axis of the mesh", name));
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

/// Device ranges, `0-3` or `0-3,8`, in ascending order.
std::vector<std::uint32_t> read_devices(const std::string& text, const JsonValue& where,
                                        std::int64_t count) {
  std::vector<std::uint32_t> devices;
  std::size_t at = 0;
  const auto number = [&] {
    std::int64_t value = -1;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      value = std::min(std::max<std::int64_t>(value, 0) * 10 + (text[at] - '0'), kMaxDevices);
    }
    return value;
  };
  while (true) {
    const std::int64_t first = number();
    std::int64_t last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    const bool ascending = devices.empty() || first > devices.back();
    if (first < 0 || last < first || !ascending || last >= count) break;
    for (std::int64_t each = first; each <= last; ++each) {
      devices.push_back(static_cast<std::uint32_t>(each));
    }
    if (at == text.size()) return devices;
    if (text[at++] != ',') break;
  }
  where.fail(fmt::format("'{}', expected devices from 0 to {} as in \"0-3\" or \"0-3,6\"", text,
                         count - 1));
}

/// `device 4`, `devices 4–7`.
std::string device_words(const std::vector<std::uint32_t>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", devices[i]);
    if (end - i > 1) text += fmt::format("–{}", devices[end - 1]);
    i = end;
  }
  return fmt::format("device{} {}", devices.size() == 1 ? "" : "s", text);
}

/// The inputs, or the outputs, of the module that devices run.
struct LocalTensors {
  const Module& module;
  bool are_inputs = true;
  std::vector<ArrayShape> shapes = {};

  /// Of a linked program: the number of its first one, and how many it has.
  std::pair<std::uint32_t, std::uint32_t> of_program(std::uint32_t device) const {
    const LinkedProgram& program = module.programs[module.program_of[device]];
    return are_inputs ? std::pair(program.first_input, program.inputs)
                      : std::pair(program.first_output, program.outputs);
  }
};

/// The relation of one tensor to those that devices hold.
class RelationReader {
 public:
  RelationReader(const JsonValue& root, const Devices& devices)
      : devices_(devices.count()), mesh_(root, devices_) {}

  const std::vector<MeshAxis>& axes() const { return mesh_.axes(); }

  TensorRelation read(const JsonValue& entry, const ArrayShape& whole,
                      const LocalTensors& locals) const {
    entry.only_keys({"after", "relation"}, "the relation of a tensor");
    TensorRelation relation{whole};
    const JsonValue after = entry.member("after", "the relation of a tensor");
    const JsonValue value = entry.member("relation", "the relation of a tensor");
    if (!value.is_string()) {
      value.only_keys({"dims", "boxes", "sum", "max", "min", "product", "device"}, "a relation");
      if (value.find("dims") && value.find("boxes")) value.fail("expected dims or boxes, not both");
    } else if (value.string("a relation") != "replicated") {
      value.fail("expected \"replicated\" or an object with \"dims\" or \"boxes\"");
    }
    if (locals.module.programs.empty()) {
      relation.number = static_cast<std::uint32_t>(after.integer(
          "the number of a tensor", 0, static_cast<std::int64_t>(locals.shapes.size()) - 1));
    } else {
      number_by_program(relation, after, value, locals);
    }
    for (std::uint32_t device = 0; device < devices_; ++device) {
      if (relation.number_on(device) == kNone) continue;
      const ArrayShape& local = locals.shapes[relation.number_on(device)];
      if (local.type == whole.type) continue;
      after.fail(fmt::format("it is {} on device {}, expected the type of {}", to_string(local),
                             device, to_string(whole)));
    }
    relation.pieces.resize(static_cast<std::size_t>(devices_));
    relation.words = "replicated";
    const auto dims = value.is_string() ? std::nullopt : value.find("dims");
    const auto boxes = value.is_string() ? std::nullopt : value.find("boxes");
    if (dims) {
      cut(relation, *dims, locals);
    } else if (boxes) {
      place(relation, *boxes, locals);
    } else {
      const List zero(whole.sizes.size(), 0);
      relation.pieces.assign(relation.pieces.size(), {Piece{zero, zero, whole.sizes}});
    }
    if (!value.is_string()) reduce(relation, value);
    if (const auto device = only_device(value)) {
      for (std::uint32_t each = 0; each < devices_; ++each) {
        if (each != *device) relation.pieces[each].clear();
      }
      relation.words += fmt::format(" on device {}", *device);
    } else if (!relation.numbers.empty()) {
      std::vector<std::uint32_t> named;
      for (std::uint32_t each = 0; each < devices_; ++each) {
        if (relation.numbers[each] != kNone) named.push_back(each);
        if (relation.numbers[each] == kNone) relation.pieces[each].clear();
      }
      if (named.size() < relation.pieces.size()) relation.words += " on " + device_words(named);
    }
    require_fit(relation, value, locals);
    return relation;
  }

 private:
  std::optional<std::uint32_t> only_device(const JsonValue& value) const {
    const auto device = value.is_string() ? std::nullopt : value.find("device");
    if (!device) return std::nullopt;
    return static_cast<std::uint32_t>(device->integer("a device", 0, devices_ - 1));
  }

  /// An object names numbers of devices; one number is that of all programs of which a device holds
  /// some of the tensor.
  void number_by_program(TensorRelation& relation, const JsonValue& after, const JsonValue& value,
                         const LocalTensors& locals) const {
    relation.numbers.assign(static_cast<std::size_t>(devices_), kNone);
    const auto set = [&](std::uint32_t device, const JsonValue& number) {
      const auto [first, count] = locals.of_program(device);
      relation.numbers[device] =
          first + static_cast<std::uint32_t>(
                      number.integer(fmt::format("the number of a tensor of device {}", device), 0,
                                     static_cast<std::int64_t>(count) - 1));
    };
    if (after.is_object()) {
      for (const auto& [range, number] : after.members("numbers by devices")) {
        for (const std::uint32_t device : read_devices(range, number, devices_)) {
          if (relation.numbers[device] != kNone) {
            number.fail(fmt::format("device {} is named twice", device));
          }
          set(device, number);
        }
      }
      const auto only = only_device(value);
      if (only && relation.numbers[*only] == kNone) {
        after.fail(fmt::format("it has no number on device {}", *only));
      }
      return;
    }
    std::vector<bool> holds(locals.module.programs.size(), true);
    const auto hold_only = [&](const std::vector<std::uint32_t>& devices) {
      holds.assign(holds.size(), false);
      for (const std::uint32_t device : devices) holds[locals.module.program_of[device]] = true;
    };
    if (const auto device = only_device(value)) {
      hold_only({*device});
    } else if (const auto boxes = value.is_string() ? std::nullopt : value.find("boxes")) {
      std::vector<std::uint32_t> devices;
      for (const JsonValue& box : boxes->array("boxes")) devices.push_back(device_of(box));
      hold_only(devices);
    }
    for (std::uint32_t device = 0; device < devices_; ++device) {
      if (holds[locals.module.program_of[device]]) set(device, after);
    }
  }

  std::uint32_t device_of(const JsonValue& box) const {
    return static_cast<std::uint32_t>(
        box.member("device", "a box").integer("a device", 0, devices_ - 1));
  }

  void cut(TensorRelation& relation, const JsonValue& dims, const LocalTensors& locals) const {
    const std::vector<JsonValue> by_dimension = dims.array("dims");
    const List& sizes = relation.whole.sizes;
    if (by_dimension.size() != sizes.size()) {
      dims.fail(fmt::format("{} lists of axes, expected one for each of the {} dimensions of {}",
                            by_dimension.size(), sizes.size(), to_string(relation.whole)));
    }
    List tile;
    List parts;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      names.push_back(mesh_.names(by_dimension[i]));
      parts.push_back(mesh_.size(by_dimension[i]));
      tile.push_back((sizes[i] + parts[i] - 1) / parts[i]);
    }
    for (std::uint32_t device = 0; device < devices_; ++device) {
      if (relation.number_on(device) == kNone) continue;
      const ArrayShape& local = locals.shapes[relation.number_on(device)];
      if (tile != local.sizes) {
        dims.fail(fmt::format("shards have sizes {}, expected those of {}", fmt::join(tile, "×"),
                              to_string(local)));
      }
      Piece piece{{}, List(sizes.size(), 0), {}};
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t start = mesh_.coordinate(device, by_dimension[i]) * tile[i];
        piece.of.push_back(start);
        piece.sizes.push_back(std::clamp<std::int64_t>(sizes[i] - start, 0, tile[i]));
      }
      const bool empty = volume(piece.sizes) == 0;
      if (!empty) relation.pieces[device].push_back(std::move(piece));
    }
    relation.words = tiling_words(parts, names);
  }

  void place(TensorRelation& relation, const JsonValue& boxes, const LocalTensors& locals) const {
    const std::vector<JsonValue> all = boxes.array("boxes");
    if (all.size() > kMaxPieces) boxes.fail("too many boxes");
    for (const JsonValue& box : all) {
      box.only_keys({"device", "of", "at"}, "a box");
      const std::uint32_t device = device_of(box);
      if (relation.number_on(device) == kNone) {
        box.fail(fmt::format("it has no number on device {}", device));
      }
      const ArrayShape& local = locals.shapes[relation.number_on(device)];
      const auto [of, sizes] =
          read_ranges(box.member("of", "a box"), relation.whole.sizes, "of the whole tensor");
      const JsonValue there = box.member("at", "a box");
      const auto [at, same] = read_ranges(there, local.sizes, "of the device's tensor");
      if (same != sizes)
        there.fail("a box has different sizes here from those in the whole tensor");
      if (volume(sizes) > 0) relation.pieces[device].push_back({of, at, sizes});
    }
    relation.words = fmt::format("{} boxes", all.size());
  }

  void reduce(TensorRelation& relation, const JsonValue& value) const {
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
      } else if (!axes->boolean("a list of axes or true") || !value.find("boxes")) {
        axes->fail("expected a list of axes, or true with boxes");
      } else {
        reduce_over_devices(relation, *axes);
      }
      if (relation.parts == 1) {
        relation.reducer = Reducer::Unknown;
        relation.part.clear();
      }
      relation.words += relation.parts_are_devices
                            ? fmt::format(", {} over devices", name)
                            : fmt::format(", {} of {} parts", name, relation.parts);
    }
  }

  /// Cuts all boxes at the borders of all others: two of them are then the same or disjoint.
  void reduce_over_devices(TensorRelation& relation, const JsonValue& where) const {
    relation.parts = static_cast<std::uint32_t>(devices_);
    relation.parts_are_devices = devices_ > 1;
    std::vector<std::set<std::int64_t>> borders(relation.whole.sizes.size());
    for (const std::vector<Piece>& own : relation.pieces) {
      for (const Piece& piece : own) {
        for (std::size_t i = 0; i < borders.size(); ++i) {
          borders[i].insert({piece.of[i], piece.of[i] + piece.sizes[i]});
        }
      }
    }
    std::size_t count = 0;
    for (std::uint32_t device = 0; device < devices_; ++device) {
      relation.part.push_back(device);
      std::vector<Piece>& own = relation.pieces[device];
      for (std::size_t dimension = 0; dimension < borders.size(); ++dimension) {
        std::vector<Piece> all;
        for (const Piece& piece : own) {
          const std::int64_t end = piece.of[dimension] + piece.sizes[dimension];
          auto border = borders[dimension].find(piece.of[dimension]);
          while (*border < end) {
            Piece part = piece;
            part.of[dimension] = *border;
            part.at[dimension] += *border - piece.of[dimension];
            part.sizes[dimension] = *std::next(border) - *border;
            all.push_back(std::move(part));
            ++border;
          }
          if (count + all.size() > kMaxPieces) where.fail("too many boxes overlap");
        }
        own = std::move(all);
      }
      count += own.size();
      for (std::size_t i = 0; i < own.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          if (own[i].of == own[k].of) {
            where.fail(fmt::format("device {} holds an element twice", device));
          }
        }
      }
    }
  }

  /// Every element of every part is held by a device, and no device's element stands for two.
  void require_fit(const TensorRelation& relation, const JsonValue& value,
                   const LocalTensors& locals) const {
    std::vector<std::vector<const Piece*>> by_part(relation.parts_are_devices ? 1 : relation.parts);
    for (std::uint32_t device = 0; device < relation.pieces.size(); ++device) {
      const std::vector<Piece>& own = relation.pieces[device];
      if (own.empty()) continue;
      const ArrayShape& local = locals.shapes[relation.number_on(device)];
      if (local.sizes.size() != relation.whole.sizes.size()) {
        value.fail(fmt::format("{} has different dimensions from {}", to_string(local),
                               to_string(relation.whole)));
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        for (std::size_t d = 0; d < local.sizes.size(); ++d) {
          if (own[i].at[d] + own[i].sizes[d] > local.sizes[d]) {
            value.fail(fmt::format("device {} holds {}, which has no room for it", device,
                                   to_string(local)));
          }
        }
        for (std::size_t k = 0; k < i; ++k) {
          if (overlap(own[i], own[k], &Piece::at)) {
            value.fail(fmt::format("two boxes overlap in the tensor of device {}", device));
          }
        }
        auto& known = by_part[relation.parts_are_devices ? 0 : relation.part_of(device)];
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

/// The programs that devices run, with the files in which they are.
std::vector<PlacedFile> read_programs(const std::string& source, const JsonValue& root) {
  const auto modules = root.find("modules");
  std::vector<PlacedFile> programs;
  if (!modules) return programs;
  const std::int64_t devices =
      root.member("devices", "a relation").integer("the number of devices", 1, kMaxDevices);
  std::vector<bool> placed(static_cast<std::size_t>(devices), false);
  for (const auto& [range, file] : modules->members("modules by devices")) {
    const std::filesystem::path folder = std::filesystem::path(source).parent_path();
    PlacedFile program{read_devices(range, file, devices),
                       (folder / file.string("the file of a module")).string()};
    for (const std::uint32_t device : program.devices) {
      if (placed[device]) file.fail(fmt::format("device {} has two modules", device));
      placed[device] = true;
    }
    programs.push_back(std::move(program));
  }
  const auto without = std::ranges::find(placed, false);
  if (without != placed.end()) {
    modules->fail(fmt::format("device {} has no module", without - placed.begin()));
  }
  return programs;
}

}  // namespace

std::vector<PlacedFile> program_files(const std::string& source, const std::string& text) {
  const JsonDocument document(source, text);
  return read_programs(source, document.root());
}

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
  if (const auto modules = root.find("modules"); modules && after.programs.empty()) {
    modules->fail("one module is given for all devices, expected none here");
  }
  const RelationReader reader(root, devices);
  ModuleRelation relation;
  relation.before = Form::Global;
  relation.is_given = true;
  const auto read = [&](const char* key, const std::vector<ArrayShape>& wholes,
                        const LocalTensors& locals) {
    const JsonValue given = root.member(key, "a relation");
    std::vector<TensorRelation> all(wholes.size());
    std::vector<bool> named(wholes.size());
    std::set<std::pair<std::uint32_t, std::uint32_t>> used;  // device and number
    const std::uint32_t different = after.programs.empty() ? 1 : devices.count();
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
      for (std::uint32_t device = 0; device < different; ++device) {
        const std::uint32_t local = all[number].number_on(device);
        if (local == kNone || used.emplace(device, local).second) continue;
        const std::uint32_t first = after.programs.empty() ? 0 : locals.of_program(device).first;
        entry.fail(fmt::format("tensor {} of device {} is related twice", local - first, device));
      }
    }
    const auto missing = std::find(named.begin(), named.end(), false);
    if (missing != named.end()) {
      given.fail(fmt::format("number {} of {} is missing", missing - named.begin(), wholes.size()));
    }
    for (std::uint32_t device = 0; device < different; ++device) {
      const auto [first, all_of_device] =
          after.programs.empty() ? std::pair(0U, static_cast<std::uint32_t>(locals.shapes.size()))
                                 : locals.of_program(device);
      for (std::uint32_t local = 0; local < all_of_device; ++local) {
        const bool is_token =
            !locals.are_inputs && locals.shapes[first + local].type == ElementType();
        if (is_token || used.contains({device, first + local})) continue;
        given.fail(fmt::format("tensor {} of device {} is not related, expected all {}", local,
                               device, all_of_device));
      }
    }
    return all;
  };
  relation.inputs = read("inputs", inputs_of(before), {after, true, inputs_of(after)});
  relation.outputs = read("outputs", outputs_of(before), {after, false, outputs_of(after)});
  relation.mesh = reader.axes();
  describe(relation, before);
  return relation;
}

}  // namespace p2::hlo
