#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/text/hlo_text.h"
#include "tests/hlo/modules.h"

// The operations of StableHLO, CHLO and Shardy, in the terms of XLA.

namespace p2::hlo {
namespace {

Module read(const std::string& text) {
  std::vector<StableHloModule> modules = read_stablehlo("f", text);
  REQUIRE(modules.size() == 1);
  return std::move(modules[0].module);
}

std::string literal_text(const Literal& literal) {
  std::string text;
  for (const LiteralElement& element : literal.elements) {
    text += " " + (element.text.empty() ? to_string(element.number) : element.text);
  }
  return literal.elided ? " elided" : text;
}

/// `f32[2] add(0,1) d{0} name=value;`, with the names of the computations it calls.
std::string line(const Module& module, const Instruction& instruction) {
  const Attributes& attributes = instruction.attributes;
  std::string text = fmt::format("{} {}({})", to_string(instruction.shape), instruction.opcode,
                                 fmt::join(instruction.operands, ","));
  if (instruction.opcode == "get-tuple-element" || instruction.opcode == "parameter") {
    text += fmt::format(" {}", attributes.index);
  }
  if (!attributes.dimensions.empty()) {
    text += fmt::format(" d{{{}}}", fmt::join(attributes.dimensions, ","));
  }
  if (!attributes.direction.empty()) text += " " + attributes.direction;
  if (!attributes.others.empty()) text += " " + attributes.others;
  if (instruction.literal) text += literal_text(*instruction.literal);
  for (const std::uint32_t called : instruction.called) {
    text += fmt::format(" calls {}", called);
    REQUIRE(called < module.computations.size());
  }
  return text;
}

using Lines = std::vector<std::string>;

Lines lines(const Module& module, std::size_t computation) {
  Lines all;
  for (const Instruction& each : module.computations.at(computation).instructions) {
    all.push_back(line(module, each));
  }
  return all;
}

Lines entry_lines(const Module& module) { return lines(module, module.entry); }

/// The computation that an instruction calls.
Lines called_lines(const Module& module, const Instruction& instruction, std::size_t k = 0) {
  return lines(module, instruction.called.at(k));
}

const Instruction& only(const Module& module, const std::string& opcode) {
  const Instruction* found = nullptr;
  for (const Instruction& each : module.entry_computation().instructions) {
    if (each.opcode != opcode) continue;
    REQUIRE(found == nullptr);
    found = &each;
  }
  REQUIRE(found != nullptr);
  return *found;
}

std::string function(const std::string& parameters, const std::string& body) {
  return "func.func public @main(" + parameters + ") {\n" + body + "\n  return\n}\n";
}

/// The `others` of the only instruction with an opcode.
std::string others(const std::string& parameters, const std::string& body,
                   const std::string& opcode) {
  const Module module = read(function(parameters, body));
  return only(module, opcode).attributes.others;
}

std::string constant(const std::string& text) {
  const Module module = read(function("", "  %c = stablehlo.constant " + text));
  return literal_text(*only(module, "constant").literal);
}

std::string stablehlo_complaint(const std::string& text) {
  try {
    read_stablehlo("f", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("groups: rows one by one, padded with -1, and what is no table") {
  const auto groups = [](const std::string& dense) {
    const std::string text = function(
        "%a: tensor<4xf32>",
        "  %0 = \"stablehlo.all_reduce\"(%a) <{replica_groups = " + dense +
            "}> ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    %s = stablehlo.add %x, %y : "
            "tensor<f32>\n    stablehlo.return %s : tensor<f32>\n  }) : (tensor<4xf32>) -> "
            "tensor<4xf32>");
    const std::string complaint = stablehlo_complaint(text);
    if (complaint != "accepted") return complaint;
    std::string lists;
    const Module module = read(text);
    for (const auto& row : only(module, "all-reduce").attributes.groups.lists) {
      for (const std::int64_t id : row) lists += std::to_string(id) + " ";
      lists += "| ";
    }
    return lists;
  };
  CHECK(groups("dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>") == "0 2 | 1 | ");
  CHECK(groups("dense<[[0, 1, 2]]> : tensor<1x3xi64>") == "0 1 2 | ");
  CHECK(groups("dense<[ [0, 1], [2, 3]]> : tensor<2x2xi64>") == "0 1 | 2 3 | ");
  CHECK(groups("dense<0> : tensor<1x1xi64>") == "0 | ");
  CHECK(groups("dense<[[0, 2], [1]]> : tensor<2x2xi64>").find("rows of unequal length") !=
        std::string::npos);
  CHECK(groups("dense<[[0, 2], [1, 3]]> : tensor<1x4xi64>").find("2 rows of 2 for s64[1,4]") !=
        std::string::npos);
  CHECK(groups("dense<[[0, 2], [1, 3]]> : tensor<2x2x1xi64>").find("2 rows of 2") !=
        std::string::npos);
  CHECK(groups("dense<[[0, 1], [2, 4194304]]> : tensor<2x2xi64>").find("id 4194304, expected") !=
        std::string::npos);
  CHECK(groups("dense<[[0, -2]]> : tensor<1x2xi64>").find("id -2, expected") != std::string::npos);
  CHECK(groups("dense<[[0, 1]> : tensor<1x2xi64>") != "0 1 | ");
}

TEST_CASE("constants: decimal numbers, bit patterns and bytes") {
  CHECK(constant("dense<[1.5, -2.0e+00, 1.000000e-01]> : tensor<3xf32>") == " 3/2 -2 1/10");
  CHECK(constant("dense<0xFF800000> : tensor<4xf32>") == " -inf");
  CHECK(constant("dense<[0x7F80, 0x7FC0, 0xFFC0, 0x7F81]> : tensor<4xbf16>") ==
        " inf nan -nan nan(0x1)");
  CHECK(constant("dense<[0x3C00, 0x7C00]> : tensor<2xf16>") == " 1 inf");
  CHECK(constant("dense<0xFFF0000000000000> : tensor<f64>") == " -inf");
  CHECK(constant("dense<[0x7E, 0x7F]> : tensor<2xf8E4M3FN>") == " 448 nan");
  CHECK(constant("dense<[0x40, 0x80]> : tensor<2xf8E4M3FNUZ>") == " 1 nan");
  CHECK(constant("dense<[0x7C, 0x01]> : tensor<2xf8E5M2>") == " inf 3/200000");
  CHECK(constant("dense<[0x00, 0x7F, 0x80, 0xFF]> : tensor<4xf8E8M0FNU>") == " 5.9e-39 1 2 nan");
  // As XLA prints the same numbers.
  CHECK(constant("dense<0.00999999977> : tensor<f32>") == " 1/100");
  CHECK(constant("dense<1.000000e+30> : tensor<f32>") == " 1e+30");
  CHECK(constant("dense<1.000980e-01> : tensor<bf16>") == " 1001/10000");
  CHECK(constant("dense<\"0xCDCCCC3D0000C03F\"> : tensor<2xf32>") == " 1/10 3/2");
  CHECK(constant("dense<\"0xFFFF0100\"> : tensor<2xi16>") == " -1 1");
  CHECK(constant("dense<\"0xFFFF0100\"> : tensor<2xui16>") == " 65535 1");
  CHECK(constant("dense<\"0x0100010000\"> : tensor<5xi1>") == " 1 0 1 0 0");
  CHECK(constant("dense<\"0x0502\"> : tensor<10xi1>") == " 1 0 1 0 0 0 0 0 0 1");
  CHECK(constant("dense<\"0x07000000\"> : tensor<9xi32>") == " 7");
  CHECK(constant("dense<(1.0,2.500000e+00)> : tensor<2xcomplex<f32>>") == " (1, 2.5)");
  CHECK(constant("dense<\"0x0000803F000020C0\"> : tensor<1xcomplex<f32>>") == " (1, -2.5)");
  CHECK(constant("dense<\"0x0000\"> : tensor<9xi32>") == " elided");
  CHECK(constant("dense_resource<big> : tensor<9xf32>") == " elided");
  CHECK(constant("dense<> : tensor<0xf32>").empty());
  CHECK(stablehlo_complaint(function("", "  %c = stablehlo.constant dense<[1, 2]> : tensor<3xi32>"))
            .find("2 elements for s32[3], expected 3") != std::string::npos);
}

TEST_CASE("headers, meshes, locations, aliases and resources are read") {
  const Module module = read(
      "#loc = loc(unknown)\n"
      "#groups = dense<[[0, 1]]> : tensor<1x2xi64>\n"
      "module @\"a b\" attributes {jax.flag = false, mhlo.num_partitions = 2 : i32, "
      "mhlo.num_replicas = 1 : i32} {\n"
      "  sdy.mesh @grid = <[\"a\"=2, \"b\"=1], device_ids=[1, 0]> {x.y = {z = 1 : i64}} loc(#loc)\n"
      "  func.func private @unused(tensor<f32>) -> tensor<f32>\n"
      "  func.func public @main(%x: tensor<2xf32> {a.b = \"c, d\"} loc(\"x\")) -> (tensor<2xf32> "
      "{jax.result_info = \"r\"}) attributes {llvm.note = [1, {k}]} {\n"
      "    %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = #groups}> ({\n"
      "    ^bb0(%a: tensor<f32> loc(unknown), %b: tensor<f32> loc(\"b\"(#loc))):\n"
      "      %s = stablehlo.add %a, %b : tensor<f32> loc(#loc)\n"
      "      stablehlo.return %s : tensor<f32> loc(#loc)\n"
      "    }) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc)\n"
      "    return %0 : tensor<2xf32> loc(#loc)\n"
      "  } loc(#loc)\n"
      "} loc(#loc)\n"
      "#loc2 = loc(\"f.py\":1:2 to :3)\n"
      "{-#\n  dialect_resources: {\n    builtin: {\n      r: \"0x04000000\"\n    }\n  }\n#-}\n");
  CHECK(module.name == "a b");
  CHECK(module.partitions == 2);
  CHECK(module.replicas == 1);
  CHECK(module.meshes.at("grid") == "<[\"a\"=2, \"b\"=1], device_ids=[1, 0]>");
  CHECK(only(module, "all-reduce").attributes.groups.lists == IdGroups{{0, 1}});
  const Module exported = read(
      "module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = \"{m = #sdy.mesh<[\\22x\\22="
      "4]>}\"}} {\n"
      "  func.func @main(%x: tensor<4xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "
      "\"#sdy.sharding<@m, [{\\22x\\22}]>\"}}) -> tensor<4xf32> {\n    return %x : tensor<4xf32>\n"
      "  }\n}\n");
  CHECK(exported.meshes.at("m") == "<[\"x\"=4]>");
  CHECK(exported.entry_computation().instructions[0].attributes.sharding ==
        "#sdy.sharding<@m, [{\"x\"}]>");
}

TEST_CASE("groups along the axes of a mesh name its devices") {
  const Module module = read(
      "sdy.mesh @m = <[\"a\"=2, \"b\"=2], device_ids=[0, 2, 1, 3]>\n" +
      function("%x: tensor<2xf32>",
               "  %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = "
               "#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "
               "\"b\">]>}> : (tensor<2xf32>) -> tensor<4xf32>"));
  CHECK(only(module, "all-gather").attributes.groups.lists == IdGroups{{0, 2}, {1, 3}});
}

TEST_CASE("a call has the function that it names, not one named like a value") {
  const auto module = [](const char* callee) {
    return read(
        fmt::format("func.func @main(%x: tensor<i32>) -> tensor<i32> {{\n"
                    "  %c = stablehlo.constant dense<3> : tensor<i32>\n"
                    "  %0 = call @{}(%x, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
                    "  return %0 : tensor<i32>\n}}\n"
                    "func.func private @f(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> "
                    "{{\n  %0 = stablehlo.add %a, %b : tensor<i32>\n"
                    "  return %0 : tensor<i32>\n}}\n"
                    "func.func private @c(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> "
                    "{{\n  %0 = stablehlo.multiply %a, %b : tensor<i32>\n"
                    "  return %0 : tensor<i32>\n}}\n",
                    callee));
  };
  const Module f = module("f");
  const Module c = module("c");
  CHECK(called_lines(f, only(f, "call"))[2] == "s32[] add(0,1)");
  CHECK(called_lines(c, only(c, "call"))[2] == "s32[] multiply(0,1)");
  CHECK(stablehlo_complaint(function("", "  call @g() : () -> ()"))
            .find("no function 'g' with a body") != std::string::npos);
  const Module composite = read(
      function("%x: tensor<i32>",
               "  %0 = stablehlo.composite \"my.op\" %x {composite_attributes = {n = 1 : i64}, "
               "decomposition = @g, version = 1 : i32} : (tensor<i32>) -> tensor<i32>") +
      "func.func private @g(%a: tensor<i32>) -> tensor<i32> {\n  return %a : tensor<i32>\n}\n");
  CHECK(called_lines(composite, only(composite, "call")) == Lines{"s32[] parameter() 0"});
}

TEST_CASE("comparisons, broadcasts, conversions and selections") {
  const Module module = read(function(
      "%x: tensor<4xf32>, %y: tensor<4x1xf32>, %p: tensor<i1>, %s: tensor<f32>",
      "  %0 = stablehlo.compare GT, %x, %x, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xi1>\n"
      "  %1 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<4xi1>\n"
      "  %2 = \"stablehlo.compare\"(%x, %x) <{compare_type = #stablehlo<comparison_type FLOAT>, "
      "comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xf32>, "
      "tensor<4xf32>) -> tensor<4xi1>\n"
      "  %3 = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<4x1xf32>) -> "
      "tensor<4x3xf32>\n"
      "  %4 = stablehlo.convert %x : tensor<4xf32>\n"
      "  %5 = stablehlo.select %p, %4, %x : tensor<i1>, tensor<4xf32>\n"
      "  %6 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> "
      "tensor<4xf32>\n"
      "  %7 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>\n"
      "  %8 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>\n"
      "  %9 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>\n"
      "  %10 = stablehlo.reduce_precision %x, format = e5m3 : tensor<4xf32>\n"
      "  %11 = stablehlo.tuple %x, %y : tuple<tensor<4xf32>, tensor<4x1xf32>>\n"
      "  %12 = stablehlo.get_tuple_element %11[1] : (tuple<tensor<4xf32>, tensor<4x1xf32>>) -> "
      "tensor<4x1xf32>\n"
      "  %13 = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>"));
  CHECK(entry_lines(module) == Lines{"f32[4] parameter() 0",
                                     "f32[4,1] parameter() 1",
                                     "pred[] parameter() 2",
                                     "f32[] parameter() 3",
                                     "pred[4] compare(0,0) GT",
                                     "pred[4] compare(0,0) LT type=TOTALORDER;",
                                     "pred[4] compare(0,0) NE",
                                     "f32[4] reshape(1)",
                                     "f32[4,3] broadcast(7) d{0}",
                                     "pred[4] broadcast(2)",
                                     "f32[4] select(9,0,0)",
                                     "f32[4] broadcast(3)",
                                     "f32[4] broadcast(3)",
                                     "f32[4] clamp(11,0,12)",
                                     "f32[4] multiply(0,0)",
                                     "f32[4] erf(0)",
                                     "f32[4] chlo.lgamma(0)",
                                     "f32[4] reduce-precision(0) exponent_bits=5;mantissa_bits=3;",
                                     "(f32[4], f32[4,1]) tuple(0,1)",
                                     "f32[4,1] get-tuple-element(18) 1",
                                     "f32[] constant() 1",
                                     "f32[4] broadcast(20)",
                                     "f32[4] atan2(0,21)",
                                     "() tuple()"});
}

TEST_CASE("dots, convolutions and windows") {
  CHECK(others("%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>",
               "  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = "
               "[2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, "
               "rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, "
               "rhs_component_count = 1, num_primitive_operations = 3, "
               "allow_imprecise_accumulation = false> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) "
               "-> tensor<2x3x5xf32>",
               "dot") ==
        "lhs_batch_dims={0};lhs_contracting_dims={2};rhs_batch_dims={0};rhs_contracting_dims={1};"
        "algorithm=dot_bf16_bf16_f32_x3;");
  CHECK(others("%a: tensor<3x4xf32>, %b: tensor<4x5xf32>",
               "  %0 = \"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = "
               "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = "
               "[0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision "
               "DEFAULT>]}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>",
               "dot") ==
        "lhs_contracting_dims={1};rhs_contracting_dims={0};operand_precision={highest,default};");
  const std::string images = "%a: tensor<1x8x8x4xf32>, %k: tensor<3x2x2x6xf32>";
  CHECK(others(images,
               "  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
               "0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], "
               "rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, "
               "feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x2x2x6xf32>) -> "
               "tensor<1x4x8x6xf32>",
               "convolution") ==
        "window={size=3x2 stride=2x1 pad=1_1x0_2 rhs_dilate=1x2 rhs_reversal=0x1};"
        "dim_labels=b01f_01io->b01f;feature_group_count=2;");
  CHECK(others(images,
               "  %0 = \"stablehlo.convolution\"(%a, %k) <{batch_group_count = 1 : i64, "
               "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
               "feature_group_count = 2 : i64, lhs_dilation = array<i64: 2, 1>, padding = dense<0> "
               ": tensor<2x2xi64>}> : (tensor<1x8x8x4xf32>, tensor<3x2x2x6xf32>) -> "
               "tensor<1x13x7x6xf32>",
               "convolution") ==
        "window={size=3x2 lhs_dilate=2x1};dim_labels=b01f_01io->b01f;feature_group_count=2;");
  const std::string reducer =
      "({\n  ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n    %s = stablehlo.add %l, %r : "
      "tensor<f32>\n    stablehlo.return %s : tensor<f32>\n  })";
  const std::string operands = "%a: tensor<4x4xf32>, %b: tensor<2x2xf32>, %i: tensor<f32>";
  CHECK(others(operands,
               "  %0 = \"stablehlo.reduce_window\"(%a, %i) <{padding = dense<[[3, 0], [0, 0]]> : "
               "tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>, window_strides = array<i64: "
               "1, 1>}> " +
                   reducer + " : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>",
               "reduce-window") == "window={size=4x1 pad=3_0x0_0};");
  const Module scattered = read(function(
      operands,
      "  %0 = \"stablehlo.select_and_scatter\"(%a, %b, %i) <{window_dimensions = array<i64: 2, 2>, "
      "window_strides = array<i64: 2, 2>}> ({\n  ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n    %s = "
      "stablehlo.compare GE, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    "
      "stablehlo.return %s : tensor<i1>\n  }, " +
          reducer.substr(1) +
          " : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>"));
  const Instruction& scatter = only(scattered, "select-and-scatter");
  CHECK(scatter.attributes.others == "window={size=2x2 stride=2x2};");
  CHECK(called_lines(scattered, scatter, 0)[2] == "pred[] compare(0,1) GE");
  CHECK(called_lines(scattered, scatter, 1)[2] == "f32[] add(0,1)");
}

TEST_CASE("gathers, scatters, sorts and random bits") {
  CHECK(others("%a: tensor<8x4xf32>, %i: tensor<3x1xi32>",
               "  %0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = "
               "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = "
               "[0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, "
               "4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>",
               "gather") ==
        "offset_dims={1};collapsed_slice_dims={0};start_index_map={0};index_vector_dim=1;"
        "slice_sizes={1,4};indices_are_sorted=true;");
  const Module module = read(function(
      "%a: tensor<8x4xf32>, %i: tensor<8x1xi32>, %u: tensor<8xf32>, %k: tensor<2xui64>",
      "  %0 = \"stablehlo.scatter\"(%a, %i, %u) <{indices_are_sorted = false, "
      "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], "
      "input_batching_dims = [0], scatter_indices_batching_dims = [0], "
      "scatter_dims_to_operand_dims "
      "= [1], index_vector_dim = 1>, unique_indices = true}> ({\n"
      "  ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n    stablehlo.return %r : tensor<f32>\n"
      "  }) : (tensor<8x4xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<8x4xf32>\n"
      "  %1:2 = \"stablehlo.sort\"(%a, %a) <{dimension = -1 : i64, is_stable = true}> ({\n"
      "  ^bb0(%l: tensor<f32>, %r: tensor<f32>, %m: tensor<f32>, %n: tensor<f32>):\n"
      "    %s = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> "
      "tensor<i1>\n    stablehlo.return %s : tensor<i1>\n"
      "  }) : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)\n"
      "  %state, %bits = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : "
      "(tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)\n"
      "  %values, %indices = chlo.top_k(%1#1, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, "
      "tensor<8x2xi32>)\n"
      "  %2 = stablehlo.fft %a, type = RFFT, length = [4] : (tensor<8x4xf32>) -> "
      "tensor<8x3xcomplex<f32>>"));
  const Lines all = entry_lines(module);
  CHECK(all[4] ==
        "f32[8,4] scatter(0,1,2) update_window_dims={};inserted_window_dims={1};"
        "scatter_dims_to_operand_dims={1};input_batching_dims={0};scatter_indices_batching_dims={0}"
        ";index_vector_dim=1;unique_indices=true; calls 1");
  CHECK(all[5] == "(f32[8,4], f32[8,4]) sort(0,0) d{1} is_stable=true; calls 0");
  CHECK(all[7] == "f32[8,4] get-tuple-element(5) 1");
  CHECK(all[8] == "(u64[2], u32[4]) rng-bit-generator(3) algorithm=rng_three_fry;");
  CHECK(all[11] == "(f32[8,2], s32[8,2]) topk(7) k=2;largest=true;");
  CHECK(all[14] == "c64[8,3] fft(0) fft_type=RFFT;fft_length={4};");
}

TEST_CASE("reductions of one and of several arrays") {
  const Module module = read(function(
      "%x: tensor<4x8xf32>, %i: tensor<4x8xi32>",
      "  %f = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %0 = stablehlo.reduce(%x init: %f) applies stablehlo.maximum across dimensions = [0, 1] : "
      "(tensor<4x8xf32>, tensor<f32>) -> tensor<f32>\n"
      "  %1:2 = stablehlo.reduce(%x init: %f), (%i init: %z) across dimensions = [1] : "
      "(tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, "
      "tensor<4xi32>)\n"
      "   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {\n"
      "    %2 = stablehlo.maximum %a, %b : tensor<f32>\n"
      "    %3 = stablehlo.add %d, %z : tensor<i32>\n"
      "    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>\n  }"));
  const Lines all = entry_lines(module);
  CHECK(all[4].starts_with("f32[] reduce(0,2) d{0,1} calls"));
  CHECK(all[5].starts_with("(f32[4], s32[4]) reduce(0,1,2,3) d{1} calls"));
  const Computation& one =
      module.computations[module.entry_computation().instructions[4].called[0]];
  CHECK(reducer_of(one) == Reducer::Maximum);
  // The first arguments of all operands come first; a constant of outside is copied.
  CHECK(called_lines(module, module.entry_computation().instructions[5]) ==
        Lines{"f32[] parameter() 0", "s32[] parameter() 1", "f32[] parameter() 2",
              "s32[] parameter() 3", "f32[] maximum(0,2)", "s32[] constant() 0", "s32[] add(3,5)",
              "(f32[], s32[]) tuple(4,6)"});
}

TEST_CASE("a loop has one tuple, with the values that its regions use") {
  const std::string pretty =
      "  %0:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<4xf32>\n"
      "  cond {\n"
      "    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %1 : tensor<i1>\n"
      "  } do {\n"
      "    %c = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %1 = stablehlo.add %i, %c : tensor<i32>\n"
      "    %2 = stablehlo.multiply %v, %y : tensor<4xf32>\n"
      "    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"
      "  }\n  %3 = stablehlo.negate %0#1 : tensor<4xf32>";
  const std::string generic =
      "  %0:2 = \"stablehlo.while\"(%n, %x) ({\n  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):\n"
      "    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %1 : tensor<i1>\n"
      "  }, {\n  ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):\n"
      "    %c = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %1 = stablehlo.add %i, %c : tensor<i32>\n"
      "    %2 = stablehlo.multiply %v, %y : tensor<4xf32>\n"
      "    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"
      "  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)\n"
      "  %3 = stablehlo.negate %0#1 : tensor<4xf32>";
  for (const std::string& form : {pretty, generic}) {
    const Module module =
        read(function("%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>", form));
    const Instruction& loop = only(module, "while");
    REQUIRE(loop.called.size() == 2);
    const std::string tuple = "(s32[], f32[4], s32[], f32[4])";
    CHECK(called_lines(module, loop, 0) ==
          Lines{tuple + " parameter() 0", "s32[] get-tuple-element(0) 0",
                "f32[4] get-tuple-element(0) 1", "s32[] get-tuple-element(0) 2",
                "pred[] compare(1,3) LT"});
    CHECK(called_lines(module, loop, 1) ==
          Lines{tuple + " parameter() 0", "s32[] get-tuple-element(0) 0",
                "f32[4] get-tuple-element(0) 1", "s32[] constant() 1", "s32[] add(1,3)",
                "f32[4] get-tuple-element(0) 3", "f32[4] multiply(2,5)",
                "s32[] get-tuple-element(0) 2", "f32[4] get-tuple-element(0) 3",
                tuple + " tuple(4,6,7,8)"});
    const Lines all = entry_lines(module);
    CHECK(all[3] == tuple + " tuple(2,0,2,1)");
    CHECK(all[4].starts_with(tuple + " while(3)"));
    CHECK(all[5] == "s32[] get-tuple-element(4) 0");
    CHECK(all[7] == "f32[4] negate(6)");
  }
  CHECK(stablehlo_complaint(
            function("%n: tensor<i32>",
                     "  %0 = stablehlo.while(%i = %n) : tensor<i32>\n  cond {\n    "
                     "stablehlo.return %i : tensor<i32>\n  } do {\n    stablehlo.return\n  }"))
            .find("stablehlo.while of another form") != std::string::npos);
}

TEST_CASE("branches have a tuple of the values that they use") {
  const Module module = read(function(
      "%k: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<i1>",
      "  %0 = \"stablehlo.case\"(%k) ({\n    stablehlo.return %y : tensor<4xf32>\n  }, {\n"
      "    %1 = stablehlo.add %x, %y : tensor<4xf32>\n    stablehlo.return %1 : tensor<4xf32>\n"
      "  }) : (tensor<i32>) -> tensor<4xf32>\n"
      "  %2:2 = \"stablehlo.if\"(%p) ({\n    stablehlo.return %0, %x : tensor<4xf32>, "
      "tensor<4xf32>\n  }, {\n    stablehlo.return %x, %x : tensor<4xf32>, tensor<4xf32>\n"
      "  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)"));
  const Lines all = entry_lines(module);
  CHECK(all[4] == "(f32[4]) tuple(2)");
  CHECK(all[5] == "(f32[4], f32[4]) tuple(1,2)");
  CHECK(all[6].starts_with("f32[4] conditional(0,4,5) calls"));
  CHECK(all[9].starts_with("(f32[4], f32[4]) conditional(3,7,8) calls"));
  const auto& instructions = module.entry_computation().instructions;
  CHECK(called_lines(module, instructions[6], 0) ==
        Lines{"(f32[4]) parameter() 0", "f32[4] get-tuple-element(0) 0"});
  CHECK(called_lines(module, instructions[6], 1)[3] == "f32[4] add(1,2)");
  CHECK(called_lines(module, instructions[9], 0)[3] == "(f32[4], f32[4]) tuple(1,2)");
}

TEST_CASE("a barrier of several arrays is one of their tuple") {
  const Module module = read(
      function("%x: tensor<4xf32>, %y: tensor<2xf32>",
               "  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<2xf32>\n"
               "  %1 = stablehlo.optimization_barrier %0#1 : tensor<2xf32>"));
  CHECK(entry_lines(module) ==
        Lines{"f32[4] parameter() 0", "f32[2] parameter() 1", "(f32[4], f32[2]) tuple(0,1)",
              "(f32[4], f32[2]) optimization-barrier(2)", "f32[4] get-tuple-element(3) 0",
              "f32[2] get-tuple-element(3) 1", "f32[2] optimization-barrier(5)", "() tuple()"});
}

TEST_CASE("the shardings of arguments and results, as XLA prints them") {
  const auto module = [](const char* results, const char* returned) {
    return read(
        fmt::format("func.func @main(%x: tensor<4xf32> {{mhlo.sharding = "
                    "\"{{devices=[2]<=[2]}}\"}}, %y: tensor<4xf32>) -> {} {{\n"
                    "  %0 = stablehlo.add %x, %y : tensor<4xf32>\n  return {}\n}}\n",
                    results, returned));
  };
  const Module one = module("(tensor<4xf32> {mhlo.sharding = \"{replicated}\"})", "%0");
  CHECK(one.entry_computation().instructions[0].attributes.sharding == "{devices=[2]<=[2]}");
  CHECK(one.entry_computation().root == 2);
  CHECK(one.entry_computation().instructions[2].attributes.sharding == "{replicated}");
  const Module parameter = module("(tensor<4xf32> {mhlo.sharding = \"{replicated}\"})", "%x");
  CHECK(entry_lines(parameter).back() == "f32[4] copy(0)");
  CHECK(parameter.entry_computation().instructions[0].attributes.sharding == "{devices=[2]<=[2]}");
  const Module two =
      module("(tensor<4xf32>, tensor<4xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"})", "%0, %x");
  const Computation& entry = two.entry_computation();
  CHECK(entry.instructions[entry.root].attributes.sharding == "{{replicated}, {devices=[2]<=[2]}}");
  CHECK(module("(tensor<4xf32>)", "%0")
            .entry_computation()
            .instructions[2]
            .attributes.sharding.empty());
}

TEST_CASE("Shardy: arguments, results, constraints and manual computations") {
  const Module module = read(
      "sdy.mesh @m = <[\"x\"=2]>\n"
      "func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}, %y: "
      "tensor<2xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}, "
      "tensor<2xf32>) {\n"
      "  %0 = sdy.sharding_constraint %x <@m, [{}]> : tensor<8xf32>\n"
      "  %1:2 = sdy.manual_computation(%0, %y) in_shardings=[<@m, [{\"x\"}]>, <@m, [{}]>] "
      "out_shardings=[<@m, [{\"x\"}]>, <@m, [{}]>] manual_axes={\"x\"} (%a: tensor<4xf32>, %b: "
      "tensor<2xf32>) {\n"
      "    %2 = stablehlo.negate %a : tensor<4xf32>\n"
      "    sdy.return %2, %b : tensor<4xf32>, tensor<2xf32>\n"
      "  } : (tensor<8xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>)\n"
      "  return %1#0, %1#1 : tensor<8xf32>, tensor<2xf32>\n}\n");
  const std::string effect = "custom_call_has_side_effect=true;";
  CHECK(entry_lines(module) ==
        Lines{"f32[8] parameter() 0", "f32[2] parameter() 1",
              "f32[8] custom-call(0) custom_call_target=\"Sharding\";",
              "(f32[4], f32[2]) custom-call(2,1) "
              "custom_call_target=\"xla.sdy.GlobalToLocalShape\";" +
                  effect,
              "f32[4] get-tuple-element(3) 0", "f32[2] get-tuple-element(3) 1",
              "(f32[4], f32[2]) call(4,5) calls 0", "f32[4] get-tuple-element(6) 0",
              "f32[2] get-tuple-element(6) 1",
              "(f32[8], f32[2]) custom-call(7,8) "
              "custom_call_target=\"xla.sdy.LocalToGlobalShape\";" +
                  effect,
              "f32[8] get-tuple-element(9) 0", "f32[2] get-tuple-element(9) 1",
              "f32[8] custom-call(10) custom_call_target=\"xla.sdy.FuncResultSharding\";",
              "(f32[8], f32[2]) tuple(12,11)"});
  const auto& all = module.entry_computation().instructions;
  CHECK(all[0].attributes.sharding == "#sdy.sharding<@m, [{\"x\"}]>");
  CHECK(all[2].attributes.sharding == "#sdy.sharding<@m, [{}]>");
  CHECK(all[12].attributes.sharding == "#sdy.sharding<@m, [{\"x\"}]>");
  const std::string both = "#sdy.sharding_per_value<[<@m, [{\"x\"}]>, <@m, [{}]>]>";
  CHECK(all[3].attributes.shardy ==
        std::map<std::string, std::string>{{"xla.sdy.in_shardings", both},
                                           {"xla.sdy.manual_axes", "#sdy<manual_axes{\"x\"}>"}});
  CHECK(all[9].attributes.shardy.at("xla.sdy.out_shardings") == both);
  CHECK(stablehlo_complaint(
            "func.func @main(%x: tensor<8xf32>) {\n  %0 = sdy.manual_computation() "
            "in_shardings=[] out_shardings=[] manual_axes={} () {\n    sdy.return %x : "
            "tensor<8xf32>\n  } : () -> tensor<8xf32>\n  return\n}")
            .find("sdy.manual_computation of another form") != std::string::npos);
}

TEST_CASE("custom calls have the attributes of XLA") {
  const std::string x = "%x: tensor<4xf32>";
  CHECK(others(x,
               "  %0 = stablehlo.custom_call @Sharding(%x) {backend_config = \"\", mhlo.sharding = "
               "\"{manual}\"} : (tensor<4xf32>) -> tensor<4xf32>",
               "custom-call") == "custom_call_target=\"Sharding\";");
  CHECK(others(x,
               "  %0 = stablehlo.custom_call @\"a.b\"(%x) {has_side_effect = true, "
               "mhlo.backend_config = {k = 1 : i64}, output_operand_aliases = "
               "[#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, "
               "operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>",
               "custom-call") ==
        "custom_call_target=\"a.b\";custom_call_has_side_effect=true;"
        "api_version=API_VERSION_TYPED_FFI;backend_config={k=1:i64};"
        "output_to_operand_aliasing={{0}:(1,{})};");
  CHECK(others(x,
               "  %0 = \"stablehlo.custom_call\"(%x) <{api_version = 2 : i32, call_target_name = "
               "\"f\", custom = [1, 2]}> : (tensor<4xf32>) -> tensor<4xf32>",
               "custom-call") ==
        "custom_call_target=\"f\";api_version=API_VERSION_STATUS_RETURNING;custom={1,2};");
  CHECK(others(x,
               "  %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, "
               "largest = true}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, "
               "tensor<2xi32>)",
               "topk") == "k=2;largest=true;");
}

TEST_CASE("what XLA does not have is opaque") {
  const Module module = read(function(
      "%q: tensor<4x!quant.uniform<i8:f32, 0.5:1>>, %d: tensor<?x2xf32, #stablehlo.bounds<8, ?>>, "
      "%x: tensor<4xf32>, %t: !stablehlo.token",
      "  %0 = stablehlo.add %q, %q : tensor<4x!quant.uniform<i8:f32, 0.5:1>>\n"
      "  %1 = stablehlo.negate %d : tensor<?x2xf32, #stablehlo.bounds<8, ?>>\n"
      "  %2 = my.op %x, mode = FAST, sizes = [1, 2] {flag, n = 3 : i64} : tensor<4xf32>\n"
      "  %3:2 = \"my.region\"(%x) ({\n  ^bb0(%a: tensor<4xf32>):\n    my.yield %a, %x : "
      "tensor<4xf32>, tensor<4xf32>\n    my.return %a : tensor<4xf32>\n  }) : (tensor<4xf32>) -> "
      "(tensor<4xf32>, tensor<4xf32>)\n"
      "  %4 = stablehlo.after_all %t, %t : !stablehlo.token"));
  const Lines all = entry_lines(module);
  CHECK(all[0] == "tensor<4x!quant.uniform<i8:f32, 0.5:1>> parameter() 0");
  CHECK(all[1] == "tensor<?x2xf32, #stablehlo.bounds<8, ?>> parameter() 1");
  CHECK(all[4] ==
        "tensor<4x!quant.uniform<i8:f32, 0.5:1>> stablehlo.add(0,0) "
        "types=tensor<4x!quant.uniform<i8:f32,0.5:1>>;");
  CHECK(all[5] ==
        "tensor<?x2xf32, #stablehlo.bounds<8, ?>> stablehlo.negate(1) "
        "types=tensor<?x2xf32,#stablehlo.bounds<8,?>>;");
  CHECK(all[6] == "f32[4] my.op(2) flag=true;mode=FAST;n=3;sizes={1,2};");
  CHECK(all[7] == "(f32[4], f32[4]) my.region(2,2) calls 0");
  CHECK(all[10] == "token[] after-all(3,3)");
  const std::string unbounded = "tensor<?xf32, #stablehlo.bounds<?>>";
  CHECK(entry_lines(read(function("%x: " + unbounded, "")))[0] == unbounded + " parameter() 0");
}

TEST_CASE("every beginning of a module of StableHLO is refused or is a module, without a crash") {
  const std::string whole =
      "sdy.mesh @m = <[\"x\"=2]>\n"
      "func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) -> "
      "tensor<4xf32> {\n"
      "  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : "
      "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
      "  %1 = stablehlo.while(%i = %0) : tensor<f32>\n  cond {\n"
      "    %2 = stablehlo.compare GT, %i, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    stablehlo.return %2 : tensor<i1>\n  } do {\n    stablehlo.return %0 : tensor<f32>\n  }\n"
      "  %3 = stablehlo.slice %x [0:4:1] : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  return %3 : tensor<4xf32>\n}\n";
  CHECK(stablehlo_complaint(whole) == "accepted");
  std::size_t refused = 0;
  for (std::size_t end = 0; end < whole.size(); ++end) {
    if (stablehlo_complaint(whole.substr(0, end)) != "accepted") ++refused;
  }
  CHECK(refused + 2 > whole.size());
}

TEST_CASE("many results without types are refused before their names are kept") {
  CHECK(stablehlo_complaint(function("%x: tensor<4xf32>", "  %0:65536 = my.op %x : tensor<4xf32>"))
            .find("1 types for 65536 results") != std::string::npos);
  CHECK(stablehlo_complaint(function("%x: tensor<4xf32>",
                                     "  %0 = stablehlo.concatenate %x, dim = dense<0> : "
                                     "tensor<100000xi64> : (tensor<4xf32>) -> tensor<4xf32>")) !=
        "accepted");
}

}  // namespace p2::hlo
