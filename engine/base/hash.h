#pragma once

#include <cstdint>

namespace p2 {

/// Mixes one more word into a running hash (the finaliser of splitmix64).
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash += word + 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

}  // namespace p2
