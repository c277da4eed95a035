#include <cstring>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/collective/language/definition.h"
#include "engine/execution/in_process.h"
#include "engine/oracle/test_vectors.h"
#include "engine/program/derivation.h"
#include "tests/execution/ran.h"

using namespace p2;
using namespace p2::vectors;
using nlohmann::json;

namespace {

/// A reader of .npy files that knows nothing of the writer.
template <typename Element>
std::vector<Element> load(const std::string& file, const std::string& type) {
  REQUIRE(file.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length =
      static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  CHECK((10 + length) % 64 == 0);
  const std::string header = file.substr(10, length);
  CHECK(header.find("'descr': '" + type + "'") != std::string::npos);
  CHECK(header.back() == '\n');
  std::vector<Element> elements((file.size() - 10 - length) / sizeof(Element));
  std::memcpy(elements.data(), file.data() + 10 + length, elements.size() * sizeof(Element));
  return elements;
}

ProgramFile blueconnect() {
  return read_program("program",
                      "hierarchy 2,4\naxes 4,2\nreduce 0\nplacement [[2 2] [1 2]]\n"
                      "ReduceScatter(l0, InsideGroup); AllReduce(l0, Parallel(root)); "
                      "AllGather(l0, InsideGroup)",
                      {});
}

}  // namespace

TEST_CASE("expected buffers are the sums of the inputs over the classes, in every type") {
  const ProgramFile file = blueconnect();
  VectorOptions options;
  options.wrong_programs = 0;
  options.type = execution::ElementType::Int32;
  const FolderFiles files = program_vectors(file, options);
  for (const Group& members : file.program.classes) {
    std::vector<std::int32_t> sum(64, 0);
    for (const std::uint32_t rank : members) {
      const auto input =
          load<std::int32_t>(files.at("input-rank-" + std::to_string(rank) + ".npy"), "<i4");
      REQUIRE(input.size() == sum.size());
      CHECK(std::set(input.begin(), input.end()).size() > 60);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[i];
    }
    for (const std::uint32_t rank : members) {
      CHECK(load<std::int32_t>(files.at("expected-rank-" + std::to_string(rank) + ".npy"), "<i4") ==
            sum);
    }
  }
  options.type = execution::ElementType::Float64;
  CHECK(load<double>(program_vectors(file, options).at("expected-rank-0.npy"), "<f8").size() == 64);
}

TEST_CASE("the same seed gives the same bytes, another seed other data and the same programs") {
  VectorOptions options;
  const FolderFiles files = program_vectors(blueconnect(), options);
  CHECK(files == program_vectors(blueconnect(), options));
  options.seed = 2;
  const FolderFiles others = program_vectors(blueconnect(), options);
  CHECK(others.at("input-rank-0.npy") != files.at("input-rank-0.npy"));
  CHECK(others.at("wrong-01.json") == files.at("wrong-01.json"));
}

TEST_CASE("states say whose inputs the chunks hold after every step") {
  const FolderFiles files = program_vectors(blueconnect(), {});
  const json first = json::parse(files.at("state-step-1.json"))["contributors"];
  // Groups {0,2}, {1,3}, …: the first of each keeps chunks 0 to 3, the other 4 to 7.
  CHECK(first[0][3] == json::parse("[0,2]"));
  CHECK(first[0][4].empty());
  CHECK(first[2][4] == json::parse("[0,2]"));
  const json last = json::parse(files.at("state-step-3.json"))["contributors"];
  CHECK(last[5][7] == json::parse("[1,3,5,7]"));
  CHECK(json::parse(files.at("index.json"))["steps"].size() == 3);
}

TEST_CASE("every wrong program is refused where the index says, and its data are what it says") {
  const FolderFiles files = program_vectors(blueconnect(), {});
  const json index = json::parse(files.at("index.json"));
  std::set<std::string> rules;
  std::set<std::string> data;
  REQUIRE(index["wrong_programs"].size() == 12);
  for (const json& wrong : index["wrong_programs"]) {
    const std::string name = wrong["file"];
    const ProgramFile read = read_program(name, files.at(name), {});
    execution::Inputs inputs;
    const execution::Ran ran = execution::run_in_process(read.program, read.dialect, inputs, 8);
    REQUIRE(ran.verdict.violation);
    CHECK(ran.verdict.violation->step == wrong["step"]);
    CHECK(rule_name(*ran.verdict.violation) == wrong["rule"]);
    CHECK(ran.wrong == wrong["wrong_elements"]);
    CHECK((ran.wrong > 0) == (wrong["data"] == "wrong"));
    rules.insert(wrong["rule"]);
    data.insert(wrong["data"]);
  }
  CHECK(rules.size() >= 5);
  CHECK(data == std::set<std::string>{"right", "wrong"});
}

TEST_CASE(
    "test vectors of a collective: legal steps with their values, refused ones with a premise") {
  for (const language::Definition& definition : language::built_in_definitions()) {
    VectorOptions options;
    options.type = execution::ElementType::Int32;
    options.chunk_elements = 2;
    const FolderFiles files = definition_vectors(definition, options);
    const json index = json::parse(files.at("index.json"));
    std::size_t legal = 0;
    std::size_t refused = 0;
    for (const json& each : index["cases"]) {
      const std::size_t ranks = each["ranks"];
      const auto before = load<std::int32_t>(files.at(each["before_values"]), "<i4");
      CHECK(before.size() == ranks * ranks * 2);
      if (!each["legal"]) {
        ++refused;
        CHECK(each.contains("premise"));
        continue;
      }
      ++legal;
      const auto after = load<std::int32_t>(files.at(each["after_values"]), "<i4");
      if (definition.name != "AllReduce") continue;
      for (std::size_t at = 0; at < ranks * 2; ++at) {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < ranks; ++i) sum += before[i * ranks * 2 + at];
        for (std::size_t i = 0; i < ranks; ++i) CHECK(after[i * ranks * 2 + at] == sum);
      }
    }
    CHECK(legal >= 3);
    CHECK(refused >= 3);
  }
}
