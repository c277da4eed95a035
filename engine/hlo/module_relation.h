#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module.h"
#include "engine/hlo/sharding.h"

namespace p2::hlo {

/// Whether tensors of a module are global, before partitioning, or those of one device.
enum class Form : std::uint8_t { Global, Partitioned };

/// How devices hold an input or output of a module before partitioning, for people.
struct TensorTiling {
  std::string tensor;  ///< the parameter's name, or `output 0`
  std::string tiles;   ///< as tiling_words() says it
};

/// How a tensor is cut: `replicated`; `rows over data, columns over model`, where the axes of a
/// mesh have names, and `rows in 2` where not; of other ranks than two `dimension 0 over data`, and
/// `over data` of one. `axes`: by dimension, or empty.
std::string tiling_words(const std::vector<std::int64_t>& parts,
                         const std::vector<std::string>& axes);

/// A box of a whole tensor and where it lies in a device's own tensor.
struct Piece {
  std::vector<std::int64_t> of = {};  ///< its first index in the whole tensor
  std::vector<std::int64_t> at = {};  ///< its first index in the device's tensor
  std::vector<std::int64_t> sizes = {};
};

/// How devices hold one tensor of a module before partitioning: each has pieces of it. What several
/// devices hold is equal on all of them; elements of a device's tensor in no piece are arbitrary.
struct TensorRelation {
  ArrayShape whole = {};
  std::uint32_t number = 0;  ///< of the parameter or output of the partitioned module
  /// Of linked programs: by device, the number in the linked module; kNone where it is not there.
  std::vector<std::uint32_t> numbers = {};
  std::vector<std::vector<Piece>> pieces = {};  ///< by device
  /// The whole is the reduction of `parts` tensors, of which devices hold pieces; Unknown: it has
  /// one part, itself.
  Reducer reducer = Reducer::Unknown;
  std::uint32_t parts = 1;
  std::vector<std::uint32_t> part = {};  ///< by device; empty with one part
  /// An element is the reduction over the devices that hold it; otherwise all parts are held.
  bool parts_are_devices = false;
  std::string words = {};  ///< TensorTiling::tiles

  std::uint32_t part_of(std::uint32_t device) const { return part.empty() ? 0 : part[device]; }
  std::uint32_t number_on(std::uint32_t device) const {
    return numbers.empty() ? number : numbers[device];
  }
  /// All numbers that it has on devices.
  std::set<std::uint32_t> all_numbers() const {
    if (numbers.empty()) return {number};
    return {numbers.begin(), numbers.end()};
  }
  /// The parts whose reduction the element at `index` of the whole tensor is.
  std::vector<std::uint32_t> parts_of(const std::vector<std::int64_t>& index) const;
  /// The row-major number in the whole tensor of the element at `index` of a device's tensor;
  /// nothing for one in no piece.
  std::optional<std::int64_t> element_of(std::uint32_t device,
                                         const std::vector<std::int64_t>& index) const;
};

/// Boxes of a whole tensor that devices hold: one, or as many as variables have values; where they
/// begin, in the whole and on the device, and the device are affine functions of these.
struct HeldBoxes {
  struct Variable {
    std::int64_t extent = 1;
    std::vector<std::int64_t> strides = {};  ///< of all of `first`

    auto operator<=>(const Variable&) const = default;
  };
  std::uint32_t number = 0;  ///< of the output
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> first = {};  ///< in the whole, on the device, and the device
  std::vector<Variable> variables = {};
};

/// Every box and device is in one of them. In order of devices, runs of boxes with equal distances
/// become one, and runs of these.
std::vector<HeldBoxes> held_boxes(const TensorRelation& relation);

/// A box of a tensor that is the reduction of others, and the devices that hold it.
struct HeldBox {
  struct Place {
    std::uint32_t device = 0;
    std::vector<std::int64_t> at;
  };
  std::vector<std::int64_t> of;
  std::vector<std::int64_t> sizes;
  std::vector<Place> places = {};
};

/// Every box that devices hold, once, in order of its first index.
std::vector<HeldBox> reduced_boxes(const TensorRelation& relation);

/// Tiles of a tensor, the last ones without what pads them.
TensorRelation tiled(const Sharding& sharding, const ArrayShape& whole, std::uint32_t number,
                     const Devices& devices);

/// On which devices an input of a partitioned module is the same.
struct Replication {
  bool on_partitions = false;  ///< of a replica
  bool on_replicas = false;    ///< on the same partition

  /// The first device that holds the same.
  std::uint32_t first_holder(std::uint32_t device, const Devices& devices) const {
    const auto partitions = static_cast<std::uint32_t>(devices.partitions);
    return (on_replicas ? 0 : device / partitions) * partitions +
           (on_partitions ? 0 : device % partitions);
  }
};

/// How two modules are compared, and why not.
struct ModuleRelation {
  Form before = Form::Partitioned;
  Form after = Form::Partitioned;
  /// Of the global module's inputs and outputs, arrays in order. Empty if both modules have the
  /// same form.
  std::vector<TensorRelation> inputs = {};
  std::vector<TensorRelation> outputs = {};
  std::vector<TensorTiling> placements = {};  ///< the same, for people
  /// The axes of the devices, outermost first, ids row-major, where they have names.
  std::vector<MeshAxis> mesh = {};
  /// Stated by the user, who then also vouches that constants printed without their elements are
  /// equal where both modules have one of the same name and shape.
  bool is_given = false;
  /// The signatures do not fit in this relation.
  std::optional<std::string> mismatch = {};
  /// A mismatch of two modules that are both partitioned is a difference; any other may be a
  /// sharding that is not understood.
  bool mismatch_is_certain = false;
  /// Both modules may as well be partitioned: then inputs of different devices are independent.
  bool is_ambiguous = false;
  /// Of modules with reduced dimensions: the sizes of their inputs before that, of which elements
  /// at index 0 are left.
  std::vector<std::vector<std::int64_t>> drawn_sizes = {};
  /// Of with_replicated_inputs, by input. Empty: every device has inputs of its own.
  std::vector<Replication> replication = {};

  bool is_partitioned() const { return before == Form::Partitioned && after == before; }
  bool is_mixed() const { return before != after; }
  /// The module before is partitioned, and the one after is not.
  bool is_reversed() const { return is_mixed() && before == Form::Partitioned; }
};

/// Finds the relation from the shardings of the modules: those of the global module's parameters
/// and results, else those in the header of the partitioned one. No sharding means replicated.
ModuleRelation relation_of(const Module& before, const Module& after, const Devices& devices);

/// The relation of two partitioned modules for inputs that are the same on several devices, where
/// the module before says so: on all partitions by `sharding={replicated}` of a parameter, unless
/// `parameter_replication` is false, and on all replicas by `parameter_replication={true}`, as
/// XLA's passes have it (HloReplicationAnalysis). Nothing if it says so of no input.
std::optional<ModuleRelation> with_replicated_inputs(const ModuleRelation& relation,
                                                     const Module& before, const Devices& devices);

/// Of Attributes::shardy; empty where there is none of this name.
std::string shardy_attribute(const Instruction& instruction, const std::string& name);

/// The arrays of the parameters, and of the root.
std::vector<ArrayShape> inputs_of(const Module& module);
std::vector<ArrayShape> outputs_of(const Module& module);

/// Fills in `relation.placements`.
void describe(ModuleRelation& relation, const Module& global);

/// Reads a relation in JSON (docs/partition.md) between `before`, which is global, and `after`,
/// which devices run, or of which they run a linked program each. Throws InputError unless every
/// input and output of both modules is related and the pieces fit.
ModuleRelation read_relation(const std::string& source, const std::string& text,
                             const Module& before, const Module& after, const Devices& devices);

/// A program of a relation of programs, and the devices that run it, in ascending order.
struct PlacedFile {
  std::vector<std::uint32_t> devices;
  std::string file;  ///< in the folder of the relation, unless that names another one
};
/// The programs that a relation in JSON names; empty where all devices run one module. Throws
/// InputError unless every device has one.
std::vector<PlacedFile> program_files(const std::string& source, const std::string& text);

}  // namespace p2::hlo
