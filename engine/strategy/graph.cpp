#include "engine/strategy/graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/files.h"
#include "engine/base/json_reader.h"

namespace p2::strategy {

bool sums_fit(const Graph& graph) {
  Cost left = kCostEnd - 1;
  for (const auto& costs : graph.costs) left -= std::min(left + 1, std::ranges::max(costs));
  for (const Edge& edge : graph.edges) left -= std::min(left + 1, std::ranges::max(edge.table));
  return left >= 0;
}

Cost cost_of(const Graph& graph, const Strategy& strategy) {
  Cost sum = 0;
  for (std::size_t v = 0; v < graph.vertices(); ++v) sum += graph.costs[v][strategy[v]];
  for (const Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    sum += edge.table[strategy[edge.first] * columns + strategy[edge.second]];
  }
  return sum;
}

Kept all_configurations(const Graph& graph) {
  Kept kept;
  for (const auto& costs : graph.costs) {
    auto& numbers = kept.emplace_back(costs.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
  }
  return kept;
}

Graph restricted(const Graph& graph, const Kept& kept) {
  Graph part;
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    auto& costs = part.costs.emplace_back();
    for (const std::uint32_t c : kept[v]) costs.push_back(graph.costs[v][c]);
  }
  for (const Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    Edge& narrow = part.edges.emplace_back(Edge{edge.first, edge.second, {}});
    narrow.table.reserve(kept[edge.first].size() * kept[edge.second].size());
    for (const std::uint32_t row : kept[edge.first]) {
      for (const std::uint32_t column : kept[edge.second]) {
        narrow.table.push_back(edge.table[row * columns + column]);
      }
    }
  }
  return part;
}

Cost memory_of(const Memory& memory, const Strategy& strategy) {
  Cost sum = 0;
  for (std::size_t v = 0; v < strategy.size(); ++v) sum += memory[v][strategy[v]];
  return sum;
}

Memory restricted(const Memory& memory, const Kept& kept) {
  Memory part;
  for (std::size_t v = 0; v < kept.size(); ++v) {
    auto& own = part.emplace_back();
    for (const std::uint32_t c : kept[v]) own.push_back(memory[v][c]);
  }
  return part;
}

namespace {

constexpr std::int64_t kMaxNumber = 1 << 30;

/// The number of parts of every dimension of a vertex under a configuration.
using Split = std::vector<std::int64_t>;

Split read_numbers(const JsonValue& list, std::string_view what) {
  Split numbers;
  for (const JsonValue& item : list.array(what)) {
    numbers.push_back(item.integer(what, 0, kMaxNumber));
  }
  return numbers;
}

/// `configs` of a vertex that has `count` configurations.
std::vector<Split> read_splits(const JsonValue& value, std::size_t count) {
  std::vector<Split> splits;
  for (const JsonValue& item : value.array("the configurations")) {
    splits.push_back(read_numbers(item, "a configuration"));
  }
  if (splits.size() != count) {
    value.fail(fmt::format("there are {} configurations and {} costs, expected one each",
                           splits.size(), count));
  }
  return splits;
}

/// The configuration of data parallelism: the first dimension of `dom` that is as long as the batch
/// is split over all devices, the others are not split.
std::optional<std::uint32_t> data_parallel_split(const JsonValue& dom,
                                                 const std::vector<Split>& splits,
                                                 std::int64_t devices, std::int64_t batch) {
  const Split lengths = read_numbers(dom, "the dimensions of a vertex");
  const auto along = std::ranges::find(lengths, batch);
  if (along == lengths.end()) return std::nullopt;
  Split wanted(lengths.size(), 1);
  wanted[static_cast<std::size_t>(along - lengths.begin())] = devices;
  const auto found = std::ranges::find(splits, wanted);
  if (found == splits.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - splits.begin());
}

struct EdgeCosts {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Cost> cells;
};

std::vector<Cost> read_costs(const JsonValue& list, std::string_view what) {
  std::vector<Cost> costs;
  for (const JsonValue& item : list.array(what)) {
    costs.push_back(item.rounded("a cost", 0, kCostEnd - 1));
  }
  return costs;
}

class Reader {
 public:
  explicit Reader(const JsonValue& root) : root_(root) {
    const JsonValue format = root.member("format", "the file");
    if (format.string("the format") != "pairwise-strategy-graph/1") {
      format.fail("unknown format, expected \"pairwise-strategy-graph/1\"");
    }
    const auto devices = root.find("p");
    const auto batch = root.find("batch");
    if (devices && batch) {
      devices_ = devices->integer("p", 1, kMaxNumber);
      batch_ = batch->integer("batch", 1, kMaxNumber);
      data_parallel_.emplace();
    }
    const auto vertices = root.member("vertices", "the file").array("the vertices");
    if (vertices.empty()) root.fail("the graph has no vertices, expected at least one");
    for (const JsonValue& vertex : vertices) read_vertex(vertex);
    for (const JsonValue& table : root.member("edge_tables", "the file").array("the tables")) {
      read_table(table);
    }
    for (const JsonValue& edge : root.member("edges", "the file").array("the edges")) {
      read_edge(edge);
    }
  }

  GraphFile finish() {
    for (auto& [ends, table] : edges_) {
      file_.graph.edges.push_back({ends.first, ends.second, std::move(table)});
    }
    if (!sums_fit(file_.graph)) root_.fail("the largest costs add up to 2^62 or more");
    if (data_parallel_) {
      file_.known.push_back({"data parallelism", cost_of(file_.graph, *data_parallel_)});
    }
    return std::move(file_);
  }

 private:
  void read_vertex(const JsonValue& vertex) {
    const JsonValue id = vertex.member("id", "a vertex");
    const std::int64_t number = id.integer("the id of a vertex", 0, kMaxNumber);
    const auto position = static_cast<std::uint32_t>(numbers_.size());
    if (!numbers_.emplace(number, position).second) {
      id.fail(fmt::format("duplicate vertex {}, expected distinct ids", number));
    }
    const JsonValue costs = vertex.member("cost", "a vertex");
    file_.graph.costs.push_back(read_costs(costs, "the costs of a vertex"));
    const std::size_t count = file_.graph.costs.back().size();
    if (count == 0) costs.fail(fmt::format("vertex {} has no configuration", number));

    read_memory(vertex, count);
    VertexLabel& label = file_.labels.emplace_back();
    if (const auto operation = vertex.find("op")) label.name = operation->string("op") + " ";
    label.name += std::to_string(number);
    const auto given = vertex.find("configs");
    const auto splits = given ? read_splits(*given, count) : std::vector<Split>();
    for (const Split& split : splits) {
      label.configurations.push_back(fmt::format("[{}]", fmt::join(split, ",")));
    }
    for (std::size_t c = splits.size(); c < count; ++c) {
      label.configurations.push_back(std::to_string(c));
    }
    const auto dom = vertex.find("dom");
    const auto parallel =
        data_parallel_ && dom ? data_parallel_split(*dom, splits, devices_, batch_) : std::nullopt;
    if (!parallel) return data_parallel_.reset();
    data_parallel_->push_back(*parallel);
  }

  /// All vertices have one, or none.
  void read_memory(const JsonValue& vertex, std::size_t count) {
    const auto given = vertex.find("memory");
    if (given && file_.labels.empty()) file_.memory.emplace();
    if (given.has_value() != file_.memory.has_value()) {
      vertex.fail("some vertices have a memory and others none, expected all or none");
    }
    if (!given) return;
    file_.memory->push_back(read_costs(*given, "the memory of a vertex"));
    if (file_.memory->back().size() != count) {
      given->fail(fmt::format("there are {} configurations and {} memories, expected one each",
                              count, file_.memory->back().size()));
    }
  }

  void read_table(const JsonValue& value) {
    const JsonValue id = value.member("id", "a table");
    const std::int64_t number = id.integer("the id of a table", 0, kMaxNumber);
    EdgeCosts table;
    table.rows = value.member("rows", "a table").integer("rows", 1, kMaxNumber);
    table.columns = value.member("cols", "a table").integer("cols", 1, kMaxNumber);
    const JsonValue cells = value.member("cells", "a table");
    table.cells = read_costs(cells, "the cells of a table");
    if (std::ssize(table.cells) != table.rows * table.columns) {
      cells.fail(fmt::format("table {} has {} cells, expected {} rows of {}", number,
                             table.cells.size(), table.rows, table.columns));
    }
    if (!tables_.emplace(number, std::move(table)).second) {
      id.fail(fmt::format("duplicate table {}, expected distinct ids", number));
    }
  }

  std::uint32_t end_of(const JsonValue& edge, std::string_view key) const {
    const JsonValue value = edge.member(key, "an edge");
    const auto found = numbers_.find(value.integer(key, 0, kMaxNumber));
    if (found == numbers_.end()) value.fail("there is no such vertex");
    return found->second;
  }

  void read_edge(const JsonValue& edge) {
    std::uint32_t first = end_of(edge, "src");
    std::uint32_t second = end_of(edge, "dst");
    if (first == second) edge.fail("an edge joins a vertex to itself, expected two vertices");
    const JsonValue id = edge.member("table", "an edge");
    const auto found = tables_.find(id.integer("the table of an edge", 0, kMaxNumber));
    if (found == tables_.end()) id.fail("there is no such table");
    const EdgeCosts& table = found->second;
    const std::size_t rows = file_.graph.configurations(first);
    const std::size_t columns = file_.graph.configurations(second);
    if (table.rows != static_cast<std::int64_t>(rows) ||
        table.columns != static_cast<std::int64_t>(columns)) {
      id.fail(
          fmt::format("the table has {} rows and {} columns, expected {} and {}, the "
                      "configurations of src and dst",
                      table.rows, table.columns, rows, columns));
    }
    const bool turned = first > second;
    auto& sum = edges_[std::minmax(first, second)];
    sum.resize(table.cells.size());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        Cost& cell = sum[turned ? column * rows + row : row * columns + column];
        cell += table.cells[row * columns + column];
        if (cell >= kCostEnd) edge.fail("the tables of parallel edges add up to 2^62 or more");
      }
    }
  }

  JsonValue root_;
  GraphFile file_;
  std::optional<Strategy> data_parallel_;
  std::int64_t devices_ = 0;
  std::int64_t batch_ = 0;
  std::map<std::int64_t, std::uint32_t> numbers_;  // of vertices, by id
  std::map<std::int64_t, EdgeCosts> tables_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Cost>> edges_;
};

}  // namespace

GraphFile read_graph(const std::string& source, const std::string& text) {
  return read_as({FileKind::OperationGraph}, source, text, [&] {
    const JsonDocument document(source, text);
    return Reader(document.root()).finish();
  });
}

}  // namespace p2::strategy
