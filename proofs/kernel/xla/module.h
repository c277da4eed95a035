#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {

using Index = std::vector<std::int64_t>;

/// Ends a check without a verdict: what the modules do is beyond this checker.
[[noreturn]] inline void not_covered(const std::string& what) {
  throw CheckFailure(Verdict::Incomplete, "not covered by this checker: " + what);
}

/// A type of elements, as XLA names it.
struct Type {
  enum class Kind : std::uint8_t { Boolean, Signed, Unsigned, Float, Other };
  std::string_view name;  ///< which lasts
  Kind kind = Kind::Other;
  int bits = 0;
  int digits = 0;  ///< of a Float: the bits of its significand, the implicit one included

  bool is_float() const { return kind == Kind::Float; }
  bool is_integer() const { return kind == Kind::Signed || kind == Kind::Unsigned; }
  bool is_boolean() const { return kind == Kind::Boolean; }
  bool operator==(const Type& other) const { return name == other.name; }
};
/// Whether an operand may have type `a` where `b` is asked for: floating-point types may be mixed,
/// as XLA does it for TPUs.
inline bool fit(const Type& a, const Type& b) { return a == b || (a.is_float() && b.is_float()); }
Type type_called(std::string_view name);

/// The sizes of an array. Copies share them until one of them changes.
class Sizes {
 public:
  Sizes() = default;
  Sizes(Index list)
      : list_(list.empty() ? nullptr : std::make_shared<const Index>(std::move(list))) {}

  operator const Index&() const { return all(); }
  const Index& all() const {
    static const Index kNone;
    return list_ ? *list_ : kNone;
  }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  std::size_t size() const { return all().size(); }
  bool empty() const { return list_ == nullptr; }
  std::int64_t operator[](std::size_t at) const { return (*list_)[at]; }
  std::int64_t at(std::size_t at) const { return all().at(at); }
  std::int64_t back() const { return list_->back(); }
  void set(std::size_t at, std::int64_t size) {
    Index list = all();
    list.at(at) = size;
    *this = Sizes(std::move(list));
  }
  friend bool operator==(const Sizes& a, const Sizes& b) {
    return a.list_ == b.list_ || a.all() == b.all();
  }
  friend bool operator==(const Sizes& a, const Index& b) { return a.all() == b; }

 private:
  std::shared_ptr<const Index> list_;  ///< null: none
};

/// An array, or a tuple of shapes.
struct Shape {
  bool is_tuple = false;
  Type type;
  Sizes sizes;
  Index layout;  ///< dimensions, the one with adjacent elements first; empty: the last is first
  std::vector<Index> tiles;  ///< `T(8,128)(2,1)`: tiles of the last dimensions, and of tiles
  std::vector<Shape> parts;

  std::int64_t elements() const;
};

/// What is written of an instruction under names, in their order. Copies share it until one of them
/// changes.
class Attributes {
 public:
  using Entry = std::pair<std::string, std::string>;

  auto begin() const { return entries().begin(); }
  auto end() const { return entries().end(); }
  std::vector<Entry>::const_iterator find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != end(); }
  /// Whether there was none of this name.
  bool emplace(std::string_view name, std::string_view value);
  /// In place of what there was of this name.
  void set(std::string_view name, std::string_view value);
  void erase(std::string_view name);

 private:
  const std::vector<Entry>& entries() const;
  std::vector<Entry>& own_entries();

  std::shared_ptr<std::vector<Entry>> entries_;  ///< null: none
};

struct Instruction {
  std::string name, opcode;
  Shape shape;
  std::vector<std::uint32_t> operands;  ///< numbers of instructions of the same computation
  std::string text;                     ///< between the parentheses, of parameters and constants
  Attributes attributes;
  /// Of a constant of real numbers: it is its number, not the simplest one that rounds to that.
  bool is_exact = false;
  /// Instructions of one module that have the same number, other than 0, were written alike but for
  /// their names and operands.
  std::uint32_t kind = 0;

  /// Of a constant: the type that its text is read as.
  Type literal_type() const { return is_exact ? type_called("f64") : shape.type; }
  bool has(const std::string& key) const { return attributes.contains(key); }
  /// Of a gather or scatter: its indices are `indices_are_sorted`, or `unique_indices`.
  bool promises(std::string_view what) const;
  const std::string& attribute(const std::string& key) const;
  /// `{1,2}` or `1,2`; empty where it is absent.
  Index numbers(const std::string& key) const;
  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  /// Whether it makes an array in memory that nobody has written to.
  bool allocates_memory() const;
};

struct Computation {
  std::vector<Instruction> instructions;  ///< operands before their uses
  std::vector<std::uint32_t> parameters;
  std::uint32_t root = 0;
};

struct Module {
  std::string name;
  std::map<std::string, Computation> computations;
  std::string entry;
  std::int64_t replicas = 1;
  std::int64_t partitions = 1;
  std::string meshes;  ///< the header's frontend_attributes

  const Computation& called(const std::string& reference) const;
  const Computation& main() const { return computations.at(entry); }
};

/// What the opcode is of a gather or scatter that promises something of its indices, as long as
/// nobody has seen to it: `gather[indices_are_sorted]`; otherwise nothing.
std::optional<std::string> without_promises(const std::string& opcode);

/// Whether an attribute names computations.
bool names_computations(std::string_view key);
/// Rejects a module in which a computation calls itself, or too many others, each time counted.
void require_calls(const Module& module);

/// Reads a module in the text form of XLA (`HloModule …`). Rejects as NotACertificate what it
/// cannot read.
Module read_module(const std::string& text, const std::string& where);

/// Integers in a text, whatever stands between them.
Index integers_in(std::string_view text);
/// The integer that a text is.
std::int64_t integer(std::string_view text);
/// The comma-separated parts of a text at nesting depth 0.
std::vector<std::string_view> split(std::string_view text, char separator = ',');
/// Words of a text between spaces.
struct Words : std::unordered_set<std::string> {
  explicit Words(std::string_view text) {
    for (const std::string_view each : split(text, ' ')) emplace(each);
  }
};
bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names);
std::string_view trimmed(std::string_view text);
/// Without its first and last characters, if they are these.
std::string_view stripped(std::string_view text, char open, char close);

/// The arrays of a shape, from left to right.
std::vector<Shape> arrays_of(const Shape& shape);

}  // namespace p2::kernel::xla
