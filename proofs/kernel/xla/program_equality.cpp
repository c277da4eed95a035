// The claim `programs-equal`: several programs on devices of their own compute what a module does
// that is not partitioned.

#include <algorithm>
#include <set>
#include <stdexcept>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/related_programs.h"
#include "proofs/kernel/xla/relation_input.h"

namespace p2::kernel {
namespace {

using namespace xla;

constexpr std::uint64_t kMaxProgramDevices = 65536;
constexpr std::size_t kMaxNamed = 32;  ///< inputs, outputs and programs that the claim lists

std::vector<Shape> inputs_of(const Module& module) {
  std::vector<Shape> all;
  for (const std::uint32_t each : module.main().parameters) {
    for (Shape& shape : arrays_of(module.main().instructions[each].shape)) {
      if (shape.type.name != "token") all.push_back(std::move(shape));
    }
  }
  return all;
}

std::vector<Shape> outputs_of(const Module& module) {
  std::vector<Shape> all = arrays_of(module.main().instructions[module.main().root].shape);
  std::erase_if(all, [](const Shape& shape) { return shape.type.name == "token"; });
  return all;
}

std::size_t instructions_of(const Module& module) {
  std::size_t all = 0;
  for (const auto& [name, computation] : module.computations)
    all += computation.instructions.size();
  return all;
}

class ProgramsClaim {
 public:
  explicit ProgramsClaim(const Json& problem)
      : whole_(module_of(problem, "before")), programs_(programs_of(problem)) {
    expect_keys(problem, {"before", "devices", "inputs", "outputs", "placements", "programs"});
    for (const Json& each : as_list(problem["placements"])) {
      expect_keys(each, {"parts", "pieces", "reducer"});
      placements_.push_back(&each);
    }
    const auto read = [&](const char* key, const auto& arrays) {
      std::vector<std::vector<Shape>> own;
      for (std::size_t k = 0; k < programs_.count(); ++k)
        own.push_back(arrays(programs_.at(k).module));
      return relations_of(problem[key], arrays(whole_), own);
    };
    for (std::size_t k = 0; k < programs_.count(); ++k)
      require_no_new_order(whole_, programs_.at(k).module);
    inputs_ = read("inputs", inputs_of);
    outputs_ = read("outputs", outputs_of);
  }

  std::string words() const {
    std::string text = counted(programs_.count(), "program") + " on " +
                       counted(programs_.device_count(), "device") +
                       " have the outputs of the module before, and no device waits forever where "
                       "each communicates in the order of its text (before: " +
                       printable(whole_.name) + ", " +
                       counted(instructions_of(whole_), "instruction") + "; ";
    for (std::size_t k = 0; k < std::min(programs_.count(), kMaxNamed); ++k) {
      const Program& program = programs_.at(k);
      text += printable(program.module.name) + ", " +
              counted(instructions_of(program.module), "instruction") + ", on " +
              counted(program.devices.size(), "device") + " from device " +
              std::to_string(program.devices.at(0)) + "; ";
    }
    if (programs_.count() > kMaxNamed)
      text += "and " + counted(programs_.count() - kMaxNamed, "more program") + "; ";
    if (inputs_.size() + outputs_.size() > kMaxNamed)
      return text + counted(inputs_.size(), "input") + " and " +
             counted(outputs_.size(), "output") + " held as problem.json has it)";
    std::string separator;
    for (const auto* list : {&inputs_, &outputs_}) {
      for (std::size_t k = 0; k < list->size(); ++k) {
        const Relation& relation = *(*list)[k].relation;
        text += separator + (list == &inputs_ ? "input " : "output ") + std::to_string(k) +
                (relation.reducer ? " as a reduction of " + counted(relation.parts, "part") : "") +
                " in " + counted(relation.pieces.size(), "piece");
        separator = ", ";
      }
    }
    return text + ")";
  }

  /// Accepts equality by the facts that `evidence` lists, and says for which inputs, or ends the
  /// check.
  std::string require_related(const FactLines& evidence) {
    RelatedPrograms related(whole_, programs_, inputs_, budget_);
    require_arrays(related);
    // Facts about inputs, program by program, and then as they are listed.
    std::vector<RelatedPrograms::ProgramFact> facts;
    for (std::size_t k = 0; k < programs_.count(); ++k) {
      for (std::size_t fact = 0; fact < related.at(k).facts().size(); ++fact)
        facts.emplace_back(k, fact);
    }
    std::vector<RelatedPrograms::ProgramFact> from;
    Index hint;
    const auto name = [&](auto begin, auto end) {
      from.clear();
      for (; begin != end; ++begin) from.push_back(facts.at(*begin));
    };
    evidence.for_each([&](std::span<const std::uint32_t> line) {
      if (line.size() < 3 || line[2] > line.size() - 3) malformed("a fact");
      const auto end = line.begin() + 3 + line[2];
      name(line.begin() + 3, end);
      hint.assign(end, line.end());
      auto fact = related.follows({line[0], line[1]}, from, hint);
      if (!fact)
        reject("fact " + std::to_string(facts.size()) + " does not follow: " +
               printable(related.at(line[0]).local().nodes.at(line[1]).instruction->name));
      facts.emplace_back(line[0], related.at(line[0]).add(std::move(*fact)));
    });
    const List& outputs = as_list(evidence.outputs());
    if (outputs.size() != outputs_.size()) malformed("the facts of outputs");
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const kernel::Numbers own = as_numbers(outputs[k], FactLines::kEnd);
      name(own.begin(), own.end());
      if (!related.answers(from, k, outputs_[k]))
        reject("the facts about output " + std::to_string(k) + " are not what the relation says");
    }
    return related.whole().words_of_inputs();
  }

  RelatedPrograms relate() { return {whole_, programs_, inputs_, budget_}; }
  const std::vector<ProgramsRelation>& outputs() const { return outputs_; }

 private:
  static Module module_of(const Json& problem, const char* key) {
    if (!problem.is_object() || !problem.contains(key)) malformed("a problem has no modules");
    return read_module(as_text(problem[key]), key);
  }

  /// Inputs and outputs of all modules are arrays, and numbered as relations have them.
  void require_arrays(RelatedPrograms& related) const {
    for (std::size_t k = 0; k < programs_.count(); ++k) {
      const FlatModule& flat = related.at(k).local();
      if (!have_shapes(flat, flat.inputs, inputs_of(flat.module)) ||
          !have_shapes(flat, flat.outputs, outputs_of(flat.module)))
        not_covered("inputs or outputs that are not arrays");
    }
    const auto& whole = related.whole();
    const std::vector<Shape> shapes = outputs_of(whole_);
    if (!std::equal(whole.outputs.begin(), whole.outputs.end(), shapes.begin(), shapes.end(),
                    [&](std::size_t tensor, const Shape& shape) {
                      return whole.tensors.at(tensor).sizes == shape.sizes;
                    }))
      not_covered("inputs or outputs that are not arrays");
  }

  Programs programs_of(const Json& problem) {
    const Json& list = problem.contains("programs") ? problem["programs"] : problem["before"];
    if (!problem.contains("devices")) malformed("a problem has no devices");
    const std::size_t count = as_number(problem["devices"], kMaxProgramDevices + 1);
    std::vector<Program> programs;
    for (const Json& each : as_list(list)) {
      expect_keys(each, {"devices", "module"});
      std::vector<std::size_t> devices;
      for (const Json& range : as_list(each["devices"])) {
        const kernel::Numbers ends = as_numbers(range, count);
        if (ends.size() != 2 || ends[0] > ends[1] ||
            (!devices.empty() && ends[0] <= devices.back()))
          malformed("the devices of a program");
        for (std::size_t device = ends[0]; device <= ends[1]; ++device) devices.push_back(device);
      }
      if (devices.empty()) malformed("a program without devices");
      programs.emplace_back(read_module(as_text(each["module"]), "a program"), std::move(devices),
                            count);
    }
    return {std::move(programs), count, budget_};
  }

  std::vector<ProgramsRelation> relations_of(const Json& json, const std::vector<Shape>& wholes,
                                             const std::vector<std::vector<Shape>>& others) {
    std::vector<ProgramsRelation> relations;
    std::set<std::pair<std::size_t, std::size_t>> used;
    std::size_t all = 0;
    for (const auto& each : others) all += each.size();
    for (const Json& each : as_list(json)) {
      if (relations.size() == wholes.size()) malformed("more relations than tensors");
      const Shape& whole = wholes[relations.size()];
      expect_keys(each, {"numbers", "placement"});
      ProgramsRelation& relation = relations.emplace_back();
      const std::size_t placement = as_number(each["placement"], placements_.size());
      relation.relation = &placed(placement, whole);
      for (const Json& pair : as_list(each["numbers"])) {
        const kernel::Numbers at = as_numbers(pair, 1ULL << 31U);
        if (at.size() != 2 || at[0] >= others.size() || at[1] >= others[at[0]].size())
          malformed("a number of a tensor");
        if (!used.emplace(at[0], at[1]).second || !relation.numbers.emplace(at[0], at[1]).second)
          malformed("a tensor is related twice");
        const Shape& other = others[at[0]][at[1]];
        if (!(whole.type == other.type) || whole.sizes.size() != other.sizes.size())
          malformed("tensors of other types or dimensions are related");
      }
      budget_.spend(relation.relation->pieces.size());
      for (const Piece& piece : relation.relation->pieces) {
        const std::size_t program = programs_.program_of(piece.device);
        const auto number = relation.numbers.find(program);
        if (number == relation.numbers.end()) malformed("a piece on a device without the tensor");
        const Index& sizes = others[program][number->second].sizes;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          if (piece.at[i] + piece.sizes[i] > sizes[i]) malformed("a piece lies beyond its tensor");
        }
      }
    }
    if (relations.size() != wholes.size() || used.size() != all)
      reject("an input or output is not related");
    return relations;
  }

  /// A placement of a tensor; all of every part is held.
  const Relation& placed(std::size_t placement, const Shape& whole) {
    const auto [found, is_new] = placed_.emplace(std::pair(placement, whole.sizes), Relation());
    Relation& relation = found->second;
    if (!is_new) return relation;
    const Json& json = *placements_[placement];
    relation =
        read_pieces(json, whole, nullptr, programs_.device_count(), kMaxProgramDevices, budget_);
    if (relation.parts == 1) relation.reducer.reset();
    return relation;
  }

  Budget budget_;
  Module whole_;
  Programs programs_;
  std::vector<const Json*> placements_;
  std::map<std::pair<std::size_t, Index>, Relation> placed_;
  std::vector<ProgramsRelation> inputs_, outputs_;
};

/// Numbers in modules that point beyond what they index end as std::out_of_range, from the bounds
/// checks of the standard library.
template <typename Check>
auto of_programs(const Json& problem, const Check& check) {
  try {
    ProgramsClaim claim(problem);
    return check(claim);
  } catch (const std::out_of_range&) {
    malformed("a number in a module is beyond what it indexes");
  }
}

}  // namespace

std::string judge_programs(const std::string& /*claim*/, const Json& statement,
                           const Files& files) {
  return of_programs(statement["problem.json"], [&](ProgramsClaim& claim) {
    const std::string inputs = claim.require_related(FactLines(files));
    return inputs + ", in real numbers, " + claim.words();
  });
}

void xla::with_related_programs(
    const Files& files,
    const std::function<void(RelatedPrograms& programs,
                             const std::vector<ProgramsRelation>& outputs)>& prove) {
  of_programs(parse_json(files, "problem.json"), [&](ProgramsClaim& claim) {
    RelatedPrograms related = claim.relate();
    prove(related, claim.outputs());
    return 0;
  });
}

}  // namespace p2::kernel
