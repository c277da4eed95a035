#include <doctest/doctest.h>

#include "engine/strategy/graph.h"
#include "p2/error.h"

using namespace p2;
using namespace p2::strategy;

namespace {

/// A file with these vertices, edges and tables.
std::string file_with(const std::string& vertices, const std::string& edges = "",
                      const std::string& tables = "") {
  return "{\"format\":\"pairwise-strategy-graph/1\",\"p\":2,\"batch\":8,\"vertices\":[" + vertices +
         "],\"edges\":[" + edges + "],\"edge_tables\":[" + tables + "]}";
}

const std::string kTwo = R"({"id":7,"op":"FC","dom":[8,4],"configs":[[1,1],[2,1]],"cost":[4,2]},)"
                         R"({"id":3,"dom":[8],"configs":[[1],[2],[4]],"cost":[1,0.5,1.5]})";

std::string table(const std::string& id, const std::string& cells, const std::string& rows = "2",
                  const std::string& columns = "3") {
  return "{\"id\":" + id + ",\"rows\":" + rows + ",\"cols\":" + columns + ",\"cells\":[" + cells +
         "]}";
}

}  // namespace

TEST_CASE("a graph is read, its costs rounded half to even, parallel edges summed") {
  const GraphFile file = read_graph(
      "g",
      file_with(kTwo, R"({"src":7,"dst":3,"table":0},{"src":3,"dst":7,"table":1})",
                table("0", "1,2,3,4,5,6") + "," + table("1", "10,20,30,40,50.5,61.5", "3", "2")));
  CHECK(file.graph.costs == std::vector<std::vector<Cost>>{{4, 2}, {1, 0, 2}});
  REQUIRE(file.graph.edges.size() == 1);
  CHECK(file.graph.edges[0].table == std::vector<Cost>{11, 32, 53, 24, 45, 68});
  CHECK(file.labels[0].name == "FC 7");
  CHECK(file.labels[1].name == "3");
  CHECK(file.labels[0].configurations == std::vector<std::string>{"[1,1]", "[2,1]"});
  REQUIRE(file.known.size() == 1);
  CHECK(file.known[0].cost == cost_of(file.graph, {1, 1}));
}

TEST_CASE("one vertex and vertices without edges are graphs") {
  const GraphFile file =
      read_graph("g", file_with(R"({"id":0,"cost":[3e0,1]},{"id":1,"cost":[0]})"));
  CHECK(file.graph.vertices() == 2);
  CHECK(file.labels[0].configurations == std::vector<std::string>{"0", "1"});
  CHECK(file.known.empty());
}

TEST_CASE("what is wrong with a graph is said with its place") {
  const std::string edge = R"({"src":7,"dst":3,"table":0})";
  const std::string cells = table("0", "1,2,3,4,5,6");
  struct Case {
    std::string text;
    std::string complaint;
  };
  const Case cases[] = {
      {"{", "g:1:"},
      {R"({"vertices":[]})", "lacks the key \"format\""},
      {R"({"format":"x","vertices":[]})", "unknown format"},
      {file_with(""), "no vertices"},
      {file_with(R"({"id":0,"cost":[]})"), "vertex 0 has no configuration"},
      {file_with(R"({"id":0})"), "lacks the key \"cost\""},
      {file_with(R"({"id":0,"cost":[1]},{"id":0,"cost":[1]})"), "duplicate vertex 0"},
      {file_with(R"({"id":0,"cost":[-1]})"), "a cost is -1"},
      {file_with(R"({"id":0,"cost":[-0.2]})"), "a cost is -0.2"},
      {file_with(R"({"id":0,"cost":[1e19]})"), "a cost is 1e19"},
      {file_with(R"({"id":0,"cost":[4611686018427387904]})"), "a cost is 4611686018427387904"},
      {file_with(R"({"id":0,"cost":[null]})"), "a cost is null"},
      {file_with(R"({"id":0,"cost":[3e18]},{"id":1,"cost":[3e18]})"), "add up to 2^62"},
      {file_with(R"({"id":0,"cost":[1,2],"configs":[[1]]})"), "1 configurations and 2 costs"},
      {file_with(kTwo, edge), "there is no such table"},
      {file_with(kTwo, R"({"src":7,"dst":3})"), "lacks the key \"table\""},
      {file_with(kTwo, R"({"src":7,"dst":9,"table":0})", cells), "there is no such vertex"},
      {file_with(kTwo, R"({"src":7,"dst":7,"table":0})", cells), "to itself"},
      {file_with(kTwo, R"({"src":3,"dst":7,"table":0})", cells), "2 rows and 3 columns"},
      {file_with(kTwo, edge, table("0", "1,2,3,4,5")), "5 cells"},
      {file_with(kTwo, edge, cells + "," + cells), "duplicate table 0"},
      {file_with(kTwo, edge + "," + edge, table("0", "3e18,0,0,0,0,0")), "parallel edges"},
  };
  for (const Case& wrong : cases) {
    INFO(wrong.text);
    std::string said = "nothing";
    try {
      read_graph("g", wrong.text);
    } catch (const InputError& error) {
      said = error.what();
    }
    CHECK_MESSAGE(said.find(wrong.complaint) != std::string::npos, said);
  }
}
