#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// Numbers for texts: equal texts, equal numbers. Two modules that share a table can be compared.
class Fingerprints {
 public:
  std::uint32_t of(const std::string& text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

/// What is known of the computations of a module before any is run.
class ComputationFacts {
 public:
  ComputationFacts(const Module& module, Fingerprints& fingerprints);

  /// Equal for computations that are written alike but for names.
  std::uint32_t fingerprint(std::uint32_t computation) const { return fingerprints_[computation]; }
  /// Whether what it computes may depend on the device, or on what other devices compute.
  bool asks_devices(std::uint32_t computation) const { return asks_devices_[computation]; }
  /// Whether running it twice may give two results, or it acts on something outside.
  bool is_impure(std::uint32_t computation) const { return impure_[computation]; }

  /// Everything that decides what an instruction computes of its operands.
  std::string describe(const Instruction& instruction) const;
  /// The same of who takes part in a collective.
  static std::string describe_groups(const Instruction& instruction);

 private:
  std::string file_;
  std::vector<std::uint32_t> fingerprints_;
  std::vector<bool> asks_devices_;
  std::vector<bool> impure_;
};

/// Whether an operation gives another result, or does something outside, each time.
bool is_impure(const Instruction& instruction);

}  // namespace p2::hlo
