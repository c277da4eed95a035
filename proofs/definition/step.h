#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"

/// Whether a definition of a collective is sound, asked of Z3 and of the interpreter alike.
///
/// An answer is for all states of the shapes below, unless it is proved for every size
/// (every_size.h). A premise or a post-state of the paper's kind looks at one chunk and one
/// contribution at a time and counts chunks; what such a definition can get wrong mostly shows in
/// groups this small:
///  - n contributors let every device of the group have a contribution of its own, so that sums are
///    disjoint in every way; one more lets two sums overlap without one being part of the other,
///    and lets a device hold a sum of two;
///  - up to 2n chunks give a device none, one or two, evenly or not, so that the borders of blocks
///    show.
/// One chunk or one contributor alone are there so that a counterexample is no larger than it must
/// be. For other sizes the answers are evidence, not proof: a definition may behave otherwise from
/// 9 devices or 17 chunks on. Such sizes are searched for counterexamples (probe_shapes), and
/// the verdict names those that it covers.
namespace p2::definition {

/// The size of a group and of its buffers.
struct Shape {
  std::uint32_t devices = 1;
  std::uint32_t chunks = 1;
  std::uint32_t contributors = 1;

  /// How many contributions a state of this shape may hold: it is one of 2^bits states.
  std::uint32_t bits() const { return devices * chunks * contributors; }
  bool operator==(const Shape&) const = default;
};

/// Groups of one device are no reduction. Larger ones take Z3 long and show nothing new.
constexpr std::uint32_t kMinGroup = 2;
constexpr std::uint32_t kMaxGroup = 8;

/// The most chunks that are looked at for a group of `devices`.
constexpr std::uint32_t max_chunks(std::uint32_t devices) { return 2 * devices; }

/// The shapes that are looked at for a group of `devices`, from kMinGroup to kMaxGroup, by
/// ascending bits: 1 to 2n chunks of 1 and n contributors, and 1 and n chunks of n + 1.
std::vector<Shape> shapes_of(std::uint32_t devices);

Shape shape_of(const language::GroupState& state);

/// `2 devices, 3 chunks, 2 contributors`
std::string to_string(const Shape& shape);

/// What a device holds in one chunk: bit c is the contribution of device c.
using Row = std::uint32_t;

Row row(const language::GroupState& state, std::uint32_t position, std::uint32_t chunk);
/// The number of contributions held.
std::uint32_t amount(const language::GroupState& state);
/// The state whose contributions are the bits of `number`, by position, chunk and contributor; the
/// shape has at most 64 bits.
language::GroupState numbered(const Shape& shape, std::uint64_t number);

/// One legal step of a collective on a group that holds something.
struct Step {
  const language::Definition& definition;
  language::GroupState before;
  language::GroupState after;
};

/// Whether all premises hold of `before` and somebody holds something.
bool legal(const language::Definition& definition, const language::GroupState& before);

/// The step from `before`, or nothing where it is not legal.
std::optional<Step> take(const language::Definition& definition,
                         const language::GroupState& before);

/// The state with two contributors exchanged.
language::GroupState contributors_exchanged(const language::GroupState& state, std::uint32_t a,
                                            std::uint32_t b);
/// The state with the devices at two positions exchanged.
language::GroupState positions_exchanged(const language::GroupState& state, std::uint32_t a,
                                         std::uint32_t b);

/// Whether those premises hold that depend on n and k alone, so that a state of this size may
/// satisfy all.
bool admits(const language::Definition& definition, std::uint32_t devices, std::uint32_t chunks);

/// Sizes of more than `max_group` devices or more chunks than shapes_of has, at which a definition
/// may behave as at none of those: the smallest size for each combination of values that its
/// conditions on n and k alone take, those around its constants, and a few that are larger in
/// general. In a fixed order, without repetition.
std::vector<Shape> probe_shapes(const language::Definition& definition, std::uint32_t max_group);

}  // namespace p2::definition
