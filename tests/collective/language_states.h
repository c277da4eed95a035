#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"

namespace p2::language {

/// `10 11|00 01`: two devices of two chunks of two contributors each; 1 = the contribution is held.
inline GroupState group(std::string_view drawing) {
  std::uint32_t devices = 1;
  std::uint32_t rows = 1;
  std::uint32_t digits = 0;
  for (const char ch : drawing) {
    devices += ch == '|' ? 1 : 0;
    rows += ch == '|' || ch == ' ' ? 1 : 0;
    digits += ch == '0' || ch == '1' ? 1 : 0;
  }
  const std::uint32_t chunks = rows / devices;
  const std::uint32_t contributors = digits / rows;
  GroupState state(devices, chunks, contributors);
  std::uint32_t place = 0;
  for (const char ch : drawing) {
    if (ch != '0' && ch != '1') continue;
    state.set(place / contributors / chunks, place / contributors % chunks, place % contributors,
              ch == '1');
    ++place;
  }
  return state;
}

/// The drawing of `state`: the inverse of `group`.
inline std::string drawn(const GroupState& state) {
  std::string drawing;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      if (i + r > 0) drawing += r == 0 ? '|' : ' ';
      for (std::uint32_t c = 0; c < state.contributors(); ++c) {
        drawing += state.holds(i, r, c) ? '1' : '0';
      }
    }
  }
  return drawing;
}

/// A definition with these lets and premises that changes nothing.
inline Definition with_clauses(std::string_view clauses) {
  return parse_definition("test.p2c", "collective Test \"a test\" " + std::string(clauses) +
                                          " ensure s'(i, r, c) = s(i, r, c) measure 0");
}

inline Expression formula(std::string_view text) {
  return with_clauses("require it \"\": " + std::string(text)).premises.at(0).formula;
}

inline Expression term(std::string_view text) {
  return with_clauses("let it = " + std::string(text)).lets.at(0).body;
}

}  // namespace p2::language
