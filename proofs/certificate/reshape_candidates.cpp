// What is tried for reshapes and dots: the sizes of wholes that arrays fit into in several ways.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proofs/certificate/relation_search.h"

namespace p2 {

using kernel::xla::Index;
using kernel::xla::Node;
using kernel::xla::Tensors;

Index RelationSearch::reshaped(const Index& own, const Index& whole, const Index& to,
                               const Runs& runs, bool is_first) {
  Index sizes = to;
  for (std::size_t i = 0, j = 0; i < own.size() && j < to.size();) {
    const std::size_t first = j;
    const std::size_t dimension = i;
    std::int64_t a = 1, b = to[j++];
    std::int64_t here = 1, all = 1;  // elements
    const auto take = [&] {
      a *= own[i];
      here *= std::max<std::int64_t>(own[i], 1);
      all *= own[i] == 0 ? 1 : whole[i];
      ++i;
    };
    take();
    while (a != b && (a < b ? i < own.size() : j < to.size())) {
      if (a < b)
        take();
      else
        b *= to[j++];
    }
    // Dimensions of size 1 go with those beside them.
    while (i < own.size() && own[i] == 1 && (j == to.size() || (to[j] != 1 && !is_first))) take();
    if (i == dimension + 1 && dimension < runs.size() && runs[dimension].first > 0) {
      std::int64_t inner = 1;
      std::size_t k = j;
      while (k > first && inner < runs[dimension].first) inner *= to[--k];
      const std::int64_t of_run = runs[dimension].second / runs[dimension].first;
      if (k < j && inner == runs[dimension].first && all % (here * of_run) == 0) {
        sizes[k] *= of_run;
        all /= of_run;
      }
    }
    std::size_t at = first;
    while (!is_first && at + 1 < j && to[at] == 1) ++at;
    while (j < to.size() && to[j] == 1 && (i == own.size() || own[i] != 1)) ++j;
    const std::int64_t common = std::gcd(all, here);
    if (at < sizes.size() && common > 0 && sizes[at] % (here / common) == 0)
      sizes[at] = sizes[at] / (here / common) * (all / common);
  }
  return sizes;
}

RelationSearch::Runs RelationSearch::runs_of(std::size_t fact) const {
  Runs runs;
  for (const std::size_t each : modules_.facts()[fact].places) {
    runs.emplace_back(0, 0);
    const kernel::xla::Place& place = modules_.places().at(each);
    if (place.devices.empty() || place.devices[0].size() < 2) continue;
    const auto& all = place.devices[0];
    const std::int64_t apart = all[1].of - all[0].of;
    if (apart > 0 && apart % all[0].size == 0) runs.back() = {all[0].size, apart};
  }
  return runs;
}

void RelationSearch::by_parts(std::size_t node, std::size_t fact, const Index& sizes,
                              bool is_known) {
  for (const bool is_fine : {false, true}) {
    if (by_parts_so_fine(node, fact, sizes, is_known, is_fine)) return;
  }
}

bool RelationSearch::by_parts_so_fine(std::size_t node, std::size_t fact, const Index& sizes,
                                      bool is_known, bool is_fine) {
  // How many parts dimensions of the result have, of which a dimension of parts may be made.
  Index ratios;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::int64_t here = own_sizes(node)[k];
    if (here > 0 && sizes[k] > here && sizes[k] % here == 0) ratios.push_back(sizes[k] / here);
  }
  // Of every dimension that is cut, the number of the device's part, and what is in it; where it
  // has runs that are apart, which of those between, too.
  Index whole, own;
  const std::size_t operand = modules_.local().nodes[node].operands[0];
  const Runs runs = runs_of(fact);
  for (std::size_t k = 0; k < own_sizes(operand).size(); ++k) {
    const std::int64_t here = own_sizes(operand)[k];
    const std::int64_t all = sizes_of(fact)[k];
    const auto [run, apart] = runs[k];
    const auto add = [&](std::int64_t size, bool is_one) {
      if (is_one && size == 1) return;
      const auto ratio = std::ranges::find_if(
          ratios, [&](std::int64_t each) { return each < size && size % each == 0; });
      if (is_fine && is_one && ratio != ratios.end()) {
        whole.push_back(*ratio);
        own.push_back(1);
        size /= *ratio;
      }
      whole.push_back(size);
      own.push_back(is_one ? 1 : size);
    };
    if (here > 0 && run > 0 && here % run == 0 && all % (here / run * apart) == 0) {
      add(all / (here / run * apart), true);
      add(here / run, false);
      add(apart / run, true);
      add(run, false);
    } else if (here > 0 && here < all && all % here == 0) {
      add(all / here, true);
      add(here, false);
    } else {
      whole.push_back(all);
      own.push_back(here);
    }
  }
  // What is several dimensions of the result is several parts.
  std::int64_t inner = 1;  // elements of what follows, of parts and of dimensions of the result
  std::int64_t of_result = 1;
  std::size_t dimension = sizes.size();
  for (std::size_t k = own.size(); k-- > 0 && inner > 0;) {
    while (dimension > 0 && of_result <= inner) of_result *= own_sizes(node)[--dimension];
    const std::int64_t size = own[k];
    if (of_result > inner && of_result < inner * size && of_result % inner == 0 &&
        whole[k] == size && size % (of_result / inner) == 0) {
      const std::int64_t last = of_result / inner;
      own[k] = whole[k] = size / last;
      own.insert(own.begin() + static_cast<std::ptrdiff_t>(k + 1), last);
      whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(k + 1), last);
      inner *= last;
      ++k;
      continue;
    }
    inner *= size;
  }
  // Others keep their order: one that makes a tensor of the other module, or moves least, and one
  // that leaves what devices have in one segment.
  std::optional<Index> least, plain;
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] != 1 || whole[k] == 1) continue;
    Index others;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i != k) others.push_back(static_cast<std::int64_t>(i));
    }
    for (std::size_t step = 2; step < 2 * own.size(); ++step) {
      const std::size_t distance = step / 2;
      if (step % 2 == 0 ? k < distance : k + distance >= own.size()) continue;
      const std::size_t to = step % 2 == 0 ? k - distance : k + distance;
      Index order = others;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(k));
      Index hint = sizes;
      for (const Index& list : {whole, own, order})
        hint.insert(hint.end(), list.begin(), list.end());
      const auto found = modules_.follows(node, {fact}, hint);
      if (found && found->tensor < whole_ && derive(node, {fact}, hint)) return true;
      if (found && !least) least = hint;
      if (found && !plain && is_plain(*found)) plain = hint;
    }
  }
  if (is_known) return false;
  bool follows = least && derive(node, {fact}, *least);
  if (plain && plain != least) follows = derive(node, {fact}, *plain) || follows;
  return follows;
}

bool RelationSearch::is_plain(const Fact& fact) const {
  return std::ranges::all_of(fact.places, [&](std::size_t place) {
    return std::ranges::all_of(modules_.places().at(place).devices,
                               [](const auto& segments) { return segments.size() <= 1; });
  });
}

bool RelationSearch::is_any_plain(const Numbers& facts) const {
  return std::ranges::any_of(facts,
                             [&](std::size_t fact) { return is_plain(modules_.facts()[fact]); });
}

void RelationSearch::reshapes(std::size_t node, const Numbers& facts) {
  const Node& here = modules_.local().nodes[node];
  for (const std::size_t fact : facts) {
    const Tensors::Tensor& whole = modules_.tensors().at(modules_.facts()[fact].tensor);
    const std::size_t base = modules_.tensors().moved(modules_.facts()[fact].tensor).base;
    // Those that the other module has, before a guess: where dimensions of one index are
    // ambiguous it is one of these.
    std::vector<Index> candidates;
    Numbers moved = made_of(base, "moved");
    moved.push_back(base);
    for (const std::size_t each : moved) {
      const Index& sizes = modules_.tensors().at(each).sizes;
      const bool is_new =
          std::find(candidates.begin(), candidates.end(), sizes) == candidates.end();
      if (is_new && sizes.size() == own_sizes(node).size()) candidates.push_back(sizes);
    }
    const Index guess =
        reshaped(own_sizes(here.operands[0]), whole.sizes, own_sizes(node), runs_of(fact));
    for (const std::size_t each : made_of(modules_.facts()[fact].tensor, "broadcast")) {
      const Index& sizes = modules_.tensors().at(each).sizes;
      if (each < whole_ && sizes.size() == own_sizes(node).size()) derive(node, {fact}, sizes);
    }
    bool found = false;
    for (const Index& sizes : candidates) {
      const bool follows = derive(node, {fact}, sizes);
      found = found || follows;
      const bool fits = std::ranges::equal(own_sizes(node), sizes, [](auto own, auto size) {
        return own == size || (own > 0 && size % own == 0);
      });
      if (!follows && fits) by_parts(node, fact, sizes, true);
    }
    if (!found || !is_any_plain(of_[node])) derive(node, {fact}, guess);
    // Of a batch every device may have one element; of several slices each may be one of them.
    const Index& own = own_sizes(here.operands[0]);
    bool has_one = false;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const std::size_t place = modules_.facts()[fact].places[k];
      const auto is_slice = [&] {
        const auto classes = modules_.places().classes({place});
        return !modules_.places().is_free(place) &&
               std::ranges::all_of(classes, [](auto each) { return each == 0; });
      };
      has_one = has_one || (sizes_of(fact)[k] > own[k] && (own[k] == 1 || is_slice()));
    }
    if (has_one) derive(node, {fact}, reshaped(own, sizes_of(fact), own_sizes(node), {}, true));
  }
}

void RelationSearch::dots(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  const auto& dot = *here.instruction;
  const auto derive_with = [&](Wanted wanted) {
    return derive_all(node, {of_[here.operands[0]], of_[here.operands[1]]}, {}, wanted);
  };
  if (derive_with(Wanted::OfWhole)) return;
  as_known_dot(node);
  if (derive_with(Wanted::OfWhole)) return;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::size_t operand = here.operands[side];
    const std::string names[] = {side == 0 ? "lhs_" : "rhs_", side == 0 ? "rhs_" : "lhs_"};
    for (const std::size_t other : Numbers(of_[here.operands[1 - side]])) {
      if (of_[operand].empty()) return;
      // One dimension is left for what the other operand does not have.
      Index sizes(own_sizes(operand).size(), 0);
      double left = 1;
      for (const std::int64_t each : sizes_of(of_[operand][0])) left *= static_cast<double>(each);
      for (const char* kind : {"batch_dims", "contracting_dims"}) {
        const Index own = dot.numbers(names[0] + kind);
        const Index of = dot.numbers(names[1] + kind);
        for (std::size_t k = 0; k < own.size(); ++k) {
          const std::int64_t size = sizes_of(other).at(static_cast<std::size_t>(of.at(k)));
          sizes.at(static_cast<std::size_t>(own[k])) = size;
          left /= static_cast<double>(size);
        }
      }
      const auto free = std::find(sizes.begin(), sizes.end(), 0);
      if (free == sizes.end() || std::count(sizes.begin(), sizes.end(), 0) != 1 || left < 1 ||
          left != std::floor(left))
        continue;
      *free = static_cast<std::int64_t>(left);
      request(operand, sizes);
    }
  }
  for (const Wanted each : {Wanted::OfWhole, Wanted::Covering, Wanted::Any}) {
    if (derive_with(each)) return;
  }
}

void RelationSearch::dot_of_sizes(std::size_t node, const Index& sizes) {
  const Node& here = modules_.local().nodes[node];
  const Index along[] = {here.instruction->numbers("lhs_contracting_dims"),
                         here.instruction->numbers("rhs_contracting_dims")};
  const Index batch[] = {here.instruction->numbers("lhs_batch_dims"),
                         here.instruction->numbers("rhs_batch_dims")};
  // What is summed over is of the sizes that an operand is known to have.
  std::set<Index> summed;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const std::size_t fact : of_[here.operands[side]]) {
      Index one;
      for (const std::int64_t each : along[side])
        one.push_back(sizes_of(fact).at(static_cast<std::size_t>(each)));
      summed.insert(one);
    }
  }
  for (const Index& one : summed) {
    std::vector<Numbers> choices;
    std::size_t next = batch[0].size();
    for (std::size_t side = 0; side < 2; ++side) {
      Index operand(own_sizes(here.operands[side]).size(), -1);
      for (std::size_t k = 0; k < along[side].size(); ++k)
        operand.at(static_cast<std::size_t>(along[side][k])) = one[k];
      for (std::size_t k = 0; k < batch[side].size(); ++k)
        operand.at(static_cast<std::size_t>(batch[side][k])) = sizes.at(k);
      for (std::int64_t& size : operand) {
        if (size == -1) size = sizes.at(next++);
      }
      choices.push_back(request(here.operands[side], operand));
      if (choices.back().empty()) break;
    }
    if (choices.size() == 2 && derive_all(node, choices, {})) return;
  }
}

void RelationSearch::as_known_dot(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  const auto& tensors = modules_.tensors();
  const auto base_of = [&](std::size_t fact) {
    return tensors.moved(modules_.facts()[fact].tensor).base;
  };
  // Of a batch, of what is summed over and of what is left, one dimension each.
  const auto ask = [&](std::size_t side, const Tensors::Tensor& known, std::size_t of) {
    const Index& own = own_sizes(here.operands[side]);
    const std::string name = side == 0 ? "lhs_" : "rhs_";
    std::int64_t left = 1;
    for (const std::int64_t size : tensors.at(known.operands[of]).sizes) left *= size;
    Index sizes(own.size(), 0);
    for (std::size_t role = 0; role < 2; ++role) {
      const Index along =
          here.instruction->numbers(name + (role == 0 ? "batch_dims" : "contracting_dims"));
      std::int64_t size = 1;
      for (const std::int64_t each : known.form.numbers[2 * role + of])
        size *= tensors.at(known.operands[of]).sizes[static_cast<std::size_t>(each)];
      if (along.size() > 1 || (along.empty() && size > 1) || size == 0) return;
      if (!along.empty()) sizes.at(static_cast<std::size_t>(along[0])) = size;
      left /= size;
    }
    const auto free = std::find(sizes.begin(), sizes.end(), 0);
    if (free != sizes.end() ? std::count(free, sizes.end(), 0) > 1 : left > 1) return;
    if (free != sizes.end()) *free = left;
    request(here.operands[side], sizes);
  };
  for (const std::size_t fact : Numbers(of_[here.operands[0]])) {
    for (const std::size_t tensor : made_of(base_of(fact), "dot of moved")) {
      if (tensor >= whole_) break;
      const Tensors::Tensor& known = tensors.at(tensor);
      for (std::size_t k = 0; k < 2; ++k) {
        const auto is_other = [&](std::size_t each) {
          return base_of(each) == tensors.moved(known.operands[1 - k]).base;
        };
        if (tensors.moved(known.operands[k]).base != base_of(fact) ||
            !std::ranges::any_of(of_[here.operands[1]], is_other))
          continue;
        ask(0, known, k);
        ask(1, known, 1 - k);
      }
    }
  }
}

}  // namespace p2
