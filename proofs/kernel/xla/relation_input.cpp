// What certificates say of relations: pieces of tensors, what devices have in them, and facts.

#include "proofs/kernel/xla/relation_input.h"

#include <algorithm>
#include <memory>
#include <set>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {
namespace {

using Boxes = std::set<std::pair<Index, Index>>;  ///< first indices and sizes

/// Whether boxes cover a tensor.
bool are_all(const Index& sizes, const Boxes& boxes, Budget& budget) {
  // The cells between the borders of boxes.
  std::vector<Index> borders(sizes.size());
  Index counts;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::set<std::int64_t> all = {0, sizes[k]};
    for (const auto& [from, size] : boxes) all.insert({from[k], from[k] + size[k]});
    borders[k].assign(all.begin(), all.end());
    counts.push_back(std::ssize(all) - 1);
    budget.spend(boxes.size());
  }
  std::uint64_t cells = 1;
  for (const std::int64_t count : counts) {
    cells *= static_cast<std::uint64_t>(count);
    budget.spend(cells);
  }
  std::vector<bool> held(cells, false);
  for (const auto& [from, size] : boxes) {
    Index first, number;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const auto at = [&](std::int64_t border) {
        return std::lower_bound(borders[k].begin(), borders[k].end(), border) - borders[k].begin();
      };
      first.push_back(at(from[k]));
      number.push_back(at(from[k] + size[k]) - first.back());
    }
    for_each_index(number, [&](const Index& offset) {
      budget.spend(1);
      Index cell = first;
      for (std::size_t k = 0; k < cell.size(); ++k) cell[k] += offset[k];
      held[place_of(counts, cell)] = true;
    });
  }
  return std::find(held.begin(), held.end(), false) == held.end();
}

}  // namespace

Relation read_pieces(const Json& json, const Shape& whole, const Index* own, std::size_t devices,
                     std::uint64_t max_parts, Budget& budget) {
  Relation relation;
  const std::string& reducer = as_text(json["reducer"]);
  relation.parts = as_number(json["parts"], max_parts + 1);
  if (!reducer.empty()) relation.reducer = reducer_named(reducer);
  if (relation.parts == 0 || (relation.parts != 1 && !relation.reducer))
    malformed("parts of a tensor");
  const std::size_t n = whole.sizes.size();
  std::vector<Boxes> held(relation.parts);
  for (const Json& numbers : as_list(json["pieces"])) {
    const Numbers all = as_numbers(numbers, FactLines::kEnd);
    if (all.size() != 2 + 3 * n || all[0] >= devices || all[1] >= relation.parts)
      malformed("a piece of a tensor");
    Piece piece{all[0], all[1], {}, {}, {}};
    for (std::size_t i = 0; i < n; ++i) {
      piece.of.push_back(all[2 + i]);
      piece.at.push_back(all[2 + n + i]);
      piece.sizes.push_back(all[2 + 2 * n + i]);
      if (piece.of[i] + piece.sizes[i] > whole.sizes[i] ||
          (own != nullptr && piece.at[i] + piece.sizes[i] > (*own)[i]))
        malformed("a piece lies beyond its tensor");
    }
    budget.spend(3 * n);
    held[piece.part].emplace(piece.of, piece.sizes);
    relation.pieces.push_back(std::move(piece));
  }
  for (const auto& boxes : held) {
    if (!are_all(whole.sizes, boxes, budget))
      reject("an element of a whole tensor is held by no device");
  }
  return relation;
}

std::vector<Relation> copies_on_devices(const std::vector<Shape>& shapes, std::size_t devices) {
  std::vector<Relation> relations(shapes.size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    relations[k].number = k;
    const Index first(shapes[k].sizes.size(), 0);
    for (std::size_t device = 0; device < devices; ++device)
      relations[k].pieces.push_back({device, 0, first, first, shapes[k].sizes});
  }
  return relations;
}

std::string words_of(const Relation& relation, const Shape& whole, std::size_t devices) {
  std::string text = " of [";
  for (std::size_t i = 0; i < whole.sizes.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(whole.sizes[i]);
  text += "] ";
  const bool is_copied =
      relation.pieces.size() == devices && !relation.reducer &&
      std::all_of(relation.pieces.begin(), relation.pieces.end(),
                  [&](const Piece& piece) { return piece.sizes == whole.sizes; });
  if (is_copied) return text + "on every device";
  if (relation.reducer) text += "as a reduction of " + counted(relation.parts, "part") + " ";
  return text + "in " + counted(relation.pieces.size(), "piece");
}

bool have_shapes(const FlatModule& flat, const std::vector<std::size_t>& nodes,
                 const std::vector<Shape>& shapes) {
  return std::equal(shapes.begin(), shapes.end(), nodes.begin(), nodes.end(),
                    [&](const Shape& shape, std::size_t node) {
                      const Shape& own = flat.nodes[node].shape;
                      return shape.sizes == own.sizes && shape.type == own.type;
                    });
}

std::size_t place_from(const Index& sizes, Index first, const Index& offset) {
  for (std::size_t i = 0; i < first.size(); ++i) first[i] += offset[i];
  return place_of(sizes, first);
}

Tensor drawn_input(Arithmetic& arithmetic, const Shape& shape, std::uint64_t number,
                   std::uint64_t owner) {
  Tensor tensor{shape.type, shape.sizes, {}};
  for (std::int64_t element = 0; element < shape.elements(); ++element) {
    const std::uint64_t keys[] = {number, static_cast<std::uint64_t>(element), owner};
    tensor.cells.push_back(arithmetic.input(keys, shape.type));
  }
  return tensor;
}

Value held_by_devices(Arithmetic& arithmetic, const std::vector<Tensor>& parts,
                      const Relation& relation, const Shape& own, const Devices& devices,
                      Budget& budget) {
  Value held;
  for (std::size_t device = 0; device < devices.count(); ++device) {
    Tensor tensor{own.type, own.sizes, {}};
    budget.spend(8 * static_cast<std::uint64_t>(own.elements()));
    for (std::int64_t i = 0; i < own.elements(); ++i)
      tensor.cells.push_back(arithmetic.arbitrary(own.type));
    for (const Piece& piece : relation.pieces) {
      if (piece.device != device) continue;
      const Tensor& part = parts[piece.part];
      for_each_index(piece.sizes, [&](const Index& offset) {
        tensor.cells[place_from(own.sizes, piece.at, offset)] =
            part.cells[place_from(part.sizes, piece.of, offset)];
      });
    }
    held.devices.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  }
  // Devices with equal tensors share them, so that what they compute is computed once.
  const auto equal = [](const Cell& a, const Cell& b) {
    return a.value == b.value && a.low == b.low && a.nan == b.nan;
  };
  for (std::size_t device = 1; device < devices.count(); ++device) {
    for (std::size_t other = 0; other < device; ++other) {
      const auto& a = held.devices[device]->cells;
      const auto& b = held.devices[other]->cells;
      if (held.devices[other] == held.devices[device] ||
          !std::equal(a.begin(), a.end(), b.begin(), equal))
        continue;
      held.devices[device] = held.devices[other];
      break;
    }
  }
  return held;
}

std::vector<Value> arguments_of(const Module& module, std::vector<Value> arrays) {
  std::size_t next = 0;
  const std::function<Value(const Shape&)> build = [&](const Shape& shape) -> Value {
    if (!shape.is_tuple) return std::move(arrays.at(next++));
    Value tuple;
    for (const Shape& part : shape.parts) tuple.parts.push_back(build(part));
    return tuple;
  };
  std::vector<Value> arguments;
  for (const std::uint32_t each : module.main().parameters)
    arguments.push_back(build(module.main().instructions[each].shape));
  return arguments;
}

void arrays_of(const Value& value, std::vector<Value>& arrays) {
  if (value.parts.empty() && !value.devices.empty()) return arrays.push_back(value);
  for (const Value& part : value.parts) arrays_of(part, arrays);
}

FactLines::FactLines(const Files& files) {
  if (read_flat(files.at("relation.json"))) return;
  numbers_.clear();
  ends_.clear();
  rest_ = parse_json(files, "relation.json");
  expect_keys(rest_, {"facts", "outputs"});
}

/// Reads `{"facts":[[1,2],[3]],"outputs":…}` as writers of certificates write it, without space
/// between, in one pass and without a tree of numbers. Whatever is written in another way, or
/// wrong, is none of it.
bool FactLines::read_flat(const std::string& bytes) {
  constexpr std::string_view kBegin = R"({"facts":[)";
  if (bytes.size() > kLargestJson || !bytes.starts_with(kBegin)) return false;
  const char* at = bytes.data() + kBegin.size();
  const char* const end = bytes.data() + bytes.size();
  // The text ends with a NUL, which is none of the characters that are asked for.
  const auto accept = [&](char c) { return *at == c && ++at; };
  const auto is_digit = [&] { return '0' <= *at && *at <= '9'; };
  bool is_more = *at != ']';
  while (is_more) {
    if (!accept('[')) return false;
    do {
      const char* const begin = at;
      std::uint64_t number = 0;
      for (; is_digit() && number < kEnd; ++at)
        number = 10 * number + static_cast<std::uint64_t>(*at - '0');
      if (at == begin || number >= kEnd || (*begin == '0' && at - begin > 1)) return false;
      numbers_.push_back(static_cast<std::uint32_t>(number));
    } while (accept(','));
    if (!accept(']')) return false;
    ends_.push_back(numbers_.size());
    is_more = accept(',');
  }
  if (!accept(']') || !accept(',')) return false;
  try {
    rest_ = parse_json({{"the rest", "{" + std::string(at, end)}}, "the rest");
    expect_keys(rest_, {"outputs"});
  } catch (const CheckFailure&) {
    return false;
  }
  return true;
}

void FactLines::for_each(
    const std::function<void(std::span<const std::uint32_t> line)>& visit) const {
  if (!rest_.contains("facts")) {
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      visit(std::span(numbers_).subspan(begin, end - begin));
      begin = end;
    }
    return;
  }
  for (const Json& line : as_list(rest_["facts"])) visit(as_numbers(line, kEnd));
}

}  // namespace p2::kernel::xla
