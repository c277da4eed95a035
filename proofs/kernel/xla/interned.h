#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {

// Hash-consing: equal things have one number.

/// A hash to which values are added, one after the other. What is equal has equal hashes.
class Hasher {
 public:
  template <std::integral Number>
  Hasher& add(Number number) {
    value_ = (std::rotl(value_, 29) ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15U;
    return *this;
  }
  Hasher& add(std::string_view text) { return add(std::hash<std::string_view>()(text)); }
  template <typename A, typename B>
  Hasher& add(const std::pair<A, B>& pair) {
    return add(pair.first).add(pair.second);
  }
  template <typename Thing>
  Hasher& add(const std::vector<Thing>& list) {
    add(list.size());
    for (const Thing& each : list) add(each);
    return *this;
  }
  /// Of a struct its fields, by its own function.
  template <typename Thing>
  requires requires(const Thing& thing, Hasher& hash) { thing.add_to(hash); }
  Hasher& add(const Thing& thing) {
    thing.add_to(*this);
    return *this;
  }
  std::uint64_t value() const { return value_ ^ value_ >> 32U; }

 private:
  std::uint64_t value_ = 0;
};

/// Numbers things in the order in which they come. Both numbers and references last.
template <typename Thing>
class Interned {
 public:
  /// The number, and whether it is new: a copy is made of what is.
  std::pair<std::size_t, bool> number(const Thing& thing) { return numbered(thing); }
  std::pair<std::size_t, bool> number(Thing&& thing) { return numbered(std::move(thing)); }
  /// The number of a thing that has one.
  std::optional<std::size_t> find(const Thing& thing) {
    if (slots_.empty()) return std::nullopt;
    const std::size_t slot = slot_of(thing, Hasher().add(thing).value());
    return slots_[slot] == kNothing ? std::nullopt : std::optional<std::size_t>(slots_[slot]);
  }
  const Thing& at(std::size_t number) const { return things_.at(number); }
  std::size_t size() const { return things_.size(); }

 private:
  static constexpr std::uint32_t kNothing = UINT32_MAX;

  template <typename Given>
  std::pair<std::size_t, bool> numbered(Given&& thing) {
    const std::uint64_t hash = Hasher().add(thing).value();
    if (2 * things_.size() >= slots_.size()) grow();
    const std::size_t slot = slot_of(thing, hash);
    if (slots_[slot] != kNothing) return {slots_[slot], false};
    slots_[slot] = static_cast<std::uint32_t>(things_.size());
    hashes_.push_back(hash);
    things_.push_back(std::forward<Given>(thing));
    return {things_.size() - 1, true};
  }

  /// That of the thing, or the one where it would be.
  std::size_t slot_of(const Thing& thing, std::uint64_t hash) {
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kNothing; slot = (slot + 1) & (slots_.size() - 1)) {
      probes_.spend(1);
      if (hashes_[slots_[slot]] == hash && things_[slots_[slot]] == thing) break;
    }
    return slot;
  }

  void grow() {
    slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), kNothing);
    if (slots_.size() > kNothing) throw CheckFailure(Verdict::Incomplete, "too many things");
    for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
      std::size_t slot = hashes_[number] & (slots_.size() - 1);
      for (; slots_[slot] != kNothing; slot = (slot + 1) & (slots_.size() - 1)) probes_.spend(1);
      slots_[slot] = number;
    }
  }

  Budget probes_;  ///< of things whose hashes were made to collide
  std::deque<Thing> things_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  ///< numbers by hash, by open addressing; a power of two
};

using Numbering = std::vector<std::uint32_t>;  ///< of devices; those with one number are a class

/// Devices with one key are a class; its number is its first member.
template <typename Key>
Numbering numbered(const std::vector<Key>& keys) {
  // Open addressing: of every key its first device.
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const std::size_t mask = std::bit_ceil(2 * keys.size() + 1) - 1;
  std::vector<std::uint32_t> first(mask + 1, kNobody);
  Budget probes;
  Numbering classes;
  classes.reserve(keys.size());
  for (std::uint32_t device = 0; device < keys.size(); ++device) {
    std::size_t slot = Hasher().add(keys[device]).value() & mask;
    for (; first[slot] != kNobody && !(keys[first[slot]] == keys[device]); slot = (slot + 1) & mask)
      probes.spend(1);
    if (first[slot] == kNobody) first[slot] = device;
    classes.push_back(first[slot]);
  }
  return classes;
}

}  // namespace p2::kernel::xla
