#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/hlo/equality/values.h"
#include "engine/hlo/flow.h"
#include "engine/hlo/module_relation.h"
#include "p2/limits.h"

namespace p2::hlo {

/// One array on one device in one of the compared flows.
struct Tensor {
  std::uint32_t flow = 0;
  Ref ref = {};
  std::uint32_t device = 0;

  auto operator<=>(const Tensor&) const = default;
};

/// Thrown where an opaque operation takes a tensor that has no class yet.
struct ClassNeeded {
  Tensor tensor;
};

/// A device, or devices as a function of variables: a number of ComparisonContext::places. What is
/// evaluated at them holds for each of them.
using Place = std::uint32_t;
constexpr Place kFirstPlace = Place{1} << 30U;  ///< numbers below are devices

/// The element of an array on a device at an index (Values::map).
struct Query {
  Ref ref = {};
  Place device = 0;
  std::uint32_t map = 0;

  bool operator==(const Query&) const = default;
};
struct QueryHash {
  std::size_t operator()(const Query& query) const {
    std::uint64_t state = query.ref.node;
    for (const std::uint32_t part : {query.ref.output, query.device, query.map}) {
      state = (state ^ part) * 0x9E3779B97F4A7C15ULL;
      state ^= state >> 31U;
    }
    return state;
  }
};
using Answers = std::unordered_map<Query, Value, QueryHash>;

/// Which devices are known to hold the same of every array of a flow: what they compute is
/// evaluated once for all of them.
class AlikeDevices {
 public:
  /// `relation`: of a partitioned module to one before partitioning; null for other modules.
  /// `replication`: of two partitioned modules, ModuleRelation::replication. All must outlive this.
  AlikeDevices(const Flow& flow, const ModuleRelation* relation,
               const std::vector<Replication>& replication);

  /// The numbers of the relation's inputs of which a parameter holds pieces.
  const std::vector<std::uint32_t>& inputs(std::uint32_t parameter) const {
    return inputs_.at(parameter);
  }
  /// Arrays with the same number are alike on the same devices.
  std::uint32_t number(Ref ref) const { return of_node_[ref.node]; }
  /// The first device that holds the same as `device`.
  std::uint32_t first(std::uint32_t number, std::uint32_t device) const {
    return firsts_[number][device];
  }

 private:
  using Firsts = std::vector<std::uint32_t>;

  template <typename Key>
  std::uint32_t by_key(const Key& key);
  std::uint32_t intern(Firsts firsts);
  std::uint32_t in_both(std::uint32_t a, std::uint32_t b);
  std::uint32_t of(const Node& node);
  std::uint32_t of_operands(const Node& node);
  std::uint32_t of_parameter(const Node& node);
  template <typename Key>
  std::uint32_t of_collective(const Node& node, std::uint32_t operands, const Key& key);

  const Flow& flow_;
  const ModuleRelation* relation_;
  const std::vector<Replication>& replication_;
  std::uint32_t devices_;
  std::vector<Firsts> firsts_;  ///< interned
  std::map<Firsts, std::uint32_t> numbers_;
  std::uint32_t all_ = 0;                                       ///< all devices are alike
  std::uint32_t none_ = 0;                                      ///< no two are
  std::map<std::uint32_t, std::vector<std::uint32_t>> inputs_;  ///< of the relation, by parameter
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> in_both_;
  std::map<std::tuple<Op, std::uint32_t, std::uint32_t>, std::uint32_t> of_collectives_;
  std::vector<std::uint32_t> of_node_;
};

/// Of linked programs: which operand of an OfOwnProgram the program of a device computes.
std::uint32_t operand_of_program(const Flow& flow, const Node& node, std::uint32_t device);

/// The state that all evaluations of one comparison share.
struct ComparisonContext {
  std::vector<const Flow*> flows;
  Fingerprints& fingerprints;
  const Limits& limits;
  bool ordered = false;  ///< floating-point addition is not associative
  /// Of a module before partitioning, flow 0, and a partitioned one, flow 1: what devices hold.
  /// Conversions between floating-point types then keep numbers. Null for two partitioned modules.
  const ModuleRelation* relation = nullptr;
  std::vector<Replication> replication = {};  ///< of two partitioned modules
  std::uint64_t most_work = 400'000'000;      ///< in units of spend()

  Values values = {};
  std::vector<Answers> fixed = {};       ///< by flow: memoized answers at fixed indices
  std::vector<AlikeDevices> alike = {};  ///< by flow
  /// Tensors of one class are equal in all elements.
  std::map<Tensor, std::uint32_t> classes = {};
  Interner opaque = {};                      ///< results of opaque operations
  std::set<std::string> uninterpreted = {};  ///< opcodes of uninterpreted operations
  std::set<std::string> assumed = {};        ///< constants whose elements are not in the text
  /// Of the module before partitioning, by node with one output: its element at `index`, a sum of
  /// atoms of which those that are functions of others have been given names. Where a value of
  /// either module is one of these functions, it is that atom, so that values stay small however
  /// deep the modules are. Fewer values are then found to be equal: those of modules that compute
  /// the same tensors on their way.
  struct NamedTensor {
    std::vector<Variable> index;
    Linear value;
  };
  std::vector<std::optional<NamedTensor>> named = {};
  bool names_tensors = false;
  Interner places = {};
  std::uint64_t work = 0;

  Place place_of(const Coordinate& devices) {
    if (devices.is_fixed()) return static_cast<Place>(devices.base);
    return kFirstPlace + places.intern(encode({devices}));
  }
  Coordinate devices_at(Place place) const {
    if (place < kFirstPlace) return {place, {}};
    return decode(places[place - kFirstPlace])[0];
  }

  /// Throws ClassNeeded.
  std::uint32_t class_of(const Tensor& tensor) const;
  /// Counts `units` of work. Throws LimitReached.
  void spend(std::uint64_t units);
};

/// Symbolic evaluation of a flow, demand-driven: an element of an array on a device is computed
/// from the elements of the operands that it depends on, backwards to the inputs. The index is an
/// affine map, so one evaluation covers a whole region. Iterative, with memoization: graphs may be
/// deep.
class Evaluation {
 public:
  Evaluation(ComparisonContext& context, std::uint32_t flow, Space& space)
      : context_(context),
        values_(context.values),
        space_(space),
        flow_(*context.flows[flow]),
        number_(flow) {}

  /// Throws Refinement, of a variable of `map`, if the region has no uniform value; ClassNeeded and
  /// LimitReached.
  Value evaluate(Ref ref, Place device, const IndexMap& map);
  /// Names the tensors of the flow, one before partitioning. Throws LimitReached.
  void name_tensors();
  /// Drops the answers that depend on variables, which are about to be reused.
  void clear();

 private:
  using Answer = std::optional<Value>;  ///< nothing: operands have been demanded first
  using Operands = std::optional<std::vector<Value>>;
  /// A reduction in progress: the parts of the operand's region, each with a uniform value.
  struct Reduction {
    std::vector<Region> parts;
  };

  // evaluation.cpp
  Answer compute(const Query& query);
  Answer interpret(const Query& query, const Node& node, const IndexMap& map);
  Answer demand(Ref ref, Place device, const IndexMap& map);
  /// The last coordinate is the device.
  Answer demand_at(Ref ref, const IndexMap& map);
  Answer named(Ref ref, const IndexMap& map);
  std::optional<Linear> name(std::uint32_t node, std::int64_t piece, Value value);
  Operands demand_all(const std::vector<Ref>& refs, Place device, const IndexMap& map);
  Place canonical_device(Ref ref, Place device);
  bool is_fixed(const Query& query) const {
    return query.device < kFirstPlace && hlo::is_fixed(values_.map(query.map));
  }
  Value opaque(const Query& query, const Node& node, const IndexMap& map);
  std::vector<std::int64_t> opaque_operands(const Query& query, const Node& node);
  bool refine_reduction(const Refinement& refinement);

  // evaluation_movement.cpp: functions of devices, and inputs of related modules
  using OfDevice = std::function<std::vector<std::int64_t>(std::uint32_t)>;
  std::variant<IndexMap, Refinement> affine_or_not(Place devices, const OfDevice& function) const;
  IndexMap affine(Place devices, const OfDevice& function) const;
  [[noreturn]] void refine_devices(const Coordinate& devices) const;
  void require_one_device(Place devices) const;
  const IndexMap& of_collective(const Query& query, const Node& node, std::uint32_t what,
                                const OfDevice& function);
  std::vector<Region> members_of_group(const Query& query, const Node& node, const IndexMap& map);
  std::uint32_t own_operand(const Query& query, const Node& node) const;
  Answer parameter(const Query& query, const Node& node, const IndexMap& map);
  const IndexMap& piece_of(const Query& query, std::uint32_t parameter, std::uint32_t number,
                           std::size_t piece);
  bool is_held(const TensorRelation& relation, std::uint32_t device, const IndexMap& map);
  Value arbitrary(const Query& query, const IndexMap& map);
  Value global_input(const Node& node, std::uint32_t number, const IndexMap& map);

  // evaluation_movement.cpp: slices, reshapes, …, and collectives
  Answer slice(const Query& query, const Node& node, const IndexMap& map);
  Answer dynamic_slice(const Query& query, const Node& node, IndexMap map);
  Answer update_slice(const Query& query, const Node& node, IndexMap map);
  Answer reorder(const Query& query, const Node& node, const IndexMap& map);
  Answer concatenate(const Query& query, const Node& node, IndexMap map);
  Answer pad(const Query& query, const Node& node, IndexMap map);
  Coordinate offset(Value value, ElementType type, std::int64_t max);
  Answer collective(const Query& query, const Node& node, IndexMap map);
  Answer reduce_members(const Query& query, const Node& node, const IndexMap& map);
  Answer all_to_all(const Query& query, const Node& node, IndexMap map);

  // evaluation_arithmetic.cpp: constants and elementwise operations
  Answer constant(const Query& query, const Node& node, const IndexMap& map);
  bool is_finite(std::uint32_t fingerprint, const Literal& literal);
  Answer fold(const Node& node, const std::vector<Value>& operands);
  Answer fold_numbers(const Node& node, const std::vector<Number>& numbers);
  Answer convert(const Node& node, Value value);
  Answer elementwise(const Query& query, const Node& node, const IndexMap& map);
  Value arithmetic(const Node& node, const std::vector<Value>& operands);
  Value uninterpreted(const Node& node, const std::vector<Value>& operands);
  Value combine(const Node& node, Reducer reducer, std::vector<Value> members, ElementType type);
  Answer add(const std::vector<Value>& members, ElementType type);
  Answer multiply(const std::vector<Value>& members, ElementType type);
  Value add_in_order(const std::vector<Value>& members);
  bool keeps_order(ElementType type) const { return context_.ordered && type.is_float(); }
  bool fits(Value value, ElementType type) const;
  bool is_element(Value value, ElementType type) const;

  // evaluation_reduce.cpp: reductions over dimensions of a tensor
  Answer reduce(const Query& query, const Node& node, const IndexMap& map);
  Answer dot(const Query& query, const Node& node, const IndexMap& map);
  template <typename Member>
  Operands members_of(const Reduction& reduction, const Member& member);
  Operands bind_all(Reducer reducer, ElementType type, const std::vector<Value>& members,
                    const Reduction& reduction);
  Answer unroll(const Query& query, Reduction& reduction);
  std::int64_t indices(const Region& part) const;
  bool is_neutral(const Node& node, Value initial) const;
  std::vector<Coordinate> bound_coordinates(const std::vector<std::int64_t>& sizes,
                                            const IndexMap& map, Region& part);
  Region operand_region(const Query& query, const Node& node, const IndexMap& map);
  Region dot_region(const Query& query, const Node& node, const IndexMap& map);
  IndexMap with_device(const Query& query, IndexMap map) const {
    map.push_back(context_.devices_at(query.device));
    return map;
  }
  std::optional<Value> bind(Reducer reducer, ElementType type, Value value, const Region& part);
  std::optional<Value> bind_term(Reducer reducer, ElementType type, Value value,
                                 const Region& part);
  std::optional<Value> bind_atom(Reducer reducer, const Atom& atom, const Region& part,
                                 std::int64_t& times) const;

  ComparisonContext& context_;
  Values& values_;
  Space& space_;
  const Flow& flow_;
  std::uint32_t number_;
  Answers answers_;
  std::vector<Query> demanded_;  ///< by the query that is being computed
  std::vector<Query> stack_;
  std::unordered_map<Query, Reduction, QueryHash> reductions_;
  /// What devices have been found to be, by AlikeDevices::number.
  std::map<std::pair<std::uint32_t, Place>, Place> canonical_;
  std::map<std::tuple<std::uint32_t, Op, std::uint32_t, Place>, IndexMap> of_collectives_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::size_t, Place>, IndexMap> pieces_;
  std::unordered_map<std::uint32_t, bool> finite_constants_;  ///< by fingerprint
};

}  // namespace p2::hlo
