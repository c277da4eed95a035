#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"

namespace p2 {

/// One level of a hardware hierarchy: `size` instances inside every instance of the level above.
/// A name has letters, digits, `_` and `-` and does not start with a digit or `-`; it has no `.`,
/// because `level.axis` names a factor of a level.
struct Level {
  std::string name;
  std::uint32_t size = 1;

  bool operator==(const Level&) const = default;
};

/// The hardware hierarchy `H = [h0 … hn]` (section 2), outermost level first. Levels of size 1 are
/// legal. Devices are the instances of the innermost level, numbered row-major.
class Hierarchy {
 public:
  /// Bound on the devices of a system: they are counted in 32 bits, with a few words of memory
  /// each.
  static constexpr std::uint64_t kMaxDevices = std::uint64_t{1} << 20;
  static constexpr std::size_t kMaxLevels = 64;

  Hierarchy() = default;
  /// Throws InputError at `where` for no level at all or more than kMaxLevels, a size of 0, a name
  /// that is none, two levels of one name, the reserved name `root`, or more than kMaxDevices
  /// devices.
  Hierarchy(std::vector<Level> levels, const SourcePosition& where);

  const std::vector<Level>& levels() const { return levels_; }
  std::uint32_t devices() const { return devices_; }

  bool operator==(const Hierarchy&) const = default;

 private:
  std::vector<Level> levels_;
  std::uint32_t devices_ = 1;
};

/// Parses `4,16` (levels are then named l0, l1, …) or `node=4,gpu=16`. `source` names the text in
/// messages.
Hierarchy parse_hierarchy(std::string_view source, std::string_view text);

/// `node=4,gpu=16`: the inverse of parse_hierarchy.
std::string to_string(const Hierarchy& hierarchy);

/// How the parts that an interconnect joins reach each other (section 5, figure 9).
enum class InterconnectKind {
  Switch,        ///< any pair at full bandwidth, one port per part
  Ring,          ///< each part reaches its two neighbours, each with half of its port's bandwidth
  SharedNic,     ///< all parts leave through one port, whose bandwidth they share
  SharedMedium,  ///< whatever a part sends or receives goes through one memory or bus: shared by
                 ///< all
};

enum class Duplex {
  Full,  ///< the bandwidth holds in both directions at once
  Half,  ///< both directions share it
};

/// Bandwidth of a leaf switch's ports to NICs against that of its uplinks to the spine: `2:1`.
struct Oversubscription {
  std::uint32_t down = 1;
  std::uint32_t up = 1;  ///< at most `down`

  bool operator==(const Oversubscription&) const = default;
};

/// One kind of link of a system. Every run of `span` consecutive instances of `level` (inside one
/// instance of the level above) has its own copy of it.
struct Interconnect {
  std::string name;
  InterconnectKind kind = InterconnectKind::Switch;
  std::string level;
  std::uint32_t span = 1;
  std::int64_t bytes_per_second = 1;  ///< per port and direction, at least 1
  std::int64_t latency_ps = 0;        ///< picoseconds per message
  Duplex duplex = Duplex::Full;
  bool reduces = false;  ///< a switch that reduces and multicasts itself: NVLS, SHARP
  /// Of a switch that joins nodes: it is leaf switches below a spine. With rails each run of `span`
  /// nodes has a leaf for its first NICs, one for its second ones and so on; otherwise one for all.
  bool rails = false;
  Oversubscription oversubscription = {};

  bool operator==(const Interconnect&) const = default;
};

/// Exact readings of `270 GB/s`, `12.5 GB/s`, `100 Gbit/s` (decimal prefixes K, M, G, T) in bytes
/// per second and of `700 ns`, `1.5 us` (ps, ns, us, ms, s) in picoseconds. Throw InputError at
/// `where` when the text is no such quantity, is not a whole number of units, or does not fit. A
/// latency may be 0, a bandwidth may not.
std::int64_t parse_bandwidth(std::string_view text, const SourcePosition& where);
std::int64_t parse_latency(std::string_view text, const SourcePosition& where);

/// The shortest of the notations above that parses back to the same value.
std::string bandwidth_to_string(std::int64_t bytes_per_second);
std::string latency_to_string(std::int64_t picoseconds);

std::string_view to_string(InterconnectKind kind);
std::string_view to_string(Duplex duplex);

/// A system: its hardware hierarchy and the interconnects between the instances of its levels
/// (section 2). A system given by `--hierarchy` alone has no interconnects: it can be placed,
/// synthesised for and checked, but not priced.
struct System {
  std::string name;
  Hierarchy hierarchy;
  std::vector<Interconnect> interconnects;
  /// What the model of NCCL needs beside the interconnects; empty where the file does not say.
  std::string gpu = {};     ///< `H100-SXM`
  std::string fabric = {};  ///< `ib-ndr`, `none` for one node

  bool operator==(const System&) const = default;
};

/// Reads a system file, described by examples/systems/system.schema.json. Throws InputError with
/// the file's line and column for anything that the schema, or the meaning of its keys, rules out.
System parse_system(const std::string& source, const std::string& text);

/// The JSON text of a system; parse_system reads it back to an equal one.
std::string to_json(const System& system);

}  // namespace p2
