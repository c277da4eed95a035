// What the rules of a relation rest on: sizes of results, tensors that are made, and what is known
// of them. Whatever does not fit is refused.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "proofs/kernel/xla/relation.h"
#include "tests/hlo/small_relations.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Index;
using kernel::xla::Shape;
using kernel::xla::Tensors;
using kernel::xla::type_called;

struct Operation {
  const char* opcode;
  std::vector<Index> numbers;
  std::vector<Index> operands;
};

std::optional<Index> sizes(const Operation& operation) {
  return kernel::xla::sizes_of({operation.opcode, "", operation.numbers}, operation.operands);
}

TEST_CASE("operations whose operands and attributes fit have sizes") {
  const std::pair<Operation, Index> all[] = {
      {{"add", {}, {{2, 3}, {2, 3}}}, {2, 3}},
      {{"select", {}, {{}, {2, 3}, {2, 3}}}, {2, 3}},
      {{"clamp", {}, {{}, {2, 3}, {}}}, {2, 3}},
      {{"reshape", {{6}}, {{2, 3}}}, {6}},
      {{"broadcast", {{1}, {4, 3}}, {{3}}}, {4, 3}},
      {{"transpose", {{1, 0}}, {{2, 3}}}, {3, 2}},
      {{"reverse", {{0}}, {{2, 3}}}, {2, 3}},
      {{"slice", {{0, 1}, {2, 3}, {1, 2}}, {{2, 3}}}, {2, 1}},
      {{"pad", {{0, 1}, {1, 0}, {1, 0}}, {{2, 3}, {}}}, {4, 4}},
      {{"concatenate", {{1}}, {{2, 3}, {2, 1}}}, {2, 4}},
      {{"dot", {{0}, {0}, {2}, {1}}, {{5, 2, 3}, {5, 3, 4}}}, {5, 2, 4}},
      {{"reduce", {{0}}, {{2, 3}, {}}}, {3}},
      {{"gather", {{1}, {0}, {0}, {}, {}, {1}, {1, 8}}, {{4, 8}, {3, 1}}}, {3, 8}},
      {{"gather", {{1}, {}, {1}, {0}, {0}, {1}, {1, 2}}, {{4, 8}, {4, 1}}}, {4, 2}},
      {{"scatter", {{1}, {0}, {0}, {}, {}, {1}}, {{4, 8}, {3, 1}, {3, 8}}}, {4, 8}},
      {{"scatter", {{1}, {}, {1}, {0}, {0}, {1}}, {{4, 8}, {4, 1}, {4, 2}}}, {4, 8}},
      {{"iota", {{1}, {2, 3}}, {}}, {2, 3}},
      {{"dynamic-slice", {{2, 1}}, {{2, 3}, {}, {}}}, {2, 1}},
      {{"dynamic-update-slice", {}, {{2, 3}, {2, 1}, {}, {}}}, {2, 3}},
      {{"function", {{2, 3}, {7}}, {{2, 3}}}, {7}},
  };
  for (const auto& [operation, expected] : all) {
    CAPTURE(std::string(operation.opcode));
    CHECK(sizes(operation) == expected);
  }
}

TEST_CASE("operations whose operands or attributes do not fit have none") {
  const Index wide = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const Operation all[] = {
      {"add", {}, {{2, 3}}},
      {"add", {}, {{2, 3}, {3, 2}}},
      {"add", {}, {{}, {2, 3}}},
      {"negate", {}, {}},
      {"negate", {}, {{2}, {2}}},
      {"select", {}, {{2}, {2, 3}, {2, 3}}},
      {"select", {}, {{2, 3}, {}, {2, 3}}},
      {"clamp", {}, {{2, 3}, {}, {2, 3}}},
      {"reshape", {{5}}, {{2, 3}}},
      {"reshape", {wide}, {wide}},
      {"reshape", {{6}}, {{2, 3}, {2, 3}}},
      {"broadcast", {{2}, {4, 3}}, {{3}}},
      {"broadcast", {{-1}, {4, 3}}, {{3}}},
      {"broadcast", {{0, 1}, {4, 3}}, {{4}}},
      {"broadcast", {{0}, {4, 3}}, {{3}}},
      {"transpose", {{0, 0}}, {{2, 3}}},
      {"transpose", {{0, 2}}, {{2, 3}}},
      {"transpose", {{0}}, {{2, 3}}},
      {"reverse", {{2}}, {{2, 3}}},
      {"slice", {{0}, {2}, {1}}, {{2, 3}}},
      {"slice", {{0}, {2}, {1}}, {{2}, {}}},
      {"slice", {{-1}, {2}, {1}}, {{2}}},
      {"slice", {{2}, {1}, {1}}, {{2}}},
      {"slice", {{0}, {3}, {1}}, {{2}}},
      {"slice", {{0}, {2}, {0}}, {{2}}},
      {"pad", {{0}, {1}, {0}}, {{2}}},
      {"pad", {{0}, {1}, {0}}, {{2}, {1}}},
      {"pad", {{0, 0}, {1, 1}, {0, 0}}, {{2}, {}}},
      {"pad", {{0}, {1}, {-1}}, {{2}, {}}},
      {"pad", {{-2}, {-1}, {0}}, {{2}, {}}},
      {"concatenate", {{0, 1}}, {{2, 3}, {2, 3}}},
      {"concatenate", {{2}}, {{2, 3}, {2, 3}}},
      {"concatenate", {{0}}, {{2, 3}, {2}}},
      {"concatenate", {{0}}, {{2, 3}, {2, 4}}},
      {"dot", {{}, {}, {1}, {0}}, {{2, 3}}},
      {"dot", {{}, {}, {1}, {0}}, {{2, 3}, {4, 2}}},
      {"dot", {{0}, {}, {1}, {0}}, {{2, 3}, {3, 2}}},
      {"dot", {{}, {}, {1, 0}, {0}}, {{2, 3}, {3, 2}}},
      {"dot", {{}, {}, {1, 1}, {0, 1}}, {{2, 3}, {3, 3}}},
      {"dot", {{}, {}, {0, 1}, {0, 0}}, {{3, 3}, {3, 2}}},
      {"reduce", {{0}}, {{2, 3}}},
      {"reduce", {{0}}, {{2, 3}, {2}}},
      {"reduce", {{2}}, {{2, 3}, {}}},
      {"gather", {{1}, {0}, {0}, {}, {}, {1}, {1, 8}}, {{4, 8}}},
      {"gather", {{1}, {0}, {0}, {}, {}, {1}, {1}}, {{4, 8}, {3, 1}}},
      {"gather", {{}, {0, 0}, {0}, {}, {}, {1}, {1, 1}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {0}, {5}, {}, {}, {1}, {1, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{}, {0}, {0}, {1}, {1}, {1}, {1, 1}}, {{4, 1}, {3, 1}}},
      {"gather", {{2}, {0}, {0}, {}, {}, {1}, {1, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {0}, {0}, {}, {0}, {1}, {1, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{1, 0}, {0}, {0}, {}, {}, {1}, {1, 8, 2}}, {{4, 8, 2}, {3, 1}}},
      {"gather", {{1}, {0}, {0, 1}, {}, {}, {1}, {1, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{}, {0}, {0}, {}, {}, {1}, {1, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {0}, {0}, {}, {}, {1}, {1, -1}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {0}, {0}, {}, {}, {1}, {1, 9}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {0}, {0}, {}, {}, {1}, {2, 8}}, {{4, 8}, {3, 1}}},
      {"gather", {{1}, {}, {1}, {0}, {0}, {1}, {1, 2}}, {{4, 8}, {3, 1}}},
      {"scatter", {{1}, {0}, {0}, {}, {}, {1}}, {{4, 8}, {3, 1}}},
      {"scatter", {{1}, {0}, {0}, {}, {}, {1}}, {{4, 8}, {3, 1}, {2, 8}}},
      {"scatter", {{}, {0}, {0}, {}, {}, {1}}, {{4, 8}, {3, 1}, {3}}},
      {"iota", {{2}, {2, 3}}, {}},
      {"iota", {{-1}, {2, 3}}, {}},
      {"iota", {{0}, {2, 3}}, {{2}}},
      {"dynamic-slice", {{2}}, {{2, 3}, {}, {}}},
      {"dynamic-slice", {{2, 1}}, {{2, 3}, {}}},
      {"dynamic-slice", {{2, 1}}, {{2, 3}, {}, {1}}},
      {"dynamic-slice", {{2, -1}}, {{2, 3}, {}, {}}},
      {"dynamic-slice", {{2, 4}}, {{2, 3}, {}, {}}},
      {"dynamic-update-slice", {}, {{2, 3}, {2, 4}, {}, {}}},
      {"function", {{2, 3}, {7}}, {{3, 2}}},
      {"another", {{2, 1}}, {{2, 3}, {}, {}}},
  };
  int number = 0;
  for (const Operation& operation : all) {
    CAPTURE(std::string(operation.opcode));
    CAPTURE(number++);
    CHECK(!sizes(operation));
  }
}

Shape shape(const char* type, const Index& sizes) {
  return {false, type_called(type), sizes, {}, {}, {}};
}

TEST_CASE("tensors are made of operands of their kind, and equal ones have one number") {
  Tensors tensors({{"same"}, {}});
  const std::size_t x = tensors.input(0, shape("f32", {2, 3}));
  const std::size_t y = tensors.input(1, shape("bf16", {2, 3}));
  const std::size_t k = tensors.input(2, shape("s32", {2, 3}));
  const std::size_t p = tensors.input(3, shape("pred", {2, 3}));
  const std::size_t i = tensors.input(4, shape("s32", {5, 1}));
  const auto made = [&](const char* opcode, const std::vector<std::size_t>& operands,
                        const char* kind, const std::vector<Index>& numbers = {}) {
    return tensors.make({opcode, "", numbers}, operands, kind);
  };
  CHECK(made("add", {x, y}, "float") == made("add", {y, x}, "float"));
  CHECK(made("subtract", {x, y}, "float") != made("subtract", {y, x}, "float"));
  CHECK(!made("add", {x, k}, "float"));
  CHECK(!made("add", {k, x}, "float"));
  CHECK(!made("add", {x, y}, "s32"));
  CHECK(!made("select", {x, x, y}, "float"));
  CHECK(!made("select", {p, x, k}, "float"));
  CHECK(made("select", {p, x, y}, "float"));
  CHECK(made("compare", {x, y}, "pred"));
  CHECK(!made("compare", {x, y}, "float"));
  CHECK(!made("is-finite", {x}, "float"));
  CHECK(made("convert", {k}, "float") != made("convert", {k}, "s64"));
  CHECK(made("convert", {x}, "float") == x);
  const std::vector<Index> contraction = {{}, {}, {1}, {1}};
  CHECK(made("dot", {x, y}, "float", contraction));
  CHECK(!made("dot", {x, y}, "s32", contraction));
  CHECK(!made("dot", {x, k}, "float", contraction));
  CHECK(!made("dot", {k, x}, "float", contraction));
  CHECK(!made("transpose", {k}, "float", {{1, 0}}));
  const std::vector<Index> rows = {{1}, {0}, {0}, {}, {}, {1}, {1, 3}};
  CHECK(made("gather", {x, i}, "float", rows));
  CHECK(!made("gather", {k, i}, "float", rows));
  CHECK(!made("reshape", {x}, "float", {{5}}));
  // A scalar condition is that of all elements.
  const std::size_t one = tensors.input(5, shape("pred", {}));
  const auto all = made("broadcast", {one}, "pred", {{}, {2, 3}});
  CHECK(made("select", {one, x, y}, "float") == made("select", {*all, x, y}, "float"));

  // Laws of single operations, and what is none.
  const auto transposed = made("transpose", {x}, "float", {{1, 0}});
  CHECK(made("transpose", {*transposed}, "float", {{1, 0}}) == x);
  CHECK(made("transpose", {x}, "float", {{0, 1}}) == x);
  CHECK(made("reshape", {x}, "float", {{2, 3}}) == x);
  CHECK(made("reshape", {*made("reshape", {x}, "float", {{6}})}, "float", {{3, 2}}) ==
        made("reshape", {x}, "float", {{3, 2}}));
  CHECK(made("reshape", {x}, "float", {{3, 2}}) != transposed);
  CHECK(made("slice", {x}, "float", {{0, 0}, {2, 3}, {1, 1}}) == x);
  CHECK(made("slice", {x}, "float", {{0, 0}, {2, 2}, {1, 1}}) != x);
  CHECK(made("broadcast", {x}, "float", {{0, 1}, {2, 3}}) == x);
  const std::size_t square = tensors.input(6, shape("f32", {3, 3}));
  CHECK(made("broadcast", {square}, "float", {{1, 0}, {3, 3}}) != square);
  const std::size_t line = tensors.input(7, shape("f32", {3}));
  const auto wide = made("broadcast", {line}, "float", {{1}, {2, 3}});
  CHECK(made("broadcast", {*wide}, "float", {{2, 0}, {3, 7, 2}}) ==
        made("broadcast", {line}, "float", {{0}, {3, 7, 2}}));
  CHECK(made("transpose", {*wide}, "float", {{1, 0}}) ==
        made("broadcast", {line}, "float", {{0}, {3, 2}}));
  CHECK(made("reshape", {*wide}, "float", {{6}}) !=
        made("broadcast", {*made("reshape", {line}, "float", {{3}})}, "float", {{0}, {6, 1}}));
  CHECK(tensors.at(*made("reshape", {*wide}, "float", {{6}})).form.opcode == "reshape");
  CHECK(made("iota", {}, "s32", {{1}, {2, 3}}) ==
        made("broadcast", {*made("iota", {}, "s32", {{0}, {3}})}, "s32", {{1}, {2, 3}}));

  // A gather at a table of indices is one at a list, if its windows are the last dimensions.
  const std::size_t table = tensors.input(8, shape("s32", {2, 4}));
  const auto list = made("reshape", {table}, "s32", {{8}});
  const auto at_list = made("gather", {x, *list}, "float", {{1}, {0}, {0}, {}, {}, {1}, {1, 3}});
  const std::vector<Index> at_table = {{2}, {0}, {0}, {}, {}, {2}, {1, 3}};
  CHECK(made("gather", {x, table}, "float", at_table) ==
        made("reshape", {*at_list}, "float", {{2, 4, 3}}));
  CHECK(made("gather", {x, *made("reshape", {table}, "s32", {{2, 4, 1}})}, "float", at_table) ==
        made("gather", {x, table}, "float", at_table));
  CHECK(made("gather", {x, *made("reshape", {table}, "s32", {{2, 1, 4}})}, "float",
             {{2}, {0}, {0}, {}, {}, {1}, {1, 3}}) ==
        made("gather", {x, table}, "float", at_table));
  const std::size_t indices = tensors.input(9, shape("s32", {2, 3}));
  const auto first = made("gather", {x, indices}, "float", {{0}, {0}, {0}, {}, {}, {2}, {1, 3}});
  CHECK(tensors.at(*first).form.opcode == "gather");

  // A gather clamps by itself, to where its slices end.
  const auto clamped = [&](const char* low, const char* high) {
    const auto bound = [&](const char* text) {
      return *made("broadcast", {tensors.scalar(text, type_called("s32"))}, "s32", {{}, {5, 1}});
    };
    return made("gather", {x, *made("clamp", {bound(low), i, bound(high)}, "s32")}, "float", rows);
  };
  CHECK(clamped("0", "1") == made("gather", {x, i}, "float", rows));
  CHECK(clamped("0", "0") != made("gather", {x, i}, "float", rows));
  CHECK(clamped("1", "1") != made("gather", {x, i}, "float", rows));
}

TEST_CASE("what is known of constants") {
  Tensors tensors({{"same", "c7"}, {}});
  const auto constant = [&](const char* type, const Index& sizes, const char* text,
                            const char* name = "c") {
    kernel::xla::Instruction instruction;
    instruction.name = name;
    instruction.opcode = "constant";
    instruction.shape = shape(type, sizes);
    instruction.text = text;
    return tensors.constant(instruction);
  };
  CHECK(!constant("f32", {2}, "{1, 2, 3}"));
  CHECK(!constant("f32", {2}, "{...}"));
  CHECK(!constant("f32", {0}, "{}"));
  CHECK(constant("f32", {2}, "{...}", "same") == constant("f32", {2}, "{...}", "same"));
  CHECK(constant("f32", {2}, "{1, 2}") != constant("f32", {2}, "{1, 3}"));
  CHECK(constant("f32", {2}, "{1, 1}") != constant("f32", {2}, "{1, 2}"));
  CHECK(tensors.at(*constant("f32", {2}, "{1, 1}")).form.opcode == "broadcast");
  CHECK(constant("s32", {}, "1") != constant("s64", {}, "1"));
  CHECK(constant("f32", {}, "1") == constant("bf16", {}, "1"));

  CHECK(tensors.integer(*constant("s32", {2}, "{7, 7}")) == 7);
  CHECK(!tensors.integer(*constant("s32", {2}, "{7, 8}")));
  CHECK(!tensors.integer(*constant("f32", {}, "7")));
  CHECK(!tensors.integer(*constant("s32", {2}, "{...}", "same")));
  CHECK(!tensors.integer(*constant("s32", {}, "{...}", "c7")));
  CHECK(!tensors.integer(tensors.input(0, shape("s32", {}))));

  CHECK(tensors.may_be_infinite(*constant("f32", {}, "inf")));
  CHECK(tensors.may_be_infinite(*constant("f32", {}, "nan")));
  CHECK(tensors.may_be_infinite(*constant("f32", {2}, "{...}", "same")));
  CHECK(tensors.may_be_infinite(tensors.unknown(shape("f32", {}))));
  CHECK(!tensors.may_be_infinite(*constant("f32", {}, "3")));

  const std::size_t zero = *constant("f32", {}, "0");
  const std::size_t three = *constant("f32", {}, "3");
  const std::size_t x = tensors.input(1, shape("f32", {}));
  const auto made = [&](const char* opcode, const std::vector<std::size_t>& operands,
                        const std::vector<Index>& numbers = {}) {
    return *tensors.make({opcode, "", numbers}, operands, "float");
  };
  CHECK(tensors.is_zero(zero));
  CHECK(tensors.is_zero(*constant("s32", {2}, "{0, 0}")));
  CHECK(!tensors.is_zero(*constant("f32", {2}, "{0, 1}")));
  CHECK(!tensors.is_zero(three));
  CHECK(!tensors.may_be_zero(three));
  CHECK(!tensors.may_be_zero(x));
  CHECK(!tensors.may_be_zero(*constant("f32", {2}, "{10, 20}")));
  CHECK(!tensors.may_be_zero(*constant("s32", {2}, "{10, 20}")));
  CHECK(tensors.may_be_zero(*constant("f32", {2}, "{1, 0}")));
  CHECK(tensors.may_be_zero(*constant("s32", {2}, "{1, 0}")));
  CHECK(tensors.may_be_zero(made("iota", {}, {{0}, {4}})));
  for (const std::size_t each :
       {made("negate", {zero}), made("multiply", {x, zero}), made("multiply", {zero, x}),
        made("subtract", {x, x}), made("add", {zero, zero}), made("divide", {zero, x}),
        made("maximum", {zero, zero}), made("power", {zero, x}), made("tanh", {zero}),
        made("maximum", {x, zero}), made("minimum", {zero, x}), made("minimum", {zero, three})}) {
    CHECK(tensors.may_be_zero(each));
    CHECK(tensors.may_be_infinite(made("divide", {x, each})));
    CHECK(tensors.may_be_infinite(made("log", {each})));
  }
  for (const std::size_t each :
       {made("add", {x, zero}), made("subtract", {x, zero}), made("maximum", {x, three}),
        made("maximum", {zero, three}), made("exponential", {zero}), made("power", {x, zero}),
        made("divide", {three, x})}) {
    CHECK(!tensors.may_be_zero(each));
    CHECK(!tensors.may_be_infinite(made("divide", {x, each})));
  }
  // 1 less a mask, and the logarithm of that.
  const std::size_t mask = made("convert", {tensors.input(2, shape("pred", {}))});
  CHECK(tensors.may_be_zero(made("subtract", {three, mask})));
  CHECK(!tensors.may_be_zero(made("add", {mask, three})));
  CHECK(tensors.may_be_zero(made("subtract", {mask, three})));
  CHECK(!tensors.may_be_zero(made("add", {mask, x})));
  CHECK(tensors.may_be_infinite(made("log-plus-one", {made("negate", {mask})})));
}

}  // namespace
}  // namespace p2::hlo::small
