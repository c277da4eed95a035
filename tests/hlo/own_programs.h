#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/hlo/small_programs.h"

/// Random programs of four devices, each of which computes with arrays of its own.
namespace p2::hlo::small::own {

constexpr std::size_t kDevices = 4;
using Groups = std::vector<std::vector<std::size_t>>;

/// Tiles of an array, and of which device each is.
struct Tiles {
  std::string sharding;
  Index parts;                   ///< of every dimension
  std::vector<Index> of_device;  ///< tiles
};

/// A program of few operations, each of which may exchange between devices.
class OwnProgram {
 public:
  explicit OwnProgram(std::uint32_t seed);

  /// The same lines where every device computes for itself, with all arrays as outputs; and wholes
  /// of some of them. `outputs`: the steps.
  std::string manual_text(std::vector<std::size_t>& outputs);
  /// The lines as they are, with all arrays as outputs.
  std::string own_text() const;

  SmallProgram program;
  std::vector<Tiles> tiles;  ///< by parameter

 private:
  /// A number of its own for every device; some have the same.
  std::size_t own_number(std::int64_t end);
  void add_made(const std::string& opcode, Form form, const Index& sizes,
                std::vector<std::size_t> operands, const std::string& attributes,
                const Groups& groups = {}, std::size_t along = 0);
  void add_step();
  void add_collective(std::size_t x, std::size_t along);

  std::string type_;
  std::size_t zero_ = 0;
  std::vector<std::size_t> values_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

}  // namespace p2::hlo::small::own
