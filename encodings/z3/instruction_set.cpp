#include "encodings/z3/instruction_set.h"

#include <set>
#include <stdexcept>

namespace p2::z3_encoding {
namespace {

constexpr std::size_t kMostLatticeFactors = 8;

std::vector<GroupShape> linear_names(const SynthesisHierarchy& hierarchy) {
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  std::vector<GroupShape> names;
  for (std::uint32_t slice = 0; slice < levels; ++slice) {
    names.push_back(linear_shape(hierarchy, slice, Form::InsideGroup, 0));
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels; ++slice) {
      for (std::uint32_t level = 0; level < slice; ++level) {
        names.push_back(linear_shape(hierarchy, slice, form, level));
      }
    }
  }
  return names;
}

/// Every way to say of every factor whether groups vary over it, pin it to zero, or neither: those
/// that pin nothing first.
std::vector<GroupShape> lattice_names(const SynthesisHierarchy& hierarchy) {
  std::vector<std::uint32_t> factors;
  for (std::uint32_t l = 0; l < hierarchy.levels().size(); ++l) {
    if (hierarchy.levels()[l].size > 1) factors.push_back(l);
  }
  if (factors.size() > kMostLatticeFactors) {
    throw std::length_error("the lattice has more than 8 factors greater than 1");
  }
  std::vector<GroupShape> names;
  const auto subset = [&](std::uint32_t bits) {
    std::vector<std::uint32_t> some;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if ((bits >> i & 1U) != 0) some.push_back(factors[i]);
    }
    return some;
  };
  for (std::uint32_t pinned = 0; pinned < 1U << factors.size(); ++pinned) {
    for (std::uint32_t varied = 1; varied < 1U << factors.size(); ++varied) {
      if ((varied & pinned) != 0) continue;
      names.push_back(lattice_shape(hierarchy, subset(varied), subset(pinned)));
    }
  }
  return names;
}

}  // namespace

std::vector<Instruction> all_instructions(const Lowering& lowering, const Instance& instance,
                                          Dialect dialect, const Rulebook& rulebook,
                                          const Meter& meter) {
  const SynthesisHierarchy& hierarchy = instance.hierarchy;
  std::vector<Instruction> instructions;
  std::set<std::vector<Group>> known;
  for (const GroupShape& name :
       hierarchy.is_lattice() ? lattice_names(hierarchy) : linear_names(hierarchy)) {
    meter.checkpoint();
    const Formed formed = lowering.form(name);
    if (formed.groups.empty() || !known.insert(formed.groups).second) continue;
    for (std::uint32_t rule = 0; rule < rulebook.rules().size(); ++rule) {
      const std::string& collective = rulebook.rules()[rule].definition.name;
      if (!dialect_allows(dialect, formed.everyone, collective)) continue;
      instructions.push_back({name, rule, formed.groups});
    }
  }
  return instructions;
}

}  // namespace p2::z3_encoding
