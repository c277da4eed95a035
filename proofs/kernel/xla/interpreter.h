#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proofs/kernel/xla/module.h"

namespace p2::kernel::xla {

/// An element of a tensor. Its meaning is that of the arithmetic that made it.
struct Cell {
  /// As a term: its value at a random point, modulo a prime. As a number: an integer or boolean;
  /// of a real number that is not exact, how it was computed.
  std::uint64_t value = 0;
  /// As a term: the same modulo the order of the exponential's base.
  std::uint64_t exponent = 0;
  /// As a term: bounds of its values for all inputs. As a number: `low` is a real number, `high`
  /// the largest error it may have.
  double low = 0, high = 0;
  bool nan = false;  ///< as a term: may be NaN or not a number at all; as a number: is arbitrary
  /// As a term: whether a bound holds only where no input is too large (kMaxInput), so that nothing
  /// overflows, and not for all real numbers. What is decided by a bound may not rest on that.
  bool low_is_assumed = false, high_is_assumed = false;
  /// As a term: whether it may be infinite or NaN for some inputs, by constants that are: x − x
  /// need not be 0 then.
  bool is_unreal = false;

  /// Of terms: a constant.
  bool is_known() const { return low == high && !nan && !low_is_assumed && !high_is_assumed; }
};
using Cells = std::span<const Cell>;

/// Rejects an instruction whose type and sizes do not follow from those of its operands, where they
/// do for its opcode (relation_forms.cpp).
void require_form(const Module& module, const Computation& computation,
                  const Instruction& instruction);

/// Elementwise operations, by their opcodes.
enum class Op : std::uint8_t {
  Abs,
  Add,
  And,
  Ceil,
  Clamp,
  Compare,
  Convert,
  Cosine,
  Divide,
  Erf,
  Exponential,
  ExponentialMinusOne,
  Floor,
  IsFinite,
  Log,
  LogPlusOne,
  Logistic,
  Maximum,
  Minimum,
  Multiply,
  Negate,
  Not,
  Or,
  Popcount,
  Power,
  ReducePrecision,
  Remainder,
  RoundAway,
  RoundEven,
  Rsqrt,
  Select,
  ShiftLeft,
  ShiftRightArithmetic,
  ShiftRightLogical,
  Sign,
  Sine,
  Sqrt,
  Subtract,
  Tan,
  Tanh,
  Xor,
  BitcastConvert,
  Cbrt,
  Atan2,
  CountLeadingZeros
};
std::optional<Op> op_called(const std::string& opcode);

enum class Direction : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
Direction direction_of(const Instruction& comparison);

struct Elementwise {
  Op op = Op::Add;
  Type from, to;
  Direction direction = Direction::Eq;
};

/// A keyed pseudo-random function (SipHash-2-4, Aumasson and Bernstein 2012).
class Hash {
 public:
  Hash(std::uint64_t first, std::uint64_t second);
  Hash& add(std::uint64_t value);
  Hash& add(std::string_view text);
  std::uint64_t result() const;

 private:
  void round();
  std::uint64_t v_[4];
};

/// What cells are and how they are computed with.
class Arithmetic {
 public:
  Arithmetic() = default;
  Arithmetic(const Arithmetic&) = delete;
  Arithmetic& operator=(const Arithmetic&) = delete;
  virtual ~Arithmetic() = default;

  /// The input of these numbers: its own, the element's and, where they are free, the device's.
  virtual Cell input(std::span<const std::uint64_t> keys, const Type& type) = 0;
  virtual Cell literal(std::string_view text, const Type& type) = 0;
  virtual Cell integer(std::int64_t value, const Type& type) = 0;
  /// An integer or boolean that is the same for all inputs.
  virtual std::optional<std::int64_t> known(const Cell& cell, const Type& type) = 0;
  /// Whether two cells of one type are equal for all inputs; of numbers, up to their rounding.
  virtual bool same(const Cell& a, const Cell& b, const Type& type) = 0;
  virtual Cell apply(const Elementwise& operation, Cells operands) = 0;
  /// What may be anything, and is equal to nothing else.
  virtual Cell arbitrary(const Type& type) = 0;
  /// What memory contains that nobody has written to, again whenever it is asked for.
  virtual Cell unwritten(const Type& type) { return arbitrary(type); }
  /// A function of which nothing is known but its name.
  virtual Cell function(std::string_view name, Cells operands, const Type& type) = 0;
  /// The choice whose number `index` is, clamped to those that exist.
  virtual Cell choose(const Cell& index, const Type& index_type, Cells choices,
                      const Type& type) = 0;
};

/// Terms in the inputs (docs/certificates.md). `first` and `second` are secret.
std::unique_ptr<Arithmetic> make_terms(std::uint64_t first, std::uint64_t second);

/// Real numbers in double precision, integers that wrap around in their types. Inputs are drawn by
/// `seed`, in the way `draw` (docs/certificates.md), and with `draws_memory` so is what memory
/// contains that nobody has written to.
constexpr std::uint32_t kDraws = 5;
std::unique_ptr<Arithmetic> make_numbers(std::uint32_t draw, std::uint64_t seed,
                                         bool draws_memory = false);

/// The integer of a type that is `value` modulo 2^bits.
std::int64_t wrapped(std::uint64_t value, const Type& type);
/// One operation on real numbers, or on integers in their type.
Cell computed(const Elementwise& operation, Cells operands);
/// A function of real numbers, in double precision.
double real_operation(Op op, Cells operands);
/// As a number: within `error` of a double; two of the same `computation` are one number.
Cell inexact(double value, double error, std::uint64_t computation);
/// As computed(), with errors of real numbers. Nothing where these decide the result, where it is
/// too large for a double, and where real numbers have none.
std::optional<Cell> computed_with_errors(const Elementwise& operation, Cells operands);
/// The simplest fraction that rounds to the constant as its type does; a denominator of 1 where
/// there is none with a denominator up to 10^7.
struct Fraction {
  double numerator = 0, denominator = 1;
};
Fraction fraction_of(double value, const Type& type);
/// Where modules have one number, of either sign, both as a constant of f16 or bf16 and as one of a
/// wider type, all constants of f16 and bf16, those of wider types that have it, and all that have
/// a number listed with such a one become constants of f64: they stand for exactly their numbers.
/// So one number in one type is one real number everywhere.
void state_exactly(const std::vector<Module*>& modules);
/// Nearly the largest number of a floating-point type: what is larger may be infinite.
inline double largest(const Type& type) {
  return type.digits == 53 ? 1.7e308 : type.digits == 11 ? 65504.0 : 3.3e38;
}
/// The number of a floating-point type that XLA converts a number to; infinite beyond the type.
double rounded(double value, const Type& type);
double real_literal(std::string_view text, const Type& type);

struct Tensor {
  Type type;
  Index sizes;
  std::vector<Cell> cells;  ///< row-major
};
using TensorPtr = std::shared_ptr<const Tensor>;

/// An array on every device, or a tuple.
struct Value {
  std::vector<TensorPtr> devices;
  std::vector<Value> parts;
};

struct Devices {
  std::int64_t replicas = 1, partitions = 1;
  std::size_t count() const { return static_cast<std::size_t>(replicas * partitions); }
};

/// Row-major strides.
Index strides_of(const Index& sizes);
/// The row-major number of an index, which has to be inside.
std::size_t place_of(const Index& sizes, const Index& index);
const Cell& element(const Tensor& tensor, const Index& index);
bool contains(const Index& list, std::size_t number);
/// Calls visit(index) for every index, in row-major order.
void for_each_index(const Index& sizes, const std::function<void(const Index&)>& visit);

/// Tiles of a tensor over partitions, `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`, or of the
/// tensors that manual groups of partitions have: of some axes of the devices, or each its own.
struct Sharding {
  Index parts;               ///< of every dimension; empty: replicated
  std::vector<Index> tiles;  ///< by partition: the number of its tile along every dimension
  Index groups;              ///< by partition: its manual group; empty: one tensor for all

  bool is_replicated() const { return parts.empty(); }
  static Sharding read(const std::string& text, std::size_t dimensions, const Devices& devices);
  /// One of those under `key` in the attributes of a manual part, over axes of a mesh of the
  /// header.
  static Sharding of_mesh(const std::string& meshes, const std::string& attributes,
                          const std::string& key, std::size_t number, std::size_t dimensions,
                          const Devices& devices);
};

/// How the operand of this number is cut where a manual part begins, or put together where it ends.
Sharding manual_sharding(const Module& module, const Computation& computation,
                         const Instruction& instruction, std::size_t number, bool is_cut,
                         const Devices& devices);

/// Lists of ids: `{{0,1},{2,3}}`, or tiles of an iota, `[2,4]<=[4,2]T(1,0)`.
std::vector<Index> id_lists(std::string_view text);
/// Groups along axes of a mesh, `mesh['a'=2,'b'=4] {'a'}`; `devices` as the attribute device_ids.
std::vector<Index> mesh_groups(std::string_view text, std::string_view devices);

/// Whether an instruction of this kind returns its operand. The value of a start is that of its
/// end.
bool returns_operand(const std::string& opcode);
/// Whether an instruction of this kind is more than a function of its operands on one device.
bool depends_on_device(const std::string& opcode);
/// Whether the order of an operation's two operands, and of its repetition, does not matter.
bool is_commutative(const std::string& opcode);
/// What a computation does with its two parameters, if their order does not matter.
std::optional<Op> commutative_op(const Computation& computation);
/// The operation of these two parameters, whose order does not matter, that a result of a
/// computation is, whatever real numbers are rounded to; otherwise null.
const Instruction* commutative_operation(const Computation& reducer, std::uint32_t result,
                                         const std::array<std::uint32_t, 2>& sides);
/// Whether a function of two elements and their indices, which are -1 where there is none, has the
/// first if it is greater or equal: relation_windows.cpp.
bool keeps_greatest(const Computation& function);
/// In which order a reduction takes elements, or a scatter the updates of one, is left open. Where
/// it decides what is computed in the module after, and in none before, they are not equal. A
/// select-and-scatter takes elements as a reduction does that looks for the greatest.
void require_no_new_order(const Module& before, const Module& after);

/// Of one dimension of a window, as XLA prints them: `size=3x3 stride=2x1 pad=0_0x1_1`.
struct WindowDimension {
  std::int64_t size = 1, stride = 1, low = 0, high = 0, base_dilation = 1, window_dilation = 1;
  bool is_reversed = false;

  bool operator==(const WindowDimension&) const = default;
  /// The element that a window's element lies on; nothing in padding and holes.
  std::optional<std::int64_t> element(std::int64_t position, std::int64_t offset,
                                      std::int64_t elements) const {
    const std::int64_t within = is_reversed ? size - 1 - offset : offset;
    const std::int64_t place = position * stride + within * window_dilation - low;
    if (place < 0 || place % base_dilation != 0 || place / base_dilation >= elements)
      return std::nullopt;
    return place / base_dilation;
  }
  /// Whether a window is one element, that at its position.
  bool is_single() const {
    return size == 1 && stride == 1 && low == 0 && high == 0 && base_dilation == 1;
  }
  /// Whether windows are of elements, without padding and holes between them.
  bool is_plain() const { return low == 0 && high == 0 && base_dilation == 1 && size > 0; }
  /// The number of positions along a dimension.
  std::int64_t positions(std::int64_t elements) const {
    const std::int64_t padded =
        (elements == 0 ? 0 : (elements - 1) * base_dilation + 1) + low + high;
    const std::int64_t extent = (size - 1) * window_dilation + 1;
    return padded < extent ? 0 : (padded - extent) / stride + 1;
  }
};

/// The computations of a conditional, in order: of a truth value that of `true` first.
std::vector<std::string> branches_of(const Instruction& conditional);

/// The `window` of a reduce-window, select-and-scatter or convolution.
std::vector<WindowDimension> window_of(const Instruction& instruction, std::size_t dimensions);
std::vector<WindowDimension> window_of(std::string_view text, std::size_t dimensions);

/// What every dimension of input, kernel and output is: `b01f_01io->b01f`.
struct ConvolutionLabels {
  std::string in, kernel, out;  ///< of one length, each with all its labels

  explicit ConvolutionLabels(const Instruction& convolution);
  explicit ConvolutionLabels(std::string_view labels);
  /// The dimension with a label.
  static std::size_t find(const std::string& text, char label);
};

/// Where a slice starts by an integer of this type, between 0 and `most`; nothing for 2^63 and
/// more, which are not clamped alike everywhere.
std::optional<std::int64_t> start_of(std::int64_t integer, const Type& type, std::int64_t most);

/// The dimension along which a sort is, and whether equal elements keep their order.
std::size_t sorted_dimension(const Instruction& sort);
bool is_stable_sort(const Instruction& sort);

/// The rows of `{[0:4:2], [1:3]}`, with steps.
std::vector<Index> ranges_of(const std::string& text);
/// The rows of `0_1x2_0_1`: low, high and interior.
std::vector<Index> edges_of(const std::string& text);
/// The elements of a constant, `{ { 1, 2 }, { 3, 4 } }`, in row-major order.
std::vector<std::string_view> elements_of(std::string_view text);
/// What an operation that is not understood is a function of, besides its operands: attributes,
/// and the text of computations without names.
std::string description_of(const Module& module, const Instruction& instruction, int depth = 0);

/// Executes a module on all devices at once, instruction by instruction.
class Interpreter {
 public:
  Interpreter(const Module& module, Arithmetic& arithmetic, const Devices& devices, Budget& budget)
      : module_(module), arithmetic_(arithmetic), devices_(devices), budget_(budget) {}

  /// The root of the entry computation.
  Value run(const std::vector<Value>& inputs) { return evaluate(module_.main(), inputs); }

  using Operands = std::vector<const Value*>;
  /// What one instruction of a computation makes of its operands.
  Value result(const Computation& computation, const Instruction& instruction,
               const Operands& operands);
  /// The groups of a collective: a device is in at most one.
  using Groups = std::vector<std::vector<std::size_t>>;
  const Groups& groups_of(const Instruction& instruction, bool reduces) const;
  /// Of a collective-permute, by device: the one whose array it gets, if any.
  std::vector<std::optional<std::size_t>> senders_of(const Computation& computation,
                                                     const Instruction& permute);

 private:
  using Tensors = std::vector<const Tensor*>;  ///< the operands on one device
  using Local = std::function<Tensor(std::size_t device, const Tensors& operands)>;

  // interpreter.cpp
  Value evaluate(const Computation& computation, const std::vector<Value>& arguments);
  /// The same function on every device; it looks at the device's number only if it `differs`.
  Value everywhere(const Operands& operands, const Local& local, bool differs = false);
  /// The same for an instruction of one or several results; `local` makes that of a number.
  using LocalResult =
      std::function<Tensor(std::size_t number, std::size_t device, const Tensors& operands)>;
  Value every_result(const Instruction& instruction, const Operands& operands,
                     const LocalResult& local, bool differs = false);
  std::optional<Value> generated(const Instruction& instruction);
  Value loop(const Instruction& instruction, const Value& first);
  Value branch(const Instruction& instruction, const Operands& operands);
  Value of_devices(const std::vector<std::optional<std::size_t>>& taken,
                   const std::vector<Value>& values) const;
  Value chosen(const Value& condition, const std::vector<Value>& choices);
  bool is_active(std::size_t device) const { return active_.empty() || active_[device]; }
  Value opaque(const Instruction& instruction, const Operands& operands);
  Value custom(const Computation& computation, const Instruction& instruction,
               const Operands& operands);
  Tensor elementwise(const Instruction& instruction, Op op, const Tensors& operands);
  Tensor filled(const Shape& shape, const std::function<Cell(const Index&)>& cell);
  bool communicates(const Computation& computation) const;

  /// A function of scalars, such as a reducer, as one operation or as a computation.
  struct Scalar {
    const Computation* computation = nullptr;
    std::optional<Op> op;
  };
  Scalar scalar_function(const std::string& reference) const;
  std::vector<Cell> call(const Scalar& function, const std::vector<Type>& types, Cells arguments);

  // movement.cpp
  Tensor moved(const Instruction& instruction, const Tensors& operands);
  Tensor bitcast(const Computation& computation, const Instruction& instruction,
                 const Tensor& operand);
  // contraction.cpp
  void add_product(std::optional<Cell>& total, const Cell& a, const Cell& b, const Type& type);
  Tensor dot(const Instruction& instruction, const Tensors& operands);
  Tensor convolution(const Instruction& instruction, const Tensors& operands);
  Value reduce(const Instruction& instruction, const Operands& operands);
  Value reduce_window(const Instruction& instruction, const Operands& operands);
  // indexing.cpp
  Tensor gather(const Instruction& instruction, const Tensors& operands);
  Tensor scatter(const Instruction& instruction, const Tensors& operands);
  Tensor dynamic_slice(const Instruction& instruction, const Tensors& operands);
  Tensor dynamic_update_slice(const Instruction& instruction, const Tensors& operands);
  Value sort(const Instruction& instruction, const Operands& operands);
  Cell at_starts(const std::vector<Cell>& starts, const Type& index_type, const Index& most,
                 const Type& type, Index& chosen, const std::function<Cell(const Index&)>& cell);
  // communication.cpp
  std::optional<Value> collective(const Instruction& instruction, const Operands& operands);
  /// Of lists of ids the devices.
  Groups numbered_groups(std::vector<Index> lists, bool has_channel, bool wants_global,
                         bool reduces) const;
  void require_together(std::size_t one, std::size_t other) const;
  Value permuted(const Instruction& instruction, const Value& operand);
  Value zeros_like(const Value& value) const;
  Value over_groups(const Instruction& instruction, const Value& operand, const Groups& groups,
                    const std::function<TensorPtr(const std::vector<std::size_t>& group,
                                                  std::size_t position)>& member);

  // sharding.cpp
  Value manual(const Computation& computation, const Instruction& instruction,
               const Operands& operands, bool is_cut);
  Value shard(const Shape& shape, const Value& operand, const Sharding& sharding);
  Value whole(const Shape& shape, const Value& operand, const Sharding& sharding);

  const Module& module_;
  Arithmetic& arithmetic_;
  Devices devices_;
  Budget& budget_;
  int depth_ = 0;
  std::vector<bool> active_;  ///< the devices that execute the branch; empty: all
  mutable std::map<std::string, Groups> groups_;  ///< by what they are read from
};

}  // namespace p2::kernel::xla
