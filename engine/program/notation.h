#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/text_cursor.h"
#include "engine/program/program.h"

namespace p2 {

// clang-format off
/// The one-line notation of programs. Steps are separated by `;`; a step is an instruction or bare
/// groups; a program without steps is `skip`:
///
///     ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, InsideGroup)
///     AllReduce({node.data}, Parallel); AllReduce({gpu.data}, Master({node.data}))         (lattice)
///     Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}
///
/// parse_steps reads back what to_string printed.
// clang-format on
std::string to_string(const Step& step, const Instance* instance,
                      const CollectiveSet& collectives = {});
std::string to_string(const std::vector<Step>& steps, const Instance* instance,
                      const CollectiveSet& collectives = {});

/// `{0,2},{1,3}`.
std::string to_string(const std::vector<Group>& groups);
/// `{0,2}`; after `most` devices (0 = all) the rest is cut short with `…`.
std::string to_string(const Group& group, std::size_t most = 0);

/// Reads steps up to the end of the text. Instructions need an instance; without one they are
/// errors. `positions`, if given, gets where each step stands. Throws InputError at the first
/// mistake.
std::vector<Step> parse_steps(TextCursor& cursor, std::uint32_t devices, const Instance* instance,
                              const CollectiveSet& collectives = {},
                              std::vector<SourcePosition>* positions = nullptr);

/// Reads `{0,2},{1,3}`.
std::vector<Group> parse_groups(TextCursor& cursor);

/// Reads a shape written apart, as in the JSON keys `slice` and `form`.
GroupShape parse_shape(TextCursor& slice, TextCursor& form, const Instance& instance);

}  // namespace p2
