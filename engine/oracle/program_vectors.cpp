#include "engine/oracle/test_vectors.h"

#include <bit>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/invariant.h"
#include "engine/execution/audit.h"
#include "engine/execution/in_process.h"
#include "engine/execution/workloads.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"

namespace p2::vectors {

using execution::ElementType;

std::string numpy_name(ElementType type) {
  invariant(type != ElementType::BFloat16, "an array of bfloat16");
  return fmt::format("<{}{}", type == ElementType::Int32 ? 'i' : 'f', size_of(type));
}

std::string array_file(ElementType type, const std::vector<std::size_t>& shape,
                       std::span<const std::byte> elements) {
  static_assert(std::endian::native == std::endian::little);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", numpy_name(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Magic, version, length of the header and header take up a multiple of 64 bytes.
  constexpr std::size_t kBefore = 10;
  header += std::string(63 - (kBefore + header.size()) % 64, ' ') + "\n";
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xFFU),
           static_cast<char>(header.size() >> 8U)};
  file += header;
  file.append(reinterpret_cast<const char*>(elements.data()), elements.size());
  return file;
}

namespace {

using namespace execution;
using Json = nlohmann::ordered_json;

constexpr const char* kProgramReadme = R"(# Test vectors of a communication program

    {program}

{devices} ranks, buffers of {elements} elements ({type}), cut into {chunks} chunks of {chunk}. Goal: {goal}.

- `input-rank-R.npy` is the buffer that rank R starts with, `expected-rank-R.npy` the one it should end
  with{sum}. The inputs are sums of small whole numbers, exact in any order: compare for equality.
- `state-step-S.json`: what rank R holds after step S. `contributors[R][c]` lists the ranks whose
  inputs are added up in chunk c; an empty list means that rank R does not hold the chunk.
- `wrong-NN.json` are programs that are wrong. `index.json` says at which step, by which rule and why,
  and whether the data come out wrong (`wrong_elements` of the ones given here) or right by luck. A
  checker of programs should refuse all of them, a checker of data those whose data are wrong.
- `index.json` names all of it, and the program step by step with its groups of ranks.
)";

class Vectors {
 public:
  Vectors(const ProgramFile& file, const VectorOptions& options)
      : file_(file),
        program_(file.program),
        options_(options),
        inputs_{options.type, Inputs::Kind::Integers, program_.devices, options.seed},
        expectation_(program_, file.dialect) {}

  FolderFiles files() && {
    index_ = {{"schema", "p2-oracle/1"},
              {"kind", "program"},
              {"seed", options_.seed},
              {"type", to_string(options_.type)},
              {"numpy", numpy_name(options_.type)},
              {"devices", program_.devices},
              {"chunks", program_.chunks()},
              {"goal", program_.terms.goal.name},
              {"elements", elements()},
              {"chunk_elements", options_.chunk_elements},
              {"program", Json::parse(to_json(program_, instance(), file_.dialect))}};
    add_buffers();
    add_states();
    add_wrong_programs();
    files_["index.json"] = index_.dump(2) + "\n";
    files_["README.md"] = fmt::format(
        fmt::runtime(kProgramReadme),
        fmt::arg("program", to_string(program_.steps, instance(), program_.terms.collectives)),
        fmt::arg("devices", program_.devices), fmt::arg("chunks", program_.chunks()),
        fmt::arg("elements", elements()), fmt::arg("goal", program_.terms.goal.name),
        fmt::arg("sum", program_.terms.goal.is_allreduce()
                            ? ": the sum over its reduction class"
                            : "; chunks that it does not hold are 0"),
        fmt::arg("type", to_string(options_.type)), fmt::arg("chunk", options_.chunk_elements));
    return std::move(files_);
  }

 private:
  const Instance* instance() const { return file_.instance ? &*file_.instance : nullptr; }
  std::size_t elements() const { return program_.chunks() * options_.chunk_elements; }

  void add_buffers() {
    for (std::uint32_t rank = 0; rank < program_.devices; ++rank) {
      const std::string input = fmt::format("input-rank-{}.npy", rank);
      const std::string expected = fmt::format("expected-rank-{}.npy", rank);
      files_[input] =
          buffer([&](std::uint32_t chunk) { return expectation_.after(0, rank, chunk); });
      files_[expected] =
          buffer([&](std::uint32_t chunk) { return expectation_.goal(rank, chunk); });
      index_["ranks"].push_back({{"rank", rank}, {"input", input}, {"expected", expected}});
    }
  }

  /// The array of a rank's sums, over the contributors that a chunk has; 0 where it has none.
  template <typename ContributorsOf>
  std::string buffer(ContributorsOf contributors_of) const {
    std::vector<std::byte> elements(this->elements() * size_of(options_.type));
    Reference reference;
    for (std::uint32_t chunk = 0; chunk < program_.chunks(); ++chunk) {
      const std::size_t first = chunk * options_.chunk_elements;
      const Contributors contributors = contributors_of(chunk);
      if (contributors.empty()) continue;
      reference.compute(inputs_, contributors, first, options_.chunk_elements);
      reference.write(options_.type, elements, first);
    }
    return array_file(options_.type, {this->elements()}, elements);
  }

  void add_states() {
    for (std::size_t step = 1; step <= program_.steps.size(); ++step) {
      const std::string name = fmt::format("state-step-{}.json", step);
      Json ranks = Json::array();
      for (std::uint32_t rank = 0; rank < program_.devices; ++rank) {
        Json chunks = Json::array();
        for (std::uint32_t chunk = 0; chunk < program_.chunks(); ++chunk) {
          chunks.push_back(expectation_.after(step, rank, chunk));
        }
        ranks.push_back(std::move(chunks));
      }
      files_[name] = Json{{"step", step}, {"contributors", std::move(ranks)}}.dump() + "\n";
      const Step& taken = program_.steps[step - 1];
      index_["steps"].push_back(
          {{"step", step},
           {"collective", program_.terms.collectives.name_of(taken.collective)},
           {"groups", taken.groups},
           {"state", name}});
    }
  }

  void add_wrong_programs() {
    index_["wrong_programs"] = Json::array();
    for (const WrongProgram& wrong :
         wrong_programs(program_, inputs_, options_.chunk_elements, options_.wrong_programs)) {
      const std::string name = fmt::format("wrong-{:02}.json", index_["wrong_programs"].size() + 1);
      files_[name] = to_json(wrong.program, nullptr, file_.dialect) + "\n";
      index_["wrong_programs"].push_back({{"file", name},
                                          {"step", wrong.step},
                                          {"rule", wrong.rule},
                                          {"reason", wrong.reason},
                                          {"data", wrong.wrong_elements > 0 ? "wrong" : "right"},
                                          {"wrong_elements", wrong.wrong_elements}});
    }
  }

  const ProgramFile& file_;
  const Program& program_;
  const VectorOptions& options_;
  Inputs inputs_;
  Expectation expectation_;
  FolderFiles files_;
  Json index_;
};

}  // namespace

FolderFiles program_vectors(const ProgramFile& file, const VectorOptions& options) {
  return Vectors(file, options).files();
}

namespace {

/// All programs that differ from one by a single change.
class Mutants {
 public:
  explicit Mutants(const Program& program) : program_(program) {
    for (Step& step : program_.steps) step.shape.reset();
    seen_.insert(text_of(program_));
  }

  std::vector<Program> all() && {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) change(i);
    for (const Collective collective : program_.terms.collectives.all()) {
      Program longer = program_;
      longer.steps.push_back({collective, program_.classes, std::nullopt});
      add(std::move(longer));
    }
    return std::move(mutants_);
  }

 private:
  void change(std::size_t i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    Program shorter = program_;
    shorter.steps.erase(shorter.steps.begin() + at);
    add(std::move(shorter));
    Program doubled = program_;
    doubled.steps.insert(doubled.steps.begin() + at, Step(program_.steps[i]));
    add(std::move(doubled));
    if (i + 1 < program_.steps.size()) {
      Program exchanged = program_;
      std::swap(exchanged.steps[i], exchanged.steps[i + 1]);
      add(std::move(exchanged));
    }
    for (const Collective collective : program_.terms.collectives.all()) {
      Program other = program_;
      other.steps[i].collective = collective;
      add(std::move(other));
    }
    for (std::size_t g = 0; g < program_.steps[i].groups.size(); ++g) {
      if (program_.steps[i].groups[g].size() < 3) continue;
      Program smaller = program_;
      smaller.steps[i].groups[g].pop_back();
      add(std::move(smaller));
    }
  }

  static std::string text_of(const Program& program) {
    return to_string(program.steps, nullptr, program.terms.collectives);
  }

  void add(Program program) {
    if (seen_.insert(text_of(program)).second) {
      mutants_.push_back(std::move(program));
    }
  }

  Program program_;
  std::set<std::string> seen_;
  std::vector<Program> mutants_;
};

std::uint64_t wrong_elements(const Program& program, const Expectation& expectation,
                             const Inputs& inputs, std::size_t chunk_elements) {
  const Plan plan = plan_of(program);
  const ProgramRun run(plan, expectation, inputs, chunk_elements);
  Job job{run};
  job.warmup = job.iterations = 0;
  job.check = Check::Result;
  std::uint64_t wrong = 0;
  for (const RankResult& rank : InProcess().run(job)) wrong += rank.audits.back().wrong;
  return wrong;
}

}  // namespace

std::vector<WrongProgram> wrong_programs(const Program& program, const Inputs& inputs,
                                         std::size_t chunk_elements, std::size_t max_count) {
  std::vector<WrongProgram> first;
  std::vector<WrongProgram> others;
  std::set<std::pair<std::string, bool>> met;
  for (Program& changed : Mutants(program).all()) {
    const Expectation expectation(changed, Dialect::Published);
    if (!expectation.decision().violation) continue;
    const Refutation& refutation = *expectation.decision().violation;
    WrongProgram wrong;
    wrong.step = refutation.step;
    wrong.rule = rule_name(refutation);
    wrong.reason = explain(refutation, changed, nullptr);
    wrong.wrong_elements = wrong_elements(changed, expectation, inputs, chunk_elements);
    wrong.program = std::move(changed);
    const bool is_new = met.emplace(wrong.rule, wrong.wrong_elements > 0).second;
    (is_new ? first : others).push_back(std::move(wrong));
  }
  for (WrongProgram& other : others) first.push_back(std::move(other));
  if (first.size() > max_count) first.resize(max_count);
  return first;
}

}  // namespace p2::vectors
