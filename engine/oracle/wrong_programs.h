#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/execution/inputs.h"
#include "engine/program/program.h"

namespace p2::oracle {

/// A program that the rules refuse, and what it does to data all the same.
struct WrongProgram {
  Program program;
  std::size_t step = 0;  ///< that is refused, from 1; the number of steps if the goal is missed
  std::string rule;      ///< as rule_name names it
  std::string reason;    ///< one paragraph
  std::uint64_t wrong_elements = 0;  ///< of the result; 0: the data come out right all the same
};

/// At most `most` refused programs made of `program` by one change: a step left out, doubled,
/// exchanged with the next or given another collective; a group without its last rank; one more
/// step over the classes. As many rules as possible, and with each as far as there are some both
/// programs whose data are wrong and programs whose data are right. They are run on
/// `chunk_elements` elements per chunk. All steps are bare groups. The same for the same program.
std::vector<WrongProgram> wrong_programs(const Program& program, const execution::Inputs& inputs,
                                         std::size_t chunk_elements, std::size_t most);

}  // namespace p2::oracle
