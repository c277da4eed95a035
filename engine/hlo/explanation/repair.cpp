// Changes of a module that may make it right, near the instructions whose values are not those of
// the other module.

#include "engine/hlo/explanation/related_modules.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/hlo/explanation/module_changes.h"

namespace p2::hlo {
namespace {

bool is_reduction(std::string_view opcode) {
  return opcode == "all-reduce" || opcode == "reduce" || opcode == "reduce-scatter" ||
         opcode == "reduce-window";
}

class RepairSearch {
 public:
  RepairSearch(RelatedModules& modules, const std::vector<std::uint32_t>& region,
               const std::function<bool(Repair&&)>& visit)
      : modules_(modules), region_(region), visit_(visit) {
    std::set<const Instruction*> seen;
    const auto add = [&](std::uint32_t array) {
      const Instruction* instruction = modules.array(array).instruction;
      if (seen.insert(instruction).second) instructions_.push_back(instruction);
    };
    // Back from the region: constants, partial results and multiples as far as they go, other
    // arrays a few steps.
    std::map<std::uint32_t, int> steps;
    std::vector<std::uint32_t> open;
    const auto reach = [&](std::uint32_t array, int step) {
      const auto [found, added] = steps.try_emplace(array, step);
      if (!added && found->second <= step) return;
      found->second = step;
      open.push_back(array);
    };
    for (const std::uint32_t array : region) reach(array, 0);
    while (!open.empty()) {
      const std::uint32_t array = open.back();
      open.pop_back();
      for (const std::uint32_t operand : modules.array(array).operands) {
        const bool is_input = modules.array(operand).depends_on_inputs;
        const bool is_plain =
            is_input && (!modules.holding(operand) || modules.holding(operand)->is_plain());
        const int step = steps[array] + (is_plain ? 1 : 0);
        if (step <= kMaxSteps) reach(operand, step);
      }
    }
    std::set<std::uint32_t> near;
    for (const auto& [array, step] : steps) near.insert(array);
    for (const std::uint32_t array : near) add(array);
    for (const std::uint32_t array : near) {
      if (modules.array(array).depends_on_inputs) arrays_.push_back(array);
    }
  }

  void run() {
    goes_on_ = true;
    for (const Instruction* each : instructions_) change_reducer(*each);
    for (const Instruction* each : instructions_) remove(*each);
    for (const std::uint32_t array : arrays_) reduce_partial(array);
    for (const Instruction* each : instructions_) regroup(*each);
    for (const std::uint32_t array : arrays_) reduce_before_use(array);
    for (const Instruction* each : instructions_) swap_operands(*each);
    for (const Instruction* each : instructions_) change_direction(*each);
    for (const Instruction* each : instructions_) scale_constant(*each);
    for (const std::uint32_t array : arrays_) scale(array);
    for (const Instruction* each : instructions_) shift_slice(*each);
    for (const Instruction* each : instructions_) permute_otherwise(*each);
    for (const std::uint32_t array : arrays_) reduce_anywhere(array);
    for (const std::uint32_t array : region_) replace_operands(array);
  }

 private:
  template <typename Change>
  void attempt(const Instruction& instruction, std::string words, const Groups& groups,
               const Change& change, bool is_missing = false) {
    if (!goes_on_) return;
    const auto place = place_of(modules_.subject(), &instruction);
    if (!place) return;
    Repair repair{&instruction, std::move(words), is_missing, groups, modules_.subject()};
    Computation& computation = repair.module.computations[place->computation];
    if (!change(repair.module, computation, place->instruction)) return;
    goes_on_ = visit_(std::move(repair));
  }

  template <typename Make>
  void offer(const Make& make) {
    if (!goes_on_) return;
    if (auto repair = make()) goes_on_ = visit_(std::move(*repair));
  }

  std::string all_reduce_words(Reducer reducer, const Groups& groups,
                               const std::string& after) const {
    return fmt::format("an all-reduce ({}) over {} after {}", to_string(reducer),
                       modules_.over(groups), after);
  }

  /// Whether an array is all that its instruction makes.
  bool is_result(const TracedArray& array) const {
    return !array.instruction->shape.is_tuple &&
           array.instruction->shape.array.sizes == array.shape.sizes;
  }

  /// Devices hold parts of a reduction: reduces them.
  void reduce_partial(std::uint32_t number) {
    const TracedArray& array = modules_.array(number);
    const auto& holding = modules_.holding(number);
    if (!holding || holding->reducer == Reducer::Unknown || !is_result(array)) return;
    const Instruction& of = *array.instruction;
    offer([&] {
      return with_reduction(modules_.subject(), of, holding->reducer, holding->groups,
                            modules_.over(holding->groups));
    });
  }

  /// Devices hold parts of a reduction, and what is computed of them is reduced: reduces before.
  void reduce_before_use(std::uint32_t number) {
    const TracedArray& array = modules_.array(number);
    const auto& holding = modules_.holding(number);
    if (!holding || holding->reducer == Reducer::Unknown || !is_result(array)) return;
    const Instruction& of = *array.instruction;
    const auto place = place_of(modules_.subject(), &of);
    if (!place) return;
    for (const Instruction* later : instructions_) {
      const auto other = place_of(modules_.subject(), later);
      if (!goes_on_ || later->opcode != "all-reduce" || !other ||
          other->computation != place->computation || other->instruction <= place->instruction) {
        continue;
      }
      attempt(
          of,
          fmt::format("{} in place of {}",
                      all_reduce_words(holding->reducer, holding->groups, of.name), later->name),
          holding->groups, [&](Module& module, Computation&, std::uint32_t i) {
            Instruction added = all_reduce(module, of, i, holding->reducer, holding->groups);
            Computation& in = module.computations[place->computation];
            if (!makes_same_shape(in, in.instructions[other->instruction])) return false;
            make_copy(in.instructions[other->instruction]);
            insert_after(in, i, {std::move(added)});
            return true;
          });
    }
    for (const std::uint32_t user : region_) {
      const TracedArray& other = modules_.array(user);
      const auto at = place_of(modules_.subject(), other.instruction);
      if (!goes_on_ || std::ranges::find(other.operands, number) == other.operands.end() || !at ||
          at->computation != place->computation) {
        continue;
      }
      attempt(
          of,
          fmt::format("{}, for {}", all_reduce_words(holding->reducer, holding->groups, of.name),
                      other.instruction->name),
          holding->groups,
          [&](Module& module, Computation&, std::uint32_t i) {
            Instruction added = all_reduce(module, of, i, holding->reducer, holding->groups);
            insert_after(module.computations[place->computation], i, {std::move(added)},
                         at->instruction);
            return true;
          },
          true);
    }
  }

  void remove(const Instruction& instruction) {
    const bool is_scaling = instruction.opcode == "multiply" || instruction.opcode == "divide";
    if (!is_scaling && !is_collective(base_opcode(instruction.opcode))) return;
    offer([&] { return without(modules_.subject(), instruction); });
  }

  void regroup(const Instruction& instruction) {
    if (!is_collective(base_opcode(instruction.opcode)) || !instruction.attributes.pairs.empty()) {
      return;
    }
    for (const Groups& groups : modules_.groups()) {
      offer([&] {
        return with_groups(modules_.subject(), instruction, groups, modules_.over(groups));
      });
    }
  }

  /// An array is a multiple of what it ought to be.
  void scale(std::uint32_t number) {
    const TracedArray& array = modules_.array(number);
    const auto& holding = modules_.holding(number);
    if (!holding || holding->factor == Number{1, 1} || !is_result(array)) return;
    const Instruction& of = *array.instruction;
    if (of.program == kEveryProgram) return;  // no device would have the factor
    const Number factor = holding->factor;
    attempt(of,
            factor.is_whole() ? fmt::format("{} divided by {}", of.name, factor.numerator)
                              : fmt::format("{} multiplied by {}", of.name, factor.denominator),
            {}, [&](Module&, Computation& in, std::uint32_t i) {
              const Shape scalar{false, {of.shape.array.type, {}, {}}, {}};
              Instruction constant{of.name + ".factor", "constant", scalar};
              Literal literal{scalar.array, {{Number{factor.denominator, factor.numerator}, {}}}};
              constant.literal = std::make_shared<const Literal>(std::move(literal));
              Instruction wide{of.name + ".factors", "broadcast", of.shape, {i + 1}};
              Instruction product{of.name + ".scaled", "multiply", of.shape, {i, i + 2}};
              insert_after(in, i, {constant, wide, product});
              return true;
            });
  }

  void swap_operands(const Instruction& instruction) {
    static constexpr std::array kOrdered = {"subtract", "divide", "remainder",  "power",
                                            "dot",      "select", "concatenate"};
    if (std::ranges::find(kOrdered, instruction.opcode) == kOrdered.end()) return;
    const std::size_t first = instruction.opcode == "select" ? 1 : 0;
    attempt(instruction, fmt::format("the operands of {} the other way round", instruction.name),
            {}, [&](Module&, Computation& in, std::uint32_t i) {
              auto& operands = in.instructions[i].operands;
              if (operands.size() != first + 2 || operands[first] == operands[first + 1]) {
                return false;
              }
              // Of others the contracted dimensions, or those of the result, would not fit.
              const auto sizes = [&](std::size_t k) -> const auto& {
                return in.instructions[operands[k]].shape.array.sizes;
              };
              if (instruction.opcode == "dot" && sizes(0) != sizes(1)) return false;
              std::swap(operands[first], operands[first + 1]);
              return true;
            });
  }

  void change_reducer(const Instruction& instruction) {
    if (!is_reduction(instruction.opcode) || instruction.called.size() != 1) return;
    const Computation& called = modules_.subject().computations[instruction.called[0]];
    const Instruction& root = called.instructions[called.root];
    for (const char* opcode : {"add", "maximum", "minimum", "multiply"}) {
      if (root.opcode == opcode || reducer_of(called) == Reducer::Unknown) continue;
      if (root.shape.array.type.kind() == ElementType::Kind::Boolean) continue;
      attempt(instruction,
              fmt::format("{} in place of {} as the reducer of {}", opcode, root.opcode,
                          instruction.name),
              {}, [&](Module& module, Computation&, std::uint32_t i) {
                // Others may call the same computation.
                Computation changed = called;
                changed.name += fmt::format(".{}", opcode);
                changed.instructions[changed.root].opcode = opcode;
                const auto number = static_cast<std::uint32_t>(module.computations.size());
                module.computations.push_back(std::move(changed));
                const std::size_t caller = place_of(modules_.subject(), &instruction)->computation;
                module.computations[caller].instructions[i].called[0] = number;
                return true;
              });
    }
  }

  void change_direction(const Instruction& instruction) {
    if (instruction.opcode != "compare") return;
    for (const char* direction : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
      if (instruction.attributes.direction == direction) continue;
      attempt(instruction,
              fmt::format("{} in place of {} in {}", direction, instruction.attributes.direction,
                          instruction.name),
              {}, [&](Module&, Computation& in, std::uint32_t i) {
                in.instructions[i].attributes.direction = direction;
                return true;
              });
    }
  }

  void scale_constant(const Instruction& instruction) {
    if (instruction.opcode != "constant" || !instruction.literal || instruction.shape.is_tuple)
      return;
    const Literal& literal = *instruction.literal;
    if (literal.elided || literal.elements.size() != 1 || !literal.elements[0].text.empty() ||
        literal.shape.type.kind() == ElementType::Kind::Boolean) {
      return;
    }
    const Number value = literal.elements[0].number;
    std::set<std::int64_t> sizes;
    for (const Groups& groups : modules_.groups()) {
      sizes.insert(static_cast<std::int64_t>(groups[0].size()));
    }
    std::vector<Number> values = other_constants(literal.shape.type);
    for (const std::int64_t size : sizes) {
      for (const Number factor : {Number{size, 1}, Number{1, size}}) {
        if (const auto scaled = product(value, factor)) values.push_back(*scaled);
      }
    }
    for (const Number each : values) {
      if (each == value || (!literal.shape.type.is_float() && !each.is_whole())) continue;
      attempt(instruction,
              fmt::format("{} in place of {} in {}", to_string(each), to_string(value),
                          instruction.name),
              {}, [&](Module&, Computation& in, std::uint32_t i) {
                Literal changed = literal;
                changed.elements[0].number = each;
                in.instructions[i].literal = std::make_shared<const Literal>(std::move(changed));
                return true;
              });
    }
  }

  /// The scalar constants of the other module.
  std::vector<Number> other_constants(ElementType type) const {
    std::vector<Number> all;
    for (const Computation& computation : modules_.other().computations) {
      for (const Instruction& each : computation.instructions) {
        if (!each.literal || each.literal->elided || each.literal->elements.size() != 1) continue;
        const LiteralElement& element = each.literal->elements[0];
        if (!element.text.empty() || each.literal->shape.type != type) continue;
        if (std::ranges::find(all, element.number) == all.end()) all.push_back(element.number);
        if (all.size() == kMaxConstants) return all;
      }
    }
    return all;
  }

  /// Where nothing is known of an array: reduces it all the same.
  void reduce_anywhere(std::uint32_t number) {
    const TracedArray& array = modules_.array(number);
    const Instruction& of = *array.instruction;
    if (!is_result(array) || !array.shape.type.is_float()) return;
    for (const Groups& groups : modules_.groups()) {
      offer([&] {
        return with_reduction(modules_.subject(), of, Reducer::Add, groups, modules_.over(groups));
      });
    }
  }

  /// Another value of the same shape in place of an operand.
  void replace_operands(std::uint32_t number) {
    const Instruction& instruction = *modules_.array(number).instruction;
    const auto place = place_of(modules_.subject(), &instruction);
    if (!place) return;
    const auto& all = modules_.subject().computations[place->computation].instructions;
    for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
      const Instruction& operand = all[instruction.operands[k]];
      for (std::uint32_t i = 0; i < place->instruction; ++i) {
        if (i == instruction.operands[k] || all[i].shape.is_tuple || operand.shape.is_tuple)
          continue;
        if (all[i].shape.array.type != operand.shape.array.type ||
            all[i].shape.array.sizes != operand.shape.array.sizes) {
          continue;
        }
        // Devices of another of several linked programs have no value of it: of what is received
        // those that send it have one.
        if (!modules_.subject().programs.empty() &&
            (all[i].program != operand.program || all[i].program == kEveryProgram)) {
          continue;
        }
        const std::string words = instruction.opcode == kMatchedReceive
                                      ? fmt::format("{} sent in place of {} to {}", all[i].name,
                                                    operand.name, instruction.name)
                                      : fmt::format("{} in place of {} as operand {} of {}",
                                                    all[i].name, operand.name, k, instruction.name);
        attempt(instruction, words, {}, [&](Module&, Computation& in, std::uint32_t at) {
          in.instructions[at].operands[k] = i;
          return true;
        });
      }
    }
  }

  void shift_slice(const Instruction& instruction) {
    if (instruction.opcode != "slice") return;
    const Attributes& attributes = instruction.attributes;
    for (std::size_t d = 0; d < attributes.starts.size(); ++d) {
      const std::int64_t size = attributes.limits[d] - attributes.starts[d];
      const auto place = place_of(modules_.subject(), &instruction);
      if (!place || size <= 0) continue;
      const std::int64_t whole = modules_.subject()
                                     .computations[place->computation]
                                     .instructions[instruction.operands[0]]
                                     .shape.array.sizes[d];
      for (std::int64_t start = 0; start + size <= whole; ++start) {
        if (start == attributes.starts[d] || size == whole) continue;
        if (whole > kMaxSliced && start % size != 0 && start + size != whole) continue;
        attempt(
            instruction,
            fmt::format("[{}:{}] in place of [{}:{}] along dimension {} in {}", start, start + size,
                        attributes.starts[d], attributes.limits[d], d, instruction.name),
            {}, [&](Module&, Computation& in, std::uint32_t i) {
              in.instructions[i].attributes.starts[d] = start;
              in.instructions[i].attributes.limits[d] = start + size;
              return true;
            });
      }
    }
  }

  void permute_otherwise(const Instruction& instruction) {
    if (base_opcode(instruction.opcode) != "collective-permute") return;
    const auto propose = [&](const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs,
                             const std::string& words) {
      if (pairs == instruction.attributes.pairs) return;
      attempt(instruction, words, {}, [&](Module&, Computation& in, std::uint32_t i) {
        in.instructions[i].attributes.pairs = pairs;
        return true;
      });
    };
    std::vector<std::pair<std::int64_t, std::int64_t>> reversed;
    for (const auto& [source, target] : instruction.attributes.pairs) {
      reversed.emplace_back(target, source);
    }
    propose(reversed, fmt::format("{} the other way round", instruction.name));
    for (const Computation& computation : modules_.other().computations) {
      for (const Instruction& each : computation.instructions) {
        if (each.attributes.pairs.empty()) continue;
        propose(each.attributes.pairs,
                fmt::format("the pairs of {} in {}", each.name, instruction.name));
      }
    }
    if (modules_.devices().replicas != 1) return;
    for (const Groups& groups : modules_.groups()) {
      const auto size = static_cast<std::int64_t>(groups[0].size());
      for (const std::int64_t step : {1, -1}) {
        for (const bool wraps : {true, false}) {
          std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
          for (const auto& group : groups) {
            for (std::int64_t k = 0; k < size; ++k) {
              const std::int64_t to = k + step;
              if (!wraps && (to < 0 || to >= size)) continue;
              pairs.emplace_back(group[static_cast<std::size_t>(k)],
                                 group[static_cast<std::size_t>((to + size) % size)]);
            }
          }
          propose(pairs, fmt::format("{} by {} along {}{}", instruction.name, step,
                                     modules_.over(groups), wraps ? "" : ", without the ends"));
        }
      }
    }
  }

  static constexpr int kMaxSteps = 3;
  static constexpr std::int64_t kMaxSliced = 64;
  static constexpr std::size_t kMaxConstants = 24;

  RelatedModules& modules_;
  const std::vector<std::uint32_t>& region_;
  const std::function<bool(Repair&&)>& visit_;
  std::vector<const Instruction*> instructions_;
  std::vector<std::uint32_t> arrays_;  ///< that depend on inputs
  bool goes_on_ = false;
};

}  // namespace

void for_each_repair(RelatedModules& modules, const std::vector<std::uint32_t>& region,
                     const std::function<bool(Repair&&)>& visit) {
  RepairSearch(modules, region, visit).run();
}

}  // namespace p2::hlo
