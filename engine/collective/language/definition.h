#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/rational.h"

/// The language in which collectives are defined. One text defines one collective: what it requires
/// of the states of a group's devices, what it makes of them, and a measure of the information they
/// hold, which must rise strictly in every step the collective makes. The interpreter, the
/// bit-vector encoding and the clause encoding are all made from the Definition below.
///
///   definition = "collective" NAME TEXT { let | require } ensure measure [ traffic ]
///   let        = "let" NAME [ "(" variables ")" ] "=" expression
///   require    = "require" PREMISE TEXT ":" boolean
///   ensure     = "ensure" "s'" "(" NAME "," NAME "," NAME ")" "=" boolean
///   measure    = "measure" integer
///   traffic    = "traffic" COLLECTIVE [ "of" part ]                (traffic.cpp)
///   variables  = names "in" domain { "," names "in" domain }       names = NAME { "," NAME }
///   domain     = "group" | "chunks" | "contributors"
///
/// Expressions, loosest first. All operators but `implies` group to the left; comparisons do not
/// chain. The body of a quantifier or aggregate reaches as far right as it can.
///
///   iff   implies   or   and   not   = != < <= > >=   + -   * / %
///   ("forall" | "exists" | "count" | "sum") variables ":" expression
///   "true"   "false"   NUMBER   "n"   "k"   NAME   NAME "(" arguments ")"   "(" expression ")"
///   "s" "(" position "," chunk "," contributor ")"
///
/// `s(i, r, c)`: the device at position i of the group, in the order of device ids, holds in its
/// chunk r the contribution of device c. `s'` is the same after the step. `n` is the size of the
/// group (at least 1), `k` the number of chunks. An argument is a variable of the sort its place
/// asks for, or, for a position, 0: the root, which every group has. A variable used as an integer
/// is its index, counted from 0. `#` starts a comment. A NAME is made of letters, digits and `_`; a
/// PREMISE may also contain `-`. A let is defined before it is used, so there is no recursion, and
/// no name is given a second meaning where it already has one.
///
/// Integers are the numbers from 0 to 2^64 − 1. Every operation has a value for all operands:
/// `+`, `*` and `sum` are taken modulo 2^64, a − b is 0 where b > a, a / 0 is 0, a % 0 is a, and
/// a / b is rounded down. An encoder may compute in w bits whatever it can bound below 2^w. An
/// empty `forall` is true, an empty `exists` false, an empty `count` or `sum` 0.
namespace p2::language {

/// Limits on a definition with all its lets inlined: the depth of an expression (and of its
/// parentheses), the variables bound at one place, and the nodes.
constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxVariables = 8;
constexpr std::size_t kMaxNodes = 10'000;
constexpr std::uint64_t kMaxNumber = 4'294'967'295;

/// What a variable ranges over: `group`, `chunks` or `contributors`.
enum class Sort : std::uint8_t { Position, Chunk, Contributor };

enum class Type : std::uint8_t { Boolean, Integer };

struct Variable {
  std::string name;
  Sort sort = Sort::Position;
  /// Variables that are in scope together have different slots: 0, 1, … from the outside inwards,
  /// starting anew in every let, premise, post-state and measure.
  std::uint32_t slot = 0;

  bool operator==(const Variable&) const = default;
};

/// The other operators of the text are written with these: a != b is not a = b, a > b is b < a, and
/// a >= b is b <= a.
enum class Kind : std::uint8_t {
  Truth,       ///< `number` is 0 (false) or 1 (true)
  Number,      ///< `number`
  GroupSize,   ///< n
  ChunkCount,  ///< k
  Variable,    ///< `index` is its slot
  Holds,       ///< s(operands); each operand is a Variable, the first may be the Number 0
  Call,        ///< `index` counts the lets of the definition; operands as in Holds
  Not,         ///< one Boolean operand
  And,         ///< two Boolean operands, as in the next three
  Or,
  Implies,
  Iff,
  Equal,  ///< two Integer operands, as in all down to Modulo
  Less,
  LessEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  ForAll,  ///< `variables`, one Boolean operand, as in the next two
  Exists,
  Count,
  Sum,  ///< `variables`, one Integer operand
};

/// A well-typed expression. Fields that its kind does not name are empty or 0.
struct Expression {
  Kind kind = Kind::Truth;
  Type type = Type::Boolean;
  std::uint64_t number = 0;
  std::uint32_t index = 0;
  std::vector<Variable> variables;
  std::vector<Expression> operands;

  bool operator==(const Expression&) const = default;
};

/// A named expression of the state before the step. The parameters have the slots 0, 1, …
struct Let {
  std::string name;
  std::vector<Variable> parameters;
  Expression body;

  bool operator==(const Let&) const = default;
};

/// A condition under which the collective may run; `formula` is Boolean.
struct Premise {
  std::string name;
  std::string description;
  Expression formula;

  bool operator==(const Premise&) const = default;
};

/// The whole state of the group after the step: `formula`, Boolean, says of every position, chunk
/// and contributor (slots 0, 1 and 2) whether the contribution is held.
struct PostState {
  std::array<Variable, 3> variables;
  Expression formula;

  bool operator==(const PostState&) const = default;
};

/// What a step costs: as much as a built-in collective or AllToAll on the same groups in which the
/// device that holds most holds `part` of what it does here. It says nothing about the state.
struct Traffic {
  std::string collective;  ///< `AllReduce`, …, `Broadcast` or `AllToAll`
  Expression part;         ///< of numbers and n by + - * /, in exact fractions

  bool operator==(const Traffic&) const = default;
};

struct Definition {
  std::string name;
  std::string description;
  std::vector<Let> lets;
  std::vector<Premise> premises;  ///< in the order in which they are checked
  PostState post_state;
  Expression measure;  ///< Integer, asked of the state before and of the state after
  std::optional<Traffic> traffic = {};  ///< read by cost alone

  bool operator==(const Definition&) const = default;
};

/// Parses the definition of one collective. Throws InputError at the first mistake (`found …,
/// expected …`, positions in `source`), also for a text beyond the limits above.
Definition parse_definition(std::string_view source, std::string_view text);

/// The definition as a module of Coq, for proofs/theory: functions `legal`, `after` and `measure`
/// of the sizes and the state, over language.v. Numbers are unbounded there. Traffic is left out.
std::string coq_text(const Definition& definition);

/// The definitions of AllReduce, ReduceScatter, AllGather, Reduce and Broadcast (figure 8):
/// engine/collective/*.p2c, embedded by the build.
const std::vector<Definition>& built_in_definitions();

/// AllToAll, which is no built-in collective but the meaning of the goal alltoall:
/// examples/collectives/sound/alltoall.p2c.
const Definition& all_to_all();

/// The built-in definition of that name, which must exist.
const Definition& built_in(std::string_view name);

/// A definition file as it was when the program was built.
struct BuiltInText {
  std::string_view source;  ///< its path in the repository
  std::string_view text;
};

/// engine/collective/*.p2c, in the order of figure 8. The build generates the source file of this
/// header (embed_definitions.cmake).
std::span<const BuiltInText> built_in_texts();
/// examples/collectives/sound/alltoall.p2c.
BuiltInText all_to_all_text();

/// The part for groups of n ≥ 2 devices. Throws InputError, in the name of the definition, where it
/// is not more than 0.
Rational traffic_part(const Definition& definition, std::uint32_t n);

/// `AllReduce of 1 / (4 * n)`.
std::string to_string(const Traffic& traffic);

}  // namespace p2::language
