#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "proofs/kernel/xla/interned.h"
#include "proofs/kernel/xla/interpreter.h"
#include "proofs/kernel/xla/relation_tensors.h"

namespace p2::kernel::xla {

// Of two modules, one of which is not partitioned, the relation of every array that devices hold
// to a whole tensor (docs/certificates.md). Where both are partitioned, every device has a tensor
// of its own in place of the whole one.

/// One array of a module without calls and tuples.
struct Node {
  const Computation* computation = nullptr;
  const Instruction* instruction = nullptr;
  std::vector<std::size_t> operands;
  Shape shape;
  std::size_t part = 0;      ///< which of several results
  bool is_function = false;  ///< whether it is one of its operands, and nothing else
  /// Of a gather or scatter: what is promised of its indices, those of batches among them.
  bool has_sorted_indices = false, has_unique_indices = false;
  bool promises() const { return has_sorted_indices || has_unique_indices; }
};

/// A `while` loop of a module without calls and tuples: nodes, for every array that an iteration
/// changes.
struct Loop {
  std::size_t begin = 0, end = 0;      ///< the nodes that are executed in every iteration
  std::vector<std::size_t> first;      ///< before the loop
  std::vector<std::size_t> variables;  ///< at the begin of an iteration; nodes of their own
  std::vector<std::size_t> next;       ///< after an iteration
  std::vector<std::size_t> results;    ///< after the loop; nodes of their own
  std::size_t condition = 0;

  bool contains(const Loop& other) const { return begin <= other.begin && other.end <= end; }
};

/// A module with calls, fusions and one iteration of every loop in place. Operands stand before
/// their uses.
struct FlatModule {
  /// Messages are understood in one of several programs only (programs.h), loops in none of these.
  /// Without `has_promises` gathers and scatters that promise something are not.
  explicit FlatModule(const Module& source, Budget& budget, bool has_others = false,
                      bool has_promises = true);

  const Module& module;
  const bool is_one_of_several, may_promise;
  std::vector<Node> nodes;
  std::vector<std::size_t> inputs, outputs;
  std::vector<Loop> loops;  ///< inner ones first
  struct LoopArray {
    std::size_t loop = 0, number = 0;
  };
  std::map<std::size_t, LoopArray> variables, results;      ///< by their nodes
  std::vector<std::shared_ptr<const Instruction>> written;  ///< in place of others
  /// By node: what it is besides its operands, if its shape was seen to follow from theirs.
  std::vector<const Form*> forms;
  std::deque<Form> different_forms;
  /// Of every instruction of the entry its first array, if it makes one.
  std::vector<std::optional<std::size_t>> of_entry;

  /// The loops that a node is in, inner ones first.
  std::vector<std::size_t> loops_of(std::size_t node) const;
};

/// The transposes and the reshape that a bitcast of an array of shape `from` is: elements keep
/// their order in memory. Nothing where memory is not taken so.
std::optional<std::vector<Instruction>> steps_of_bitcast(const Instruction& bitcast,
                                                         const Shape& from);

/// Those of a node's operands.
std::vector<Index> sizes_of(const std::vector<Node>& nodes, const Node& node);
/// `{1,2}`
std::string text_of(const Index& list);
/// `{size=3x3 pad=0_0x1_1}`, as XLA prints it: without what is usual.
std::string window_text(const std::vector<WindowDimension>& window);
/// A node like another one, of an instruction that is written in its place.
Node written(FlatModule& flat, const Node& like, Instruction instruction);
/// Adds a node, and returns its number.
using AddNode = std::function<std::size_t(Node)>;
/// A gather or scatter at indices that are put together or reshaped, by those that they are made
/// of; with nodes that `add` adds. Nothing for any other.
std::optional<std::size_t> add_without_expansion(FlatModule& flat, const Node& node,
                                                 const AddNode& add);

/// Of a scatter of one element for every window, to where the window has its first greatest one, of
/// which XLA's expansion looks for the indices, the select-and-scatter that it was; and that one,
/// without the computation that selects, too. With nodes that `add` adds; nothing for any other.
std::optional<std::size_t> add_selecting_scatter(FlatModule& flat, const Node& node,
                                                 const AddNode& add);

/// Of sums of what a convolution makes of every batch and feature, where these have one number, the
/// convolution with as many groups of batches; with nodes that `add` adds. Nothing for any other.
std::optional<std::size_t> add_grouped_convolution(FlatModule& flat, const Node& node,
                                                   const AddNode& add);

/// Whether an instruction is a constant that changes nothing where `op` combines it with others.
bool is_neutral_to(const std::optional<Op>& op, const Instruction& constant);

/// Of windows of what is padded by the operation's neutral element, between elements, too, along
/// dimensions along which windows are one element apart, the same of what a pad makes; added by
/// `add`. Nothing for any other.
std::optional<std::size_t> add_padded_windows(FlatModule& flat, const Node& node,
                                              const AddNode& add);

/// Of a reduction of what windows side by side reduce likewise, from the operation's neutral
/// element, the reduction of what they are windows of; added by `add`. Nothing for any other.
std::optional<std::size_t> add_whole_reduction(FlatModule& flat, const Node& node,
                                               const AddNode& add);

/// Of an all-reduce of arrays that are concatenated, as XLA's backend for GPUs joins those of
/// gradients, the concatenation of theirs; with nodes that `add` adds. Nothing for any other.
std::optional<std::size_t> add_parted_all_reduce(FlatModule& flat, const Node& node,
                                                 const AddNode& add);
/// What a slice of a concatenation is all of. Nothing for any other.
std::optional<std::size_t> part_of_concatenation(const FlatModule& flat, const Node& node);

/// Of a maximum of arrays that are padded along a dimension with what is neutral to it, so that
/// every index is one's own, their concatenation; added by `add`. Nothing for any other.
std::optional<std::size_t> add_joined_pads(FlatModule& flat, const Node& node, const AddNode& add);

/// Of a concatenation of all that an all-to-all of several arrays makes, in their order, the
/// all-to-all of the arrays that is concatenated; with nodes that `add` adds. Nothing for any
/// other.
std::optional<std::size_t> add_joined_exchange(FlatModule& flat, const Node& node,
                                               const AddNode& add);

/// Of a convolution whose windows are one element along a dimension, or all of them, or meet one
/// element of their own, the dot that it is;
/// with nodes that `add` adds. Nothing for any other.
std::optional<std::size_t> add_as_dot(FlatModule& flat, const Node& node, const AddNode& add);

/// Of a reduction of two arrays, of what groups gather of the same reductions, the results of one
/// of what they gather, where its function chooses in whatever order; with nodes that `add` adds.
/// Nothing for any other.
std::optional<std::vector<std::size_t>> add_joined_reduction(FlatModule& flat, const Node& node,
                                                             const AddNode& add);

/// Of a loop with an array of which nothing is known before it, if all its uses choose a constant
/// in the first iteration: lets it begin with the constant, by two nodes from `reserved` on, and
/// returns the choices, which are the array then. Nothing for any other.
std::vector<std::size_t> begin_before(FlatModule& flat, Loop& loop, std::size_t array,
                                      std::size_t reserved);

/// Makes an array of a loop of every choice, in the first iteration, of an array as it is, and in
/// others of what is made of that alone: after an iteration, it is what is made, by nodes that
/// `add` adds, of the array that is left.
void begin_at_choices(FlatModule& flat, Loop& loop, Budget& budget, const AddNode& add);

/// Where a part begins or ends that is written for one device.
bool is_border(const Instruction& instruction);

/// Elements [at, at + size) along a dimension of a device's array are [of, of + size) of the whole.
struct Segment {
  std::int64_t at = 0, of = 0, size = 0;
  auto operator<=>(const Segment&) const = default;
  void add_to(Hasher& hash) const { hash.add(at).add(of).add(size); }
};
using Segments = std::vector<Segment>;

/// Where indices along one dimension are in the whole tensor, on every device. Without devices:
/// anywhere, the array and the tensor have the same elements all along the dimension.
struct Place {
  std::int64_t size = 0, whole = 0;
  std::vector<Segments> devices;
  auto operator<=>(const Place&) const = default;
  void add_to(Hasher& hash) const { hash.add(size).add(whole).add(devices); }
};

/// The whole is a reduction of what devices hold. Devices in one class of `groups` have parts that
/// together make up the same elements, those in one class of `copies`, which is smaller, have the
/// same part; one of every such class counts.
struct Partial {
  Op op = Op::Add;
  Numbering groups, copies;
  auto operator<=>(const Partial&) const = default;
  void add_to(Hasher& hash) const {
    hash.add(static_cast<std::uint8_t>(op)).add(groups).add(copies);
  }
};

/// One interval of indices along every dimension.
struct Box {
  Index from, sizes;

  bool meets(const Box& other) const;
  auto operator<=>(const Box&) const = default;
  void add_to(Hasher& hash) const { hash.add(from).add(sizes); }
};

/// Of every device, boxes of the indices that something is added up over; disjoint, ascending.
struct Parts {
  Index space;  ///< the sizes of all indices
  std::vector<std::vector<Box>> devices;
  auto operator<=>(const Parts&) const = default;
  void add_to(Hasher& hash) const { hash.add(space).add(devices); }
};

/// Numbers for places and partials, and what follows from them.
class Places {
 public:
  explicit Places(std::size_t devices) : devices_(devices) {}

  std::size_t free(std::int64_t size, std::int64_t whole) { return intern({size, whole, {}}); }
  std::size_t identity(std::int64_t size);
  /// Ascending in the array, within its bounds and those of the whole, joined where they touch.
  std::size_t segments(std::int64_t size, std::int64_t whole, std::vector<Segments> devices);
  /// Of every device the elements from its start on, or of all from one, moved by `shift` in the
  /// whole.
  std::size_t sliced(std::size_t place, const Index& starts, std::int64_t size, std::int64_t shift,
                     std::int64_t whole);
  /// Of places that are not free, one array after the other: of one tensor, or of tensors of which
  /// one follows the other, too.
  std::size_t concatenated(const std::vector<std::size_t>& places, bool is_one);
  /// The same, not free: where it may be anywhere it begins at 0.
  std::optional<std::size_t> fixed(std::size_t place);
  bool is_identity(std::size_t place);
  bool is_free(std::size_t place) const { return places_.at(place).devices.empty(); }
  /// Whether all elements of all devices' arrays are somewhere in the whole.
  bool is_total(std::size_t place) const;
  /// What holds of both; nothing where they say different things.
  std::optional<std::size_t> meet(std::size_t a, std::size_t b) const;
  const Place& at(std::size_t place) const { return places_.at(place); }
  std::size_t devices() const { return devices_; }

  /// Devices in one class have the same places.
  Numbering classes(const std::vector<std::size_t>& places) const;
  /// The classes in which both are the same.
  static Numbering common(const Numbering& a, const Numbering& b);
  std::size_t partial(Partial partial);
  const Partial& partial_at(std::size_t number) const { return partials_.at(number); }
  /// In the classes in which `also` is the same, too; nothing where these do not have all parts.
  std::optional<std::size_t> refined(std::size_t partial, const Numbering& also);
  /// The same in the classes of places.
  std::optional<std::size_t> refined(std::size_t partial, const std::vector<std::size_t>& places);
  /// Of a reduction along dimensions that are at `reduced`: whether every device has all of them
  /// (a value without value), the classes that have them together, or nothing.
  using Reduced = std::optional<std::optional<std::size_t>>;
  Reduced reduced(Op op, const std::vector<std::size_t>& kept,
                  const std::vector<std::size_t>& reduced, Budget& budget);
  /// What is left after a reduction over groups of devices; as reduced().
  Reduced summed(std::size_t partial, const std::vector<std::vector<std::size_t>>& groups,
                 Budget& budget);

  // relation_grouping.cpp
  /// Of several dimensions, places of all their elements, in row-major order, as one; nothing where
  /// these are too many segments.
  std::optional<std::vector<Segments>> joined(const std::vector<std::size_t>& places,
                                              Budget& budget);
  /// Places along dimensions of these sizes, of array and tensor, that have the same elements in
  /// row-major order.
  std::optional<std::vector<std::size_t>> split(const std::vector<std::size_t>& places,
                                                const Index& own, const Index& sizes,
                                                Budget& budget);

  // relation_parts.cpp
  /// Nothing where a device has an index twice.
  std::optional<std::size_t> parts(Parts parts, Budget& budget);
  /// What devices have of these dimensions; nothing where an element is anywhere, or twice.
  std::optional<std::size_t> parts_along(const std::vector<std::size_t>& places, Budget& budget);
  const Parts& parts_at(std::size_t number) const { return parts_.at(number); }
  /// Both; nothing where a device has an index in both.
  std::optional<std::size_t> joined(std::size_t a, std::size_t b, Budget& budget);
  /// Whether the parts of devices with the same places are all; as reduced().
  Reduced complete(std::size_t parts, const std::vector<std::size_t>& places, Budget& budget,
                   Op op = Op::Add);
  /// The parts of all members of groups.
  std::optional<std::size_t> joined(std::size_t parts,
                                    const std::vector<std::vector<std::size_t>>& groups,
                                    Budget& budget);

 private:
  std::size_t intern(Place place);
  Reduced new_sums(std::size_t partial, const std::vector<std::vector<std::size_t>>& groups,
                   Budget& budget);
  std::size_t devices_;
  Interned<Place> places_;
  std::vector<Numbering> classes_;
  Interned<Partial> partials_;
  std::map<std::vector<std::size_t>, Reduced> reductions_;
  std::map<std::pair<std::size_t, std::vector<std::size_t>>, std::optional<std::size_t>> refined_;
  std::map<std::int64_t, std::size_t> identities_;
  // Of sums over groups, by what is summed.
  template <typename Result>
  using ByGroups =
      std::map<std::size_t, std::vector<std::pair<std::vector<std::vector<std::size_t>>, Result>>>;
  ByGroups<Reduced> sums_;
  ByGroups<std::optional<std::size_t>> joined_groups_;
  Interned<Parts> parts_;
  std::map<std::vector<std::size_t>, std::optional<std::size_t>> parts_along_;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, Index>, std::size_t>
      sliced_;
  std::map<std::pair<std::size_t, std::size_t>, std::optional<std::size_t>> joined_;
  std::map<std::pair<std::vector<std::size_t>, bool>, std::size_t> concatenated_;
  std::map<std::vector<std::size_t>, Reduced> completions_;
};

/// What an array is of the elements e of a tensor, by numbers that every device knows.
struct View {
  enum class Kind : std::uint8_t {
    Minus,   ///< e − from, in the type of e
    Within,  ///< from ≤ e < to; if `is_not`, not that
    Where,   ///< the elements of the tensor where from ≤ e < to, for those e of the tensor `of`
    Only,    ///< the elements of the tensor, of any type, where from is not 0; elsewhere zero
  };
  Kind kind = Kind::Minus;
  bool is_not = false;
  Index from, to;      ///< by device
  std::size_t of = 0;  ///< of Where: of the same sizes, at the same places
};
/// Where an index of Within has no bound.
constexpr std::int64_t kNoBound = std::int64_t{1} << 62U;

/// The tensor is the sum of others over indices; the array of the elements of `summand`, which is
/// any of them, over those indices that a device has.
struct Share {
  std::size_t summand = 0;
  std::size_t parts = 0;  ///< in Places
  auto operator<=>(const Share&) const = default;
};

/// An array of a node is, on every device, the elements of a tensor at these places; or what one of
/// `partial`, `view` and `share` says, of which no fact has two.
struct Fact {
  std::size_t node = 0;
  std::size_t tensor = 0;
  std::vector<std::size_t> places;     ///< of every dimension
  std::optional<std::size_t> partial;  ///< nothing: the elements themselves
  std::optional<View> view = {};       ///< nothing: the elements themselves
  std::optional<Share> share = {};     ///< nothing: the elements themselves
};

/// `add`, `maximum`, `minimum` or `multiply`.
Op reducer_named(const std::string& name);

/// How devices hold one tensor of a module that is not partitioned: a box of it, and where.
struct Piece {
  std::size_t device = 0;
  std::uint32_t part = 0;
  Index of, at, sizes;
};
struct Relation {
  std::size_t number = 0;  ///< of the input or output of the other module
  std::optional<Op> reducer;
  std::uint32_t parts = 1;
  std::vector<Piece> pieces;
};

/// The tensors that a module which is not partitioned computes.
class WholeModule {
 public:
  /// It may run on all devices, too, each of which has inputs of its own, but for those that are
  /// the `same` on all. What a module promises is taken as given where it `is_before`.
  WholeModule(const Module& module, const Premises& premises, const Devices& devices,
              bool has_own_inputs, bool is_before, Budget& budget, std::set<std::size_t> same = {});

  /// An array that a loop changes: tensors.
  struct Variable {
    std::size_t loop = 0, tensor = 0, first = 0, next = 0, result = 0;
  };
  /// Where a manual part begins or ends: the tensor that is cut or put together, what is made of
  /// it, and where that is on every device.
  struct Border {
    std::size_t from = 0, to = 0;
    std::vector<std::size_t> places;
    bool is_cut = false;
  };
  /// A gather or scatter at indices that are promised to be sorted, or unique.
  struct Promise {
    bool is_of_order = false;
    Form form;  ///< without the sizes of windows
    std::size_t indices = 0;
    Index operand, updates;          ///< sizes, of whole tensors
    std::vector<std::size_t> loops;  ///< that it is made in, inner ones first
    auto operator<=>(const Promise&) const = default;
  };
  /// For which inputs, in words: of others it is not defined what the module computes.
  std::string words_of_inputs() const;
  /// What a node would promise of these whole tensors, in loops.
  static std::set<Promise> promises_of(const FlatModule& flat, std::size_t number,
                                       const std::vector<std::size_t>& operands,
                                       const std::vector<std::size_t>& loops,
                                       const Tensors& tensors);

  Tensors tensors;
  std::vector<Shape> inputs;
  std::vector<std::size_t> outputs;
  std::vector<Variable> variables;
  std::vector<std::size_t> conditions;  ///< of loops
  std::vector<Border> borders;          ///< in `places`
  std::set<Promise> promises;
  std::map<std::size_t, std::string>
      names;  ///< of tensors, by the first instruction that makes one
  std::map<std::size_t, std::string>
      names_of_entry;  ///< by the first instruction of the entry whose first array it is
  Places places;
  const bool are_own;                       ///< whether inputs are
  const std::set<std::size_t> same_inputs;  ///< that are not
  const bool may_promise;                   ///< whether what the modules promise is understood
  bool has_own = false;                     ///< whether devices may have tensors of their own

  // relation_manual.cpp
  /// By device, the number of the one that a collective-permute takes the array from, from 1; 0
  /// where no device sends one.
  std::vector<std::size_t> sources_of(const Node& node);
  /// What a collective of `module` makes of a tensor that every device has all elements of; along
  /// another dimension than it says, or as another collective of its groups, if these are given.
  std::optional<std::size_t> exchange_of(const Module& module, const Node& node,
                                         std::size_t operand,
                                         std::optional<std::size_t> dimension = {},
                                         const std::string& as = "");
  std::optional<std::size_t> scattered(const Module& module, const Node& node, std::size_t operand,
                                       std::size_t along);
  std::vector<Index> first_indices(const std::vector<std::vector<std::size_t>>& groups,
                                   std::int64_t size) const;
  std::optional<std::size_t> gathered_slices(const Node& node, std::size_t operand,
                                             std::size_t along);
  /// Integers that devices know of each other, if they have different ones: relation.cpp.
  std::optional<std::size_t> own_numbers(const Value& value);
  /// The number of a device, if it is one.
  std::optional<std::size_t> number_of_device(const Node& node);

 private:
  std::vector<std::size_t> relate(const FlatModule& flat);
  bool loops_vary();
  std::set<std::size_t> finite_nodes(const FlatModule& flat) const;
  std::optional<std::size_t> manual_tensor(const FlatModule& flat, const Node& node,
                                           const std::vector<std::size_t>& made);
  Devices devices_;
  Budget& budget_;
  std::unique_ptr<Arithmetic> numbers_;
  Interpreter interpreter_;
  std::set<std::size_t> varying_;  ///< variables that are not what they begin with is, everywhere
};

/// The devices that run a module: those with these of its ids, ascending.
struct Runners {
  Devices all;
  std::vector<std::size_t> ids;

  explicit Runners(const Devices& devices);
  Runners(const Devices& devices, std::vector<std::size_t> own) : all(devices), ids(own) {}
};

/// What the members of a collective have afterwards.
struct Communication {
  std::string opcode;
  std::vector<std::vector<std::size_t>> groups = {};
  std::vector<std::optional<std::size_t>> sources = {};  ///< by device, of a collective-permute

  /// Whether groups are of one size, and every device is in one.
  bool has_even_groups = false;

  /// Sets that for so many devices.
  void look_at_groups(std::size_t devices);
};

/// How devices hold an input, counted as those of a module are: the same where the same object.
struct HeldInput {
  std::size_t number = 0;
  std::shared_ptr<const Relation> relation;

  HeldInput(std::size_t number_held, std::shared_ptr<const Relation> held)
      : number(number_held), relation(std::move(held)) {}
  HeldInput(const Relation& held)
      : number(held.number), relation(std::make_shared<const Relation>(held)) {}
};

/// Derives facts about the arrays of a module that is executed on all devices, one by one.
class RelatedModules {
 public:
  /// Relations of inputs by the whole module's; nothing for one that this module has not. Devices
  /// are counted by Runners::ids. `local` and `whole` have to last. One of several has `shared`
  /// places with others that run on as many devices.
  RelatedModules(WholeModule& whole, const Module& local, const Runners& runners,
                 const std::vector<std::optional<HeldInput>>& inputs, Budget& budget,
                 std::shared_ptr<Places> shared = nullptr);

  /// The fact about a node that follows from those of its operands, by the rule of its operation.
  /// What a hint says depends on the operation: sizes of the whole tensor (docs/certificates.md).
  /// Nothing where no rule applies.
  std::optional<Fact> follows(std::size_t node, const std::vector<std::size_t>& facts,
                              const Index& hint);
  /// The number of a fact; `fact` has to follow.
  std::size_t add(Fact fact);
  /// Whether a fact about an output says what the relation says of it.
  bool answers(std::size_t fact, std::size_t output, const Relation& relation) const;

  const FlatModule& local() const { return local_; }
  const std::deque<Fact>& facts() const { return facts_; }
  const Tensors& tensors() const { return tensors_; }
  const Places& places() const { return places_; }
  Places& places() { return places_; }
  std::size_t output(std::size_t number) const { return whole_.outputs.at(number); }
  /// Facts from this number on are forgotten.
  void forget(std::size_t count);
  const std::vector<WholeModule::Variable>& variables() const { return whole_.variables; }
  std::size_t condition(std::size_t loop) const { return whole_.conditions.at(loop); }
  /// Whether a fact about what a loop begins with, or makes in an iteration, says of `tensor` what
  /// is assumed.
  bool is_assumed(const Fact& fact, std::size_t tensor, const Fact& assumed) const;
  /// Of the module that is not partitioned.
  const std::vector<WholeModule::Border>& borders() const { return borders_; }
  /// Whether devices may have tensors of their own.
  bool has_own() const { return has_own_; }
  const std::map<std::size_t, std::string>& names() const { return whole_.names; }
  const std::map<std::size_t, std::string>& names_of_entry() const { return whole_.names_of_entry; }
  /// Without its share where that is all there is.
  std::optional<Fact> settled(Fact fact);
  /// A fact that keeps what every rule has to keep.
  std::optional<Fact> checked(std::size_t node, std::optional<Fact> fact) const;
  /// Who communicates with whom; null where devices communicate that do not run this module.
  const Communication* communication(const Node& node);
  /// What a collective makes of a fact about devices that `places` are of.
  std::optional<Fact> communicated(Places& places, const Communication& communication,
                                   const Node& node, const Fact& fact) const;
  /// Integers of which every device knows what they are.
  bool has_numbers(std::size_t node) const { return !numbers(node).devices.empty(); }
  const Value& numbers(std::size_t node) const { return known_.at(node); }

 private:
  using Facts = std::vector<const Fact*>;
  /// Where all devices have an input, and of which reduction it is the value.
  struct Holding {
    std::vector<std::size_t> places;
    std::optional<std::size_t> partial;
  };
  std::optional<Holding> holding(const Index& own, const Index& whole, const Relation& relation);
  void relate_inputs(const std::vector<std::optional<HeldInput>>& inputs);
  void execute_numbers();
  std::optional<Fact> of_numbers(std::size_t number, const Index& hint);
  std::optional<Fact> rule_of(std::size_t number, const Facts& facts, bool is_choice,
                              const Index& hint);
  std::optional<Fact> collective(const Node& node, const Fact& fact);  // relation_places.cpp
  std::optional<Fact> seen_as(const Fact& fact, const Index& hint);    // relation_manual.cpp
  // relation_exchange.cpp
  std::optional<Fact> seen_in(const Node& node, const Facts& facts, const Index& hint);
  std::optional<Fact> in_padding(const Fact& fact, const Index& hint,
                                 const std::vector<bool>& has_zeros);
  std::optional<Fact> sent_in_padding(const Node& node, const Fact& fact, const Index& hint);
  std::optional<Fact> counted_from(const Fact& fact, const Index& numbers);
  std::optional<Fact> chosen_by_index(const Facts& facts, const Index& hint);
  static bool are_alike(const Place& place, const Communication& communication);
  std::optional<Fact> exchanged(const Communication& communication, const Node& node,
                                const Fact& fact);
  std::optional<Fact> gathered_across(const Communication& communication, const Node& node,
                                      const Fact& fact);
  // relation_loops.cpp
  std::optional<Fact> assumed(std::size_t node, const Facts& facts, const Index& hint);
  std::optional<Fact> after_loop(std::size_t node, const std::vector<std::size_t>& facts,
                                 const Index& hint);
  std::optional<std::size_t> variable_of(std::size_t tensor) const;
  std::optional<std::size_t> paired(std::size_t loop) const;
  // relation_parts.cpp
  std::optional<Fact> shared(const Node& node, const Form& form, const Facts& facts,
                             std::vector<std::size_t> places,
                             const std::vector<std::size_t>& along);
  std::optional<Fact> of_shares(std::size_t number, const Facts& facts, const Index& hint);
  // relation_rules.cpp
  std::optional<Fact> elementwise(const Node& node, const Form& form, const Facts& facts);
  std::optional<Fact> moved(const Node& node, const Form& form, const Facts& facts,
                            const Index& hint);
  std::optional<Fact> reshaped(const Node& node, const Fact& fact, const Index& sizes);
  std::optional<Fact> gathered_view(const Node& node, const Fact& fact);
  std::optional<Fact> broadcast_with(const Node& node, const Form& form, const Fact& fact,
                                     const Index& hint);
  std::optional<Fact> seen_as_sum(const Node& node, const Fact& fact, const Index& hint);
  std::optional<Fact> reshaped_by_parts(const Node& node, const Fact& fact, const Index& hint);
  std::optional<Index> as_broadcast(const Index& own, const Fact& fact, const Index& sizes) const;
  std::optional<Fact> within_padding(const Node& node, const Form& form, const Fact& fact);
  std::optional<Fact> sliced(const Node& node, const Form& form, const Fact& fact,
                             const Index& hint);
  std::optional<Fact> joined(const Node& node, const Form& form, const Facts& facts,
                             const Index& hint);
  std::optional<Fact> dot(const Node& node, const Form& form, const Facts& facts);
  std::optional<Fact> product(const Node& node, const Form& form, const Facts& facts,
                              std::vector<std::size_t> places, std::vector<std::size_t> along);
  std::optional<Fact> reduce(const Node& node, const Form& form, const Facts& facts);
  std::optional<Fact> reduced_to(const Node& node, const Form& form, const Facts& facts,
                                 const Index& sizes);
  // relation_functions.cpp
  std::optional<std::size_t> places_of_windows(const WindowDimension& window, std::size_t place);
  std::optional<std::size_t> places_of_tiles(const WindowDimension& window, std::size_t place,
                                             std::size_t windows);
  std::optional<std::size_t> places_of_cut_window(const WindowDimension& window, std::size_t input,
                                                  std::size_t kernel);
  std::optional<Fact> applied(const Node& node, Form form, const Facts& facts);
  // relation_indexing.cpp
  std::optional<Fact> dynamic(const Node& node, const Form& form, const Facts& facts);
  bool is_promised(std::size_t number, const std::vector<std::size_t>& facts);
  std::optional<Fact> gather(const Node& node, Form form, const Facts& facts);
  std::optional<Fact> scatter(const Node& node, const Form& form, const Facts& facts,
                              const Index* only = nullptr);
  std::optional<Fact> same(const Node& node, const Form& form, const Facts& facts);
  std::optional<Fact> viewed(const Node& node, const Form& form, const Facts& facts,
                             const Index& hint);
  std::optional<Fact> chosen(const Node& node, const Facts& facts);
  std::optional<Fact> by_number(const Node& node, const Form& form, const Fact& fact);
  std::optional<Fact> combined(const Node& node, const Form& form, const Facts& facts);
  std::optional<Fact> gathered(const Node& node, Form form, const Fact& x, const Fact& indices);
  std::optional<Fact> scattered(const Node& node, const Form& form, const Facts& facts);
  std::optional<Index> offsets(std::size_t place, const std::string& kind) const;
  bool is_within(std::size_t tensor, std::int64_t size) const;
  std::optional<Index> starts(std::size_t node, std::int64_t most) const;
  std::optional<Index> one_number(std::size_t node) const;
  std::optional<Fact> made(const Node& node, const Form& form, const Facts& facts,
                           std::vector<std::size_t> places,
                           std::optional<std::size_t> partial = {});

  Budget& budget_;
  FlatModule local_;
  WholeModule& whole_;
  Tensors& tensors_;
  Runners runners_;
  std::shared_ptr<Places> shared_;
  Places& places_;
  bool has_own_;                              ///< whether devices may have tensors of their own
  std::vector<WholeModule::Border> borders_;  ///< in places_
  std::unique_ptr<Arithmetic> numbers_;
  Interpreter interpreter_;
  std::vector<Value> known_;  ///< by node
  std::deque<Fact> facts_;
  /// Of a loop, facts about its variables; all that are assumed hold if it is closed.
  struct Assumptions {
    std::vector<std::size_t> facts;
    std::optional<std::size_t> closed;  ///< at this number of facts
  };
  std::vector<Assumptions> assumptions_;  ///< of local loops
  Communication permutation_;             ///< the last one
  /// By operation and its groups of all devices.
  std::map<std::pair<std::string, const Interpreter::Groups*>, std::optional<Communication>>
      communications_;
};

/// For writers of certificates: hands the modules of problem.json to `prove`, with the relation of
/// outputs.
void with_related_modules(const Files& files,
                          const std::function<void(RelatedModules& modules,
                                                   const std::vector<Relation>& outputs)>& prove);

}  // namespace p2::kernel::xla
