#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proofs/definition/step.h"

namespace p2::definition {

/// What can be claimed of every legal step of a collective on a group that holds something. A
/// device's row is one number, the sum of the contributions in it: a step can copy, add and drop
/// rows, and can neither take a sum apart nor subtract.
enum class Claim : std::uint8_t {
  /// Whatever a device holds afterwards, some device of the group held before, in some chunk.
  NothingInvented,
  /// A contribution that was held before is afterwards in chunks in which it was held before.
  ChunksApart,
  /// A row afterwards whose contributions all were in its chunk is a union of whole rows of it.
  SumsWhole,
  /// A row afterwards that is a union of whole rows of its chunk is a union of disjoint ones.
  NoDoubleCount,
  /// A row afterwards is the disjoint union of rows that devices of the group held in its chunk:
  /// what adding can make of them. It is the four claims above together, and asked on its own.
  Realisable,
  /// What a device of the group held in a chunk, some device of it holds there afterwards.
  KeepsAll,
  /// The root has afterwards, in every chunk, what it had before.
  RootKeeps,
  /// The same of the other positions: Reduce drops their copies.
  OthersKeep,
  /// The measure rises.
  MeasureRises,
  /// Two contributors exchanged before are exchanged afterwards, and nothing else changes.
  ContributorsAlike,
  /// The same of two positions.
  PositionsAlike,
  /// The same of two positions that are not the root.
  NonRootsAlike
};

constexpr std::array<Claim, 12> kClaims = {
    Claim::NothingInvented, Claim::ChunksApart,       Claim::SumsWhole,      Claim::NoDoubleCount,
    Claim::Realisable,      Claim::KeepsAll,          Claim::RootKeeps,      Claim::OthersKeep,
    Claim::MeasureRises,    Claim::ContributorsAlike, Claim::PositionsAlike, Claim::NonRootsAlike};

/// `nothing-invented`, `chunks-apart`, …
std::string_view name_of(Claim claim);

constexpr std::size_t index_of(Claim claim) { return static_cast<std::size_t>(claim); }

/// Where a step breaks a claim. What the claim does not speak of is 0.
struct Violation {
  std::uint32_t position = 0;  ///< for PositionsAlike the first of two, the next one is the other
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;  ///< for ContributorsAlike the first of two, likewise

  bool operator==(const Violation&) const = default;
};

/// The first violation by position, chunk and contributor, or nothing: the explicit engine's answer
/// for one step, by the interpreter and the words of claim.h.
std::optional<Violation> violation(Claim claim, const Step& step);

/// What is wrong, in one paragraph.
std::string explain(Claim claim, const Step& step, const Violation& violation);

}  // namespace p2::definition
