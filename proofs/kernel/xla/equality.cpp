// The claims `modules-equal` and `modules-different`: two modules of XLA, executed on all devices.

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation_input.h"

namespace p2::kernel {
namespace {

using namespace xla;

/// Equal by chance with a probability of about 2^-59 each; two are independent.
constexpr int kPoints = 2;
constexpr std::int64_t kMaxModuleDevices = 4096;
constexpr std::int64_t kMaxExecuted = std::int64_t{1} << 26;  ///< elements of a tensor

std::string counted_devices(const Devices& devices) {
  return counted(static_cast<std::size_t>(devices.replicas), "replica") + " × " +
         counted(static_cast<std::size_t>(devices.partitions), "partition");
}

class Comparison {
 public:
  explicit Comparison(const Json& problem) {
    std::vector<std::string> keys = {"after", "before", "partitions", "relation", "replicas"};
    const bool is_written = problem.is_object() && problem.contains("written_from");
    if (is_written) keys.emplace_back("written_from");
    for (const char* key : {"constants", "folds", "finite"}) {
      if (problem.is_object() && problem.contains(key)) keys.emplace_back(key);
    }
    expect_keys(problem, keys);
    premises_ = Premises::read(problem);
    devices_.replicas = as_number(problem["replicas"], kMaxModuleDevices + 1);
    devices_.partitions = as_number(problem["partitions"], kMaxModuleDevices + 1);
    if (devices_.count() < 1 || devices_.replicas * devices_.partitions > kMaxModuleDevices)
      malformed("the number of devices");
    for (const char* key : {"before", "after"}) {
      modules_.push_back(read_module(as_text(problem[key]), key));
      inputs_.push_back(inputs_of(modules_.back()));
      const Computation& main = modules_.back().main();
      outputs_.push_back(arrays_of(main.instructions[main.root].shape));
    }
    require_no_new_order(modules_[0], modules_[1]);
    has_narrow_constants_ = has_narrow_constants();
    state_exactly({&modules_[0], &modules_[1]});
    for (const Module& module : modules_) {
      require_one_of_every_name(module);
      const bool has_others = (module.partitions > 1 && module.partitions != devices_.partitions) ||
                              (module.replicas > 1 && module.replicas != devices_.replicas);
      if (has_others) malformed("devices that a module does not run on");
    }
    if (is_written) read_origins(problem["written_from"]);
    read_relation(problem["relation"]);
  }

  /// What differs for some inputs may be equal for those that a condition leaves.
  void require_no_condition() const {
    if (!premises_.finite.empty()) malformed("what is finite, of modules that differ");
  }

  std::string words() const {
    const auto text = [&](const std::string& key, const Module& module) {
      std::size_t instructions = 0;
      for (const auto& [name, computation] : module.computations)
        instructions += computation.instructions.size();
      const auto origin = origins_.find(key);
      return key + ": " + printable(module.name) + ", " + counted(instructions, "instruction") +
             (origin == origins_.end() ? "" : ", a text written from " + origin->second);
    };
    std::string relation = "every device with inputs of its own";
    for (const bool on_partitions : {true, false}) {
      const std::set<std::size_t>& same = same_[on_partitions ? 1 : 0];
      if (!same.empty())
        relation += std::string("; on all ") + (on_partitions ? "partitions" : "replicas") +
                    " the same " + counted(same.size(), "input") + ":";
      for (const std::size_t each : same) relation += " " + std::to_string(each);
    }
    if (kind_ == "replicated") relation = "all devices with the same inputs";
    if (kind_ == "global") {
      relation = std::string(global_ == 0 ? "before" : "after") + " is not partitioned: ";
      std::string separator;
      for (const bool of_inputs : {true, false}) {
        const auto& shapes = (of_inputs ? inputs_ : outputs_)[global_];
        for (std::size_t k = 0; k < shapes.size(); ++k) {
          relation += separator + (of_inputs ? "input " : "output ") + std::to_string(k) +
                      words_of(relations_[of_inputs ? 0 : 1][k], shapes[k], devices_.count());
          separator = ", ";
        }
      }
    }
    return "(" + text("before", modules_[0]) + "; " + text("after", modules_[1]) + "; " +
           counted_devices(devices_) + "; " + relation + premises_.words() + ")";
  }

  /// Accepts equality for all inputs, or ends the check.
  void require_equal() {
    std::random_device random;
    const auto word = [&] { return std::uint64_t{random()} << 32U | random(); };
    for (int point = 0; point < kPoints; ++point) {
      const auto terms = make_terms(word(), word());
      const auto [before, after] = execute(*terms);
      visit(*terms, before, after,
            [&](const Cell& a, const Cell& b, const Type& type, std::size_t device,
                std::size_t output, const Index& index) {
              if (terms->same(a, b, type)) return;
              throw CheckFailure(
                  Verdict::Incomplete,
                  "it is not shown that element " + Json(index).dump() + " of output " +
                      std::to_string(output) + " on device " + std::to_string(device) +
                      " is the same: as a fraction of the inputs and functions of them it is not");
            });
    }
  }

  /// Accepts equality by the facts that `evidence` lists, and says for which inputs, or ends the
  /// check.
  std::string require_related(const FactLines& evidence) {
    WholeModule whole = this->whole();
    RelatedModules related = relate(whole);
    std::vector<std::size_t> from;
    Index hint;
    evidence.for_each([&](std::span<const std::uint32_t> line) {
      if (line.size() < 2 || line[1] > line.size() - 2) malformed("a fact");
      const auto end = line.begin() + 2 + line[1];
      from.assign(line.begin() + 2, end);
      hint.assign(end, line.end());
      auto fact = related.follows(line[0], from, hint);
      if (!fact)
        reject("fact " + std::to_string(related.facts().size()) + " does not follow: " +
               printable(related.local().nodes.at(line[0]).instruction->name));
      related.add(std::move(*fact));
    });
    const Numbers outputs = as_numbers(evidence.outputs(), FactLines::kEnd);
    if (outputs.size() != relations_[1].size()) malformed("the facts of outputs");
    const auto& local = related.local();
    const auto& shapes = outputs_[1 - global_];
    if (!have_shapes(local, local.outputs, shapes) ||
        local.inputs.size() != inputs_[1 - global_].size() ||
        whole.outputs.size() != outputs.size())
      not_covered("inputs or outputs that are not arrays");
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Tensors::Tensor& tensor = whole.tensors.at(whole.outputs.at(k));
      const Shape& shape = outputs_[global_][k];
      if (tensor.sizes != shape.sizes || tensor.kind != kind_of(shape.type))
        malformed("the shape of an output");
      if (!related.answers(outputs[k], k, relations_[1][k]))
        reject("the fact about output " + std::to_string(k) + " is not what the relation says");
    }
    return whole.words_of_inputs();
  }

  WholeModule whole() {
    if (kind_ != "global") {
      // Every device has the same inputs before and after, and is to have the same outputs.
      relations_[0] = copies_on_devices(inputs_[0], devices_.count());
      relations_[1] = copies_on_devices(outputs_[0], devices_.count());
    }
    std::set<std::size_t> same;  // on all devices
    for (std::size_t k = 0; k < inputs_[0].size(); ++k) {
      if (holder_of(k, devices_.count() - 1) == 0) same.insert(k);
    }
    return {modules_[global_], premises_, devices_,       kind_ != "global",
            global_ == 0,      budget_,   std::move(same)};
  }
  RelatedModules relate(WholeModule& whole) {
    return {whole,
            modules_[1 - global_],
            Runners(devices_),
            {relations_[0].begin(), relations_[0].end()},
            budget_};
  }
  const std::vector<Relation>& output_relations() const { return relations_[1]; }

  /// The two values of the element that `run` names, or ends the check.
  std::string require_different(const Json& run) {
    expect_keys(run, {"device", "draw", "index", "output", "seed"});
    const std::size_t device = as_number(run["device"], devices_.count());
    const std::size_t output = as_number(run["output"], 1ULL << 20U);
    Index index;
    for (const std::uint32_t each : as_numbers(run["index"], 1ULL << 31U)) index.push_back(each);
    std::optional<Pair> found;
    for (const Pair& pair :
         differences(as_number(run["draw"], kDraws), as_number(run["seed"], 1ULL << 32U))) {
      if (pair.device == device && pair.output == output && pair.index == index) found = pair;
    }
    if (!found) reject("there is no such element, or its values are not different");
    const auto value = [&](const Cell& cell) {
      return found->type.is_float() ? Json(cell.low).dump()
                                    : std::to_string(static_cast<std::int64_t>(cell.value));
    };
    return "element " + Json(index).dump() + " of output " + std::to_string(output) +
           " on device " + std::to_string(device) + " is " + value(found->before) + " before and " +
           value(found->after) + " after, for inputs" +
           (draws_memory() ? " and memory that nobody has written to" : "") + " drawn in way " +
           run["draw"].dump() + " with seed " + run["seed"].dump();
  }

  /// The first element that differs in the first run that has one, as run.json names it; null if
  /// there is none.
  Json first_difference(std::uint32_t seeds) {
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
        budget_ = {};
        const std::vector<Pair> all = differences(draw, seed);
        if (all.empty()) continue;
        return {{"device", all[0].device},
                {"draw", draw},
                {"index", all[0].index},
                {"output", all[0].output},
                {"seed", seed}};
      }
    }
    return nullptr;
  }

 private:
  /// An element of an output, in both modules.
  struct Pair {
    Cell before, after;
    Type type;
    std::size_t device = 0, output = 0;
    Index index;
  };

  /// Elements whose values differ beyond rounding, for inputs that are drawn.
  std::vector<Pair> differences(std::uint32_t draw, std::uint32_t seed) {
    const auto numbers = make_numbers(draw, seed, draws_memory());
    const auto [before, after] = execute(*numbers);
    const double tolerance = has_narrow_constants_ ? 5e-2 : 1e-3;
    std::map<std::size_t, double> scales;
    std::vector<Pair> pairs;
    visit(*numbers, before, after,
          [&](const Cell& a, const Cell& b, const Type& type, std::size_t device,
              std::size_t output, const Index& index) {
            if (a.nan || b.nan) return;
            if (!type.is_float()) {
              if (a.value != b.value) pairs.push_back({a, b, type, device, output, index});
              return;
            }
            if (!std::isfinite(a.low) || !std::isfinite(b.low)) return;
            const double size = std::max(std::fabs(a.low), std::fabs(b.low));
            scales[output] = std::max(scales[output], size);
            // Beside a number stands its error.
            if (std::fabs(a.low - b.low) > tolerance * size + a.high + b.high)
              pairs.push_back({a, b, type, device, output, index});
          });
    std::erase_if(pairs, [&](const Pair& pair) {
      return pair.type.is_float() &&
             !(std::fabs(pair.before.low - pair.after.low) > tolerance / 10 * scales[pair.output]);
    });
    return pairs;
  }

  static bool allocates_memory(const Module& module) {
    return std::ranges::any_of(module.computations, [](const auto& computation) {
      return std::ranges::any_of(computation.second.instructions, &Instruction::allocates_memory);
    });
  }

  /// What the module before is for some contents of memory, that after may be for others.
  bool draws_memory() const {
    return !allocates_memory(modules_[0]) && allocates_memory(modules_[1]);
  }

  /// A name stands for the elements of one constant.
  void require_one_of_every_name(const Module& module) const {
    std::set<std::string> names;
    for (const auto& [name, computation] : module.computations) {
      for (const Instruction& each : computation.instructions) {
        const bool is_named = each.opcode == "constant" && premises_.equal.contains(each.name);
        if (is_named && !names.insert(each.name).second)
          malformed("two constants called " + printable(each.name));
      }
    }
  }

  static std::vector<Shape> inputs_of(const Module& module) {
    std::vector<Shape> all;
    for (const std::uint32_t each : module.main().parameters) {
      for (Shape& shape : arrays_of(module.main().instructions[each].shape))
        all.push_back(std::move(shape));
    }
    return all;
  }

  /// The files from which texts were written: the claim is about the texts.
  void read_origins(const Json& json) {
    if (!json.is_object() || json.empty()) malformed("written_from names no file");
    for (const auto& [key, file] : json.items()) {
      if (key != "before" && key != "after") malformed("written_from is of before or after");
      origins_[key] = shortened(printable(as_text(file)));
    }
  }

  void read_relation(const Json& json) {
    if (!json.is_object() || !json.contains("kind")) malformed("a relation has no kind");
    kind_ = as_text(json["kind"]);
    if (kind_ == "devices" || kind_ == "replicated") {
      if (kind_ == "devices" && json.size() > 1) {
        expect_keys(json, {"kind", "same_on_partitions", "same_on_replicas"});
        for (const bool on_partitions : {true, false}) {
          const Json& list = json[on_partitions ? "same_on_partitions" : "same_on_replicas"];
          if (as_list(list).empty()) continue;
          for (const std::uint32_t each : as_ascending(list, inputs_[0].size()))
            same_[on_partitions ? 1 : 0].insert(each);
        }
      } else {
        expect_keys(json, {"kind"});
      }
      if (!same_shapes(inputs_[0], inputs_[1]) || !same_shapes(outputs_[0], outputs_[1]))
        reject("the modules have other inputs or outputs");
      return;
    }
    if (kind_ != "global") malformed("no kind of a relation: " + kind_);
    expect_keys(json, {"global", "inputs", "kind", "outputs"});
    const std::string& global = as_text(json["global"]);
    if (global != "before" && global != "after") malformed("global is before or after");
    global_ = global == "before" ? 0 : 1;
    relations_[0] = read_relations(json["inputs"], inputs_[global_], inputs_[1 - global_]);
    relations_[1] = read_relations(json["outputs"], outputs_[global_], outputs_[1 - global_]);
  }

  static bool same_shapes(const std::vector<Shape>& a, const std::vector<Shape>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Shape& x, const Shape& y) {
      return x.type == y.type && x.sizes == y.sizes;
    });
  }

  std::vector<Relation> read_relations(const Json& json, const std::vector<Shape>& wholes,
                                       const std::vector<Shape>& others) {
    std::vector<Relation> relations;
    std::vector<bool> used(others.size(), false);
    for (const Json& each : as_list(json)) {
      if (relations.size() == wholes.size()) malformed("more relations than tensors");
      const Shape& whole = wholes[relations.size()];
      expect_keys(each, {"number", "parts", "pieces", "reducer"});
      const std::size_t number = as_number(each["number"], others.size());
      if (used[number]) malformed("a tensor is related twice");
      used[number] = true;
      const Shape& other = others[number];
      if (!(whole.type == other.type) || whole.sizes.size() != other.sizes.size())
        malformed("tensors of other types or dimensions are related");
      relations.push_back(read_pieces(each, whole, &other.sizes.all(), devices_.count(),
                                      kMaxModuleDevices, budget_));
      relations.back().number = number;
    }
    if (relations.size() != wholes.size() ||
        std::find(used.begin(), used.end(), false) != used.end())
      reject("an input or output is not related");
    return relations;
  }

  bool has_narrow_constants() const {
    for (const Module& module : modules_) {
      for (const auto& [name, computation] : module.computations) {
        for (const Instruction& each : computation.instructions) {
          const Type& type = each.shape.type;
          if (each.opcode == "constant" && type.is_float() && type.digits < 24) return true;
        }
      }
    }
    return false;
  }

  /// The first device that has the same in an input of two partitioned modules.
  std::size_t holder_of(std::size_t input, std::size_t device) const {
    const auto partitions = static_cast<std::size_t>(devices_.partitions);
    const std::size_t replica = same_[0].contains(input) ? 0 : device / partitions;
    return replica * partitions + (same_[1].contains(input) ? 0 : device % partitions);
  }

  /// The inputs of both modules.
  std::vector<std::vector<Value>> draw(Arithmetic& arithmetic) {
    std::vector<std::vector<Value>> all(2);
    const auto everywhere = [&](Tensor tensor) {
      return Value{std::vector<TensorPtr>(devices_.count(),
                                          std::make_shared<const Tensor>(std::move(tensor))),
                   {}};
    };
    if (kind_ != "global") {
      for (std::size_t k = 0; k < inputs_[0].size(); ++k) {
        Value value;
        if (kind_ == "replicated") {
          value = everywhere(drawn_input(arithmetic, inputs_[0][k], k, 0));
        } else {
          for (std::size_t device = 0; device < devices_.count(); ++device) {
            const std::size_t holder = holder_of(k, device);
            if (holder < device) {
              value.devices.push_back(value.devices[holder]);
              continue;
            }
            budget_.spend(8 * static_cast<std::uint64_t>(inputs_[0][k].elements()));
            value.devices.push_back(std::make_shared<const Tensor>(
                drawn_input(arithmetic, inputs_[0][k], k, device + 1)));
          }
        }
        all[0].push_back(value);
        all[1].push_back(value);
      }
      return all;
    }
    all[1 - global_].resize(inputs_[1 - global_].size());
    for (std::size_t k = 0; k < inputs_[global_].size(); ++k) {
      const Shape& shape = inputs_[global_][k];
      const Relation& relation = relations_[0][k];
      std::vector<Tensor> parts;
      for (std::uint32_t part = 0; part < relation.parts; ++part) {
        budget_.spend(8 * static_cast<std::uint64_t>(shape.elements()));
        parts.push_back(drawn_input(arithmetic, shape, k, part));
      }
      all[1 - global_][relation.number] = held_by_devices(
          arithmetic, parts, relation, inputs_[1 - global_][relation.number], devices_, budget_);
      for (std::uint32_t part = 1; part < relation.parts; ++part) {
        for (std::size_t i = 0; i < parts[0].cells.size(); ++i) {
          const Cell sides[] = {parts[0].cells[i], parts[part].cells[i]};
          parts[0].cells[i] = arithmetic.apply({*relation.reducer, shape.type, shape.type}, sides);
        }
      }
      all[global_].push_back(everywhere(std::move(parts[0])));
    }
    return all;
  }

  std::pair<std::vector<Value>, std::vector<Value>> execute(Arithmetic& arithmetic) {
    for (const Module& module : modules_) {
      for (const auto& [name, computation] : module.computations) {
        for (const Instruction& each : computation.instructions) {
          for (const Shape& shape : arrays_of(each.shape)) {
            if (shape.elements() > kMaxExecuted)
              not_covered("executing tensors of more than 2^26 elements");
          }
        }
      }
    }
    auto inputs = draw(arithmetic);
    std::vector<Value> results[2];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::vector<Value> arguments = arguments_of(modules_[side], std::move(inputs[side]));
      arrays_of(Interpreter(modules_[side], arithmetic, devices_, budget_).run(arguments),
                results[side]);
      if (results[side].size() != outputs_[side].size()) not_covered("outputs that are not arrays");
      for (std::size_t k = 0; k < results[side].size(); ++k) {
        for (const TensorPtr& tensor : results[side][k].devices) {
          if (tensor->sizes != outputs_[side][k].sizes) malformed("the shape of an output");
        }
      }
    }
    return {std::move(results[0]), std::move(results[1])};
  }

  using Visit = std::function<void(const Cell& before, const Cell& after, const Type& type,
                                   std::size_t device, std::size_t output, const Index& index)>;

  /// All pairs of elements that the claim says are equal.
  void visit(Arithmetic& arithmetic, const std::vector<Value>& before,
             const std::vector<Value>& after, const Visit& visit) {
    if (kind_ != "global") {
      for (std::size_t k = 0; k < outputs_[0].size(); ++k) {
        const Type& type = outputs_[0][k].type;
        for (std::size_t device = 0; device < devices_.count(); ++device) {
          const Tensor& a = *before[k].devices[device];
          const Tensor& b = *after[k].devices[device];
          std::size_t next = 0;
          for_each_index(a.sizes, [&](const Index& index) {
            visit(a.cells.at(next), b.cells.at(next), type, device, k, index);
            ++next;
          });
        }
      }
      return;
    }
    const auto& whole = global_ == 0 ? before : after;
    const auto& local = global_ == 0 ? after : before;
    for (std::size_t k = 0; k < outputs_[global_].size(); ++k) {
      const Shape& shape = outputs_[global_][k];
      const Relation& relation = relations_[1][k];
      const Tensor& all = *whole[k].devices[0];
      for (const TensorPtr& other : whole[k].devices) {
        for (std::size_t i = 0; other.get() != &all && i < all.cells.size(); ++i) {
          if (!arithmetic.same(all.cells[i], other->cells.at(i), shape.type))
            not_covered(
                "an output of the module that is not partitioned that depends on the device");
        }
      }
      const auto call = [&](const Cell& a, const Cell& b, std::size_t device, const Index& index) {
        visit(global_ == 0 ? a : b, global_ == 0 ? b : a, shape.type, device, k, index);
      };
      std::vector<std::vector<std::optional<Cell>>> parts(relation.reducer ? relation.parts : 0);
      for (auto& part : parts) part.resize(all.cells.size());
      for (const Piece& piece : relation.pieces) {
        const Tensor& own = *local[relation.number].devices[piece.device];
        for_each_index(piece.sizes, [&](const Index& offset) {
          Index index = piece.of;
          for (std::size_t i = 0; i < index.size(); ++i) index[i] += offset[i];
          const std::size_t place = place_from(shape.sizes, piece.of, offset);
          const Cell& cell = own.cells.at(place_from(own.sizes, piece.at, offset));
          if (!relation.reducer) return call(all.cells[place], cell, piece.device, index);
          auto& known = parts[piece.part][place];
          if (known) call(*known, cell, piece.device, index);
          known = cell;
        });
      }
      if (!relation.reducer) continue;
      std::size_t place = 0;
      for_each_index(shape.sizes, [&](const Index& index) {
        Cell total = parts[0][place].value();
        for (std::uint32_t part = 1; part < relation.parts; ++part) {
          const Cell sides[] = {total, parts[part][place].value()};
          total = arithmetic.apply({*relation.reducer, shape.type, shape.type}, sides);
        }
        call(all.cells[place], total, 0, index);
        ++place;
      });
    }
  }

  Budget budget_;
  Premises premises_;
  Devices devices_;
  std::vector<Module> modules_;
  bool has_narrow_constants_ = false;                 ///< in the texts
  std::vector<std::vector<Shape>> inputs_, outputs_;  ///< before and after
  std::map<std::string, std::string> origins_;
  std::string kind_;
  std::set<std::size_t> same_[2];  ///< inputs on all replicas, and on all partitions
  std::size_t global_ = 0;
  std::vector<Relation> relations_[2];  ///< of inputs and outputs
};

/// What `check` says of the problem. Numbers in modules that point beyond what they index end as
/// std::out_of_range, from the bounds checks of the standard library.
template <typename Check>
auto of_problem(const Json& problem, const Check& check) {
  try {
    Comparison comparison(problem);
    return check(comparison);
  } catch (const std::out_of_range&) {
    malformed("a number in a module is beyond what it indexes");
  }
}

}  // namespace

std::string judge_modules(const std::string& claim, const Json& statement, const Files& files) {
  return of_problem(statement["problem.json"], [&](Comparison& comparison) {
    if (claim == "modules-different") {
      comparison.require_no_condition();
      const Json run = parse_json(files, "run.json");
      return comparison.require_different(run) + " " + comparison.words();
    }
    std::string inputs = "for all inputs";
    if (files.contains("relation.json"))
      inputs = comparison.require_related(FactLines(files));
    else
      comparison.require_equal();
    return inputs + ", in real numbers, the modules have the same outputs " + comparison.words();
  });
}

std::string differing_run(const Files& files, std::uint32_t seeds) {
  return of_problem(parse_json(files, "problem.json"), [&](Comparison& comparison) {
    const Json run = comparison.first_difference(seeds);
    return run.is_null() ? std::string() : run.dump() + "\n";
  });
}

void xla::with_related_modules(
    const Files& files,
    const std::function<void(RelatedModules& modules, const std::vector<Relation>& outputs)>&
        prove) {
  of_problem(parse_json(files, "problem.json"), [&](Comparison& comparison) {
    WholeModule whole = comparison.whole();
    RelatedModules modules = comparison.relate(whole);
    prove(modules, comparison.output_relations());
    return 0;
  });
}

}  // namespace p2::kernel
