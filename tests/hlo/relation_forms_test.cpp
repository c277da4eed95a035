// Tensors that are made in several ways have one form: element by element.

#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_relations.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Tensors;
using kernel::xla::type_called;

std::int64_t elements(const Index& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Tensors, each made by an operation of others, with what the operation makes of their elements.
class Made {
 public:
  explicit Made(std::uint32_t seed)
      : random_(seed),
        type_(seed % 4 == 0   ? "s8"
              : seed % 4 == 1 ? "pred"
                              : "f32"),
        kind_(kernel::xla::kind_of(type_called(type_))),
        tensors_({}) {}

  void run() {
    input(sizes_of_rank(below(4)));
    for (int k = 0; k < 10; ++k) step();
    WholeTensors wholes(tensors_, inputs_);
    for (const auto& [tensor, elements] : all_) {
      const Array& made = wholes.at(tensor);
      REQUIRE(made.sizes == elements.sizes);
      for (std::size_t k = 0; k < made.cells.size(); ++k) {
        if (!is_same(made.cells[k], elements.cells[k])) {
          FAIL("tensor ", tensor, " of ", fmt::format("{}", made.sizes), ", element ", k, ": ",
               made.cells[k], " is not ", elements.cells[k], "; ", steps_);
        }
      }
    }
  }
  int simplified() const { return simplified_; }

 private:
  using Known = std::pair<std::size_t, Array>;

  std::size_t below(std::size_t end) { return random_() % end; }
  Index sizes_of_rank(std::size_t rank) {
    Index sizes;
    for (std::size_t k = 0; k < rank; ++k) {
      const std::int64_t size = std::vector<std::int64_t>{1, 2, 2, 3, 4, 6}[below(6)];
      sizes.push_back(elements(sizes) * size > 64 ? 1 : size);
    }
    return sizes;
  }
  std::size_t input(const Index& sizes, bool is_index = false) {
    const std::size_t number = inputs_.size();
    Array array{sizes, {}};
    for (std::int64_t k = 0; k < elements(sizes); ++k) {
      const double drawn = static_cast<double>(below(5)) - (is_index ? 1 : 2);
      array.cells.push_back(is_index || type_ != "pred" ? drawn : drawn > 0 ? 1 : 0);
    }
    inputs_[number] = array;
    const std::string type = is_index ? "s32" : type_;
    all_.emplace_back(tensors_.input(number, shape_of(type.c_str(), sizes)), array);
    return all_.size() - 1;
  }
  /// The number in `all_`, or nothing where the operation is none.
  std::optional<std::size_t> apply(const Form& form, const std::vector<std::size_t>& operands) {
    std::vector<std::size_t> numbers;
    std::vector<const Array*> arrays;
    for (const std::size_t each : operands) {
      numbers.push_back(all_[each].first);
      arrays.push_back(&all_[each].second);
    }
    const auto made = tensors_.make(form, numbers, kind_);
    if (!made) return std::nullopt;
    Array array = evaluate(form, arrays, tensors_.at(*made).sizes, type_);
    simplified_ += tensors_.at(*made).form != form || tensors_.at(*made).operands != numbers;
    steps_ +=
        fmt::format("{} = {} {} {} of {}; ", *made, form.opcode, form.text, form.numbers, numbers);
    all_.emplace_back(*made, std::move(array));
    return all_.size() - 1;
  }
  std::size_t some() {
    for (;;) {
      const std::size_t k = below(all_.size());
      if (tensors_.at(all_[k].first).kind == kind_) return k;
    }
  }
  const Index& sizes(std::size_t k) const { return all_[k].second.sizes; }

  /// One of its dimensions becomes two, or two become one.
  Form reshape_of(const Index& own) {
    Index to;
    for (const std::int64_t size : own) {
      const std::int64_t part = std::vector<std::int64_t>{1, 2, 3, 4}[below(4)];
      if (!to.empty() && below(3) == 0) {
        to.back() *= size;
      } else if (size % part == 0 && below(2) == 0) {
        to.push_back(part);
        to.push_back(size / part);
      } else {
        to.push_back(size);
      }
      if (below(6) == 0) to.push_back(1);
    }
    return {"reshape", "", {to}};
  }
  Form transpose_of(const Index& own) {
    Index order(own.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return {"transpose", "", {order}};
  }
  std::size_t moved(std::size_t x) { return moved_alike({x})[0]; }
  /// Of the same sizes.
  std::vector<std::size_t> moved_alike(std::vector<std::size_t> all) {
    for (std::size_t k = below(4); k-- > 0;) {
      const Index own = sizes(all[0]);
      const Form form = below(2) == 0 ? reshape_of(own) : transpose_of(own);
      for (std::size_t& each : all) each = apply(form, {each}).value();
    }
    return all;
  }
  /// Of these sizes.
  std::size_t other(const Index& to) {
    if (below(3) != 0) {
      for (std::size_t k = 0; k < all_.size(); ++k) {
        const std::size_t x = some();
        if (elements(sizes(x)) != elements(to)) continue;
        return apply({"reshape", "", {to}}, {moved(x)}).value();
      }
    }
    return below(2) == 0 ? input(to)
                         : apply({"reshape", "", {to}}, {moved(input({elements(to)}))}).value();
  }

  /// Parts of what is moved alike, one after the other.
  void join_alike() {
    const Index from = sizes_of_rank(1 + below(3));
    std::vector<std::size_t> parts = moved_alike({input(from), input(from), input(from)});
    const Index own = sizes(parts[0]);
    if (own.empty() || elements(own) > 48) return;
    const std::size_t along = below(own.size());
    for (std::size_t& each : parts) {
      Form slice{"slice", "", {Index(own.size(), 0), own, Index(own.size(), 1)}};
      const auto size = static_cast<std::size_t>(own[along]);
      if (below(2) == 0) slice.numbers[0][along] = static_cast<std::int64_t>(below(size));
      each = apply(slice, {each}).value();
    }
    apply({"concatenate", "", {{static_cast<std::int64_t>(along)}}}, parts);
  }

  void step() {
    std::size_t x = moved(some());
    const Index own = sizes(x);
    const std::size_t rank = own.size();
    switch (below(9)) {
      case 8:
        join_alike();
        return;
      case 0: {
        const std::vector<const char*> names =
            type_ == "pred" ? std::vector<const char*>{"and", "or", "xor", "or"}
                            : std::vector<const char*>{"add", "multiply", "subtract", "maximum"};
        std::size_t y = below(4) == 0 ? broadcast(own) : other(own);
        if (below(2) == 0) std::swap(x, y);
        apply({names[below(4)], "", {}}, {x, y});
        return;
      }
      case 1: {
        Index along;
        for (std::size_t k = 0; k < rank; ++k) {
          if (below(2) == 0) along.push_back(static_cast<std::int64_t>(k));
        }
        const std::size_t first = below(4) == 0 ? input({}) : scalar("0");
        const bool is_first = below(3) == 0;
        const char* const reducer =
            type_ == "pred" ? (is_first ? "and" : "or") : (is_first ? "maximum" : "add");
        apply({"reduce", reducer, {along}}, {x, first});
        return;
      }
      case 2:
        dot(x);
        return;
      case 3:
        broadcast_of(x);
        return;
      case 4: {
        if (rank == 0) return;
        Form form{"slice", "", {Index(rank, 0), own, Index(rank, 1)}};
        const std::size_t k = below(rank);
        form.numbers[0][k] = static_cast<std::int64_t>(below(static_cast<std::size_t>(own[k])));
        form.numbers[1][k] =
            form.numbers[0][k] + 1 +
            static_cast<std::int64_t>(below(static_cast<std::size_t>(own[k] - form.numbers[0][k])));
        if (below(5) == 0) form.numbers[2][k] = 2;
        apply(form, {x});
        return;
      }
      case 5: {
        if (rank == 0 || elements(own) > 64) return;
        const auto k = static_cast<std::int64_t>(below(rank));
        const auto joined = apply({"concatenate", "", {{k}}}, {x, other(own)});
        Form form{"slice", "", {Index(rank, 0), sizes(*joined), Index(rank, 1)}};
        const auto along = static_cast<std::size_t>(k);
        form.numbers[0][along] = below(2) == 0 ? own[along] : 0;
        if (form.numbers[0][along] == 0 && below(3) != 0) form.numbers[1][along] = own[along];
        if (below(2) == 0) apply(form, {*joined});
        return;
      }
      case 6: {
        if (rank == 0) return;
        Index taken = own;
        const std::size_t k = below(rank);
        taken[k] = 1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(own[k])));
        std::vector<std::size_t> operands = {x};
        for (std::size_t i = 0; i < rank; ++i) operands.push_back(input({}, true));
        apply({"dynamic-slice", "", {taken}}, operands);
        return;
      }
      default:
        return;
    }
  }
  std::size_t scalar(const char* value) {
    const char* const word = type_ == "pred" ? "false" : value;
    all_.emplace_back(tensors_.scalar(word, type_called(type_)), Array{{}, {std::stod(value)}});
    return all_.size() - 1;
  }
  std::size_t broadcast(const Index& to) {
    Index dimensions;
    Index from;
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (below(2) == 0) continue;
      dimensions.push_back(static_cast<std::int64_t>(k));
      from.push_back(to[k]);
    }
    return apply({"broadcast", "", {dimensions, to}}, {other(from)}).value();
  }
  /// A broadcast, moved, and times a constant before or after.
  std::size_t wide(const Index& to) {
    const auto scaled = [&](std::size_t x) {
      if (type_ == "pred" || below(2) == 0) return x;
      const std::size_t by = apply({"broadcast", "", {{}, sizes(x)}}, {scalar("3")}).value();
      return apply({"multiply", "", {}}, {x, by}).value();
    };
    const Form turn = transpose_of(to);
    Index own, back(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) {
      const auto from = static_cast<std::size_t>(turn.numbers[0][k]);
      own.push_back(to[from]);
      back[from] = static_cast<std::int64_t>(k);
    }
    return scaled(apply({"transpose", "", {back}}, {scaled(broadcast(own))}).value());
  }
  static Form exchanged(Form dot) {
    std::swap(dot.numbers[0], dot.numbers[1]);
    std::swap(dot.numbers[2], dot.numbers[3]);
    return dot;
  }
  void broadcast_of(std::size_t x) {
    if (elements(sizes(x)) > 32) return;
    Index to = sizes(x);
    Index dimensions(to.size());
    std::iota(dimensions.begin(), dimensions.end(), 0);
    const std::size_t at = below(to.size() + 1);
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(at),
              1 + static_cast<std::int64_t>(below(3)));
    for (std::size_t k = at; k < dimensions.size(); ++k) ++dimensions[k];
    const auto wide = apply({"broadcast", "", {dimensions, to}}, {x});
    moved(*wide);
  }
  void dot(std::size_t x) {
    const Index own = sizes(x);
    Form form{"dot", "", {{}, {}, {}, {}}};
    Index to;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const std::size_t role = below(3);
      if (role == 2) continue;
      form.numbers[2 * role].push_back(static_cast<std::int64_t>(k));
      form.numbers[2 * role + 1].push_back(std::ssize(to));
      to.push_back(own[k]);
    }
    if (below(2) == 0) to.push_back(2);
    Index order(to.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Index turned(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) turned[static_cast<std::size_t>(order[k])] = to[k];
    for (const std::size_t list : {1, 3}) {
      for (std::int64_t& each : form.numbers[list]) each = order[static_cast<std::size_t>(each)];
    }
    const std::size_t y = below(3) == 0 ? wide(turned) : other(turned);
    const auto made = below(2) == 0 || !form.numbers[0].empty() ? apply(form, {x, y})
                                                                : apply(exchanged(form), {y, x});
    if (!made || form.numbers[0].empty() || below(2) == 0) return;
    Index batches;
    for (std::size_t k = 0; k < form.numbers[0].size(); ++k) {
      if (below(2) == 0) batches.push_back(static_cast<std::int64_t>(k));
    }
    apply({"reduce", "add", {batches}}, {*made, scalar("0")});
  }

  std::mt19937 random_;
  std::string type_, kind_;
  Tensors tensors_;
  std::map<std::size_t, Array> inputs_;
  std::vector<Known> all_;
  std::string steps_;
  int simplified_ = 0;
};

TEST_CASE("a tensor in its one form is what the operation makes, element by element") {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const auto programs = 3000U * (more == nullptr ? 1U : static_cast<unsigned>(std::atoi(more)));
  int simplified = 0;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    Made made(seed);
    made.run();
    simplified += made.simplified();
  }
  CHECK(simplified > 30000);
}

TEST_CASE(
    "a concatenation of what is moved alike is moved, a broadcast has the fewest dimensions") {
  Tensors tensors({});
  const auto make = [&](const Form& form, const std::vector<std::size_t>& operands) {
    return tensors.make(form, operands, "float").value();
  };
  const auto reshape = [&](std::size_t x, const Index& to) {
    return make({"reshape", "", {to}}, {x});
  };
  const auto join = [&](std::int64_t along, std::size_t x, std::size_t y) {
    return make({"concatenate", "", {{along}}}, {x, y});
  };
  const std::size_t x = tensors.input(0, shape_of("f32", {6, 4, 2}));
  const std::size_t y = tensors.input(1, shape_of("f32", {6, 4, 3}));
  const auto turned = [&](std::size_t each, std::int64_t size) {
    return make({"transpose", "", {{1, 0, 2, 3}}}, {reshape(each, {2, 3, 4, size})});
  };
  CHECK(join(3, turned(x, 2), turned(y, 3)) == turned(join(2, x, y), 5));
  // Not where they are moved otherwise, nor along a part of a dimension.
  const std::size_t other = reshape(y, {3, 2, 4, 3});
  CHECK(tensors.at(join(3, turned(x, 2), other)).form.opcode == "concatenate");
  const auto part = [&](std::size_t each) { return reshape(each, {2, 3, 4, 2}); };
  const std::size_t z = tensors.input(2, shape_of("f32", {6, 4, 2}));
  CHECK(join(1, part(x), part(z)) != reshape(join(0, x, z), {2, 6, 4, 2}));
  CHECK(tensors.at(join(1, part(x), part(z))).form.opcode == "concatenate");

  const std::size_t line = tensors.input(3, shape_of("f32", {5, 2}));
  const auto wide = [&](const Index& along, const Index& sizes) {
    return reshape(make({"broadcast", "", {along, sizes}}, {line}), {20, 6, 2});
  };
  CHECK(wide({1, 3}, {4, 5, 6, 2}) == wide({1, 4}, {4, 5, 2, 3, 2}));
  CHECK(wide({2, 5}, {2, 2, 5, 3, 2, 2}) == wide({1, 3}, {4, 5, 6, 2}));
  CHECK(wide({0, 3}, {5, 4, 6, 2}) != wide({1, 3}, {4, 5, 6, 2}));
}

TEST_CASE("a slice ends behind its last element, one index of what is moved is one of it") {
  Tensors tensors({});
  const auto make = [&](const Form& form, const std::vector<std::size_t>& operands) {
    return tensors.make(form, operands, "float").value();
  };
  const auto slice = [&](std::size_t x, const Index& from, const Index& to, const Index& by) {
    return make({"slice", "", {from, to, by}}, {x});
  };
  const std::size_t x = tensors.input(0, shape_of("f32", {6, 2}));
  CHECK(slice(x, {0, 0}, {6, 2}, {2, 1}) == slice(x, {0, 0}, {5, 2}, {2, 1}));
  CHECK(slice(x, {0, 0}, {6, 2}, {2, 1}) != slice(x, {0, 0}, {4, 2}, {2, 1}));
  CHECK(slice(x, {3, 0}, {5, 2}, {4, 1}) == slice(x, {3, 0}, {4, 2}, {1, 1}));
  CHECK(slice(x, {3, 0}, {5, 2}, {4, 1}) != slice(x, {3, 0}, {5, 2}, {1, 1}));
  const std::size_t turned = make({"transpose", "", {{1, 0}}}, {x});
  CHECK(slice(turned, {0, 3}, {2, 4}, {1, 1}) ==
        make({"transpose", "", {{1, 0}}}, {slice(x, {3, 0}, {4, 2}, {1, 1})}));
  CHECK(slice(turned, {0, 3}, {2, 4}, {1, 1}) !=
        make({"transpose", "", {{1, 0}}}, {slice(x, {2, 0}, {3, 2}, {1, 1})}));
  // Nothing is between one element and others.
  const std::size_t zero = tensors.scalar("0", type_called("f32"));
  const auto pad = [&](std::size_t of, std::int64_t between) {
    return make({"pad", "", {{1, 0}, {1, 0}, {between, 0}}}, {of, zero});
  };
  const std::size_t row = slice(x, {3, 0}, {4, 2}, {1, 1});
  CHECK(pad(row, 1) == pad(row, 0));
  CHECK(pad(x, 1) != pad(x, 0));
}

}  // namespace
}  // namespace p2::hlo::small
