// Calls of cuBLAS and cuDNN as XLA's backend for GPUs writes them, against operations.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/command.h"
#include "engine/base/files.h"
#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/text/hlo_text.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

const std::string kInputs =
    "  x = f32[4,6] parameter(0)\n  w = f32[6,6] parameter(1)\n  c = f32[4,6] parameter(2)\n  v = "
    "f32[6] parameter(3)\n";

/// The settings of a call; a JSON list or number each.
struct Call {
  std::string target = "__cublas$lt$matmul";
  std::string operands = "x, w";
  std::string result = "(f32[4,6]{1,0}, s8[64]{0})";
  std::string alpha = "1";
  std::string beta = "0";
  std::string epilogue = "DEFAULT";
  std::string contracted = "\"1\"";
  std::string more = "\"lhs_stride\":\"24\",\"rhs_stride\":\"36\"";
  std::string end = "  ROOT r = f32[4,6] get-tuple-element(y), index=0\n";
};

std::string text_of(const Call& call) {
  return module_text(
      kInputs +
          fmt::format(
              "  y = {} custom-call({}), custom_call_target=\"{}\", "
              "backend_config={{\"gemm_backend_config\":{{\"alpha_imag\":0,\"alpha_real\":{},"
              "\"beta\":{},\"damax_output\":false,\"dot_dimension_numbers\":{{\"lhs_batch_"
              "dimensions\":[],\"lhs_contracting_dimensions\":[{}],\"rhs_batch_dimensions\":[],"
              "\"rhs_contracting_dimensions\":[\"0\"]}},\"epilogue\":\"{}\",\"precision_config\":{{"
              "\"operand_precision\":[\"DEFAULT\",\"DEFAULT\"],\"algorithm\":\"ALG_UNSET\"}},{}}}}}"
              "\n",
              call.result, call.operands, call.target, call.alpha, call.beta, call.contracted,
              call.epilogue, call.more) +
          call.end,
      1);
}

std::string operations(const std::string& lines) {
  return module_text(kInputs +
                         "  d = f32[4,6] dot(x, w), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n" +
                         lines,
                     1);
}

Outcome outcome(const std::string& before, const std::string& after) {
  const auto expanded = [](const std::string& text) {
    return std::make_shared<const Module>(with_operations_of_libraries(read_hlo("f", text)));
  };
  return compare(expanded(before), expanded(after), {}, {}).outcome;
}

const std::string kHalf =
    "  h = f32[] constant(0.5)\n  hs = f32[4,6] broadcast(h), dimensions={}\n";
const std::string kZeros = "  z = f32[] constant(0)\n  zs = f32[4,6] broadcast(z), dimensions={}\n";
const std::string kBias = "  vs = f32[4,6] broadcast(v), dimensions={1}\n";
const std::string kPlain = operations("  ROOT r = f32[4,6] copy(d)\n");
const std::string kScaled = operations(kHalf + "  ROOT r = f32[4,6] multiply(d, hs)\n");
const std::string kAdded = operations(kHalf +
                                      "  m = f32[4,6] multiply(c, hs)\n  ROOT r = f32[4,6] "
                                      "add(d, m)\n");
const std::string kBiased = operations(kBias + "  ROOT r = f32[4,6] add(d, vs)\n");
const std::string kRectified = operations(kZeros + "  ROOT r = f32[4,6] maximum(d, zs)\n");
const std::string kBoth =
    operations(kBias + kZeros + "  s = f32[4,6] add(d, vs)\n  ROOT r = f32[4,6] maximum(s, zs)\n");
/// 0.5 d + 0.5 c + v, rectified.
const std::string kAll = operations(
    kBias + kZeros + kHalf +
    "  m = f32[4,6] multiply(d, hs)\n  n = f32[4,6] multiply(c, hs)\n  o = f32[4,6] add(m, n)\n  s "
    "= f32[4,6] add(o, vs)\n  ROOT r = f32[4,6] maximum(s, zs)\n");

}  // namespace

TEST_CASE("a matrix product by cuBLAS is a dot with what follows it, and nothing else") {
  const std::string all[] = {kPlain, kScaled, kAdded, kBiased, kRectified, kBoth, kAll};
  struct Right {
    Call call;
    std::size_t meaning;
  };
  const std::string unused = "  ROOT r = f32[4,6] copy(y)\n";
  for (const auto& [call, meaning] :
       {Right{{}, 0},
        {{.alpha = "0.5"}, 1},
        {{.operands = "x, w, c", .beta = "0.5"}, 2},
        {{.operands = "x, w, v", .epilogue = "BIAS"}, 3},
        {{.epilogue = "RELU"}, 4},
        {{.operands = "x, w, v", .epilogue = "BIAS_RELU"}, 5},
        {{.operands = "x, w, c, v", .alpha = "0.5", .beta = "0.5", .epilogue = "BIAS_RELU"}, 6},
        {{.target = "__cublas$gemm", .alpha = "0.5"}, 1},
        {{.target = "__cublas$gemm", .result = "f32[4,6]{1,0}", .end = unused}, 0},
        {{.result = "(f32[4,6]{0,1}, s8[64]{0})", .alpha = "0.5"}, 1}}) {
    const std::string text = text_of(call);
    CAPTURE(text);
    for (std::size_t k = 0; k < std::size(all); ++k) {
      CHECK(outcome(all[k], text) == (k == meaning ? Outcome::Established : Outcome::Refuted));
    }
  }
}

TEST_CASE("a call of cuBLAS that is not understood is open") {
  const std::string workspace =
      "  e = s8[64] get-tuple-element(y), index=1\n  a = f32[64] "
      "convert(e)\n  s = f32[6] slice(a), slice={[0:6]}\n  t = f32[4,6] "
      "broadcast(s), dimensions={1}\n  g = f32[4,6] "
      "get-tuple-element(y), index=0\n  ROOT r = f32[4,6] add(g, t)\n";
  for (const Call& call :
       {Call{.epilogue = "GELU"},
        Call{.epilogue = "SILU"},
        Call{.operands = "x, w, c"},
        Call{.beta = "1"},
        Call{.epilogue = "BIAS"},
        Call{.contracted = "\"0\""},
        Call{.contracted = "\"1\",\"1\""},
        Call{.contracted = "\"2\""},
        Call{.contracted = ""},
        Call{.contracted = "\"a\""},
        Call{.alpha = "\"one\""},
        Call{.more = "\"lhs_stride\":\"0\",\"rhs_stride\":\"36\""},
        Call{.more = "\"lhs_stride\":\"24\",\"rhs_stride\":\"7\""},
        Call{.more = "\"scale_mode\":1"},
        Call{.more = "\"unheard\":0"},
        Call{.end = workspace},
        Call{.operands = "x, w, v", .result = "(f32[4,6]{0,1}, s8[64]{0})", .epilogue = "BIAS"},
        Call{.operands = "x, w, x", .epilogue = "BIAS"},
        Call{.target = "__cublas$gemm", .epilogue = "RELU"},
        Call{.more = "\"epilogue\":\"DEFAULT\""},  // a key twice
        Call{.target = "__cublas$lt$matmul$f8"},
        Call{.target = "__cublas$other"},
        Call{.result = "(f32[4,6]{1,0}, f32[4,6]{1,0}, s8[64]{0})"}}) {
    const std::string text = text_of(call);
    CAPTURE(text);
    CHECK(outcome(kPlain, text) == Outcome::Undecided);
    CHECK(outcome(text, text) == Outcome::Established);
  }
}

TEST_CASE("a bias has as many elements as the second operand's free dimensions") {
  const auto call = [](const std::string& w, const std::string& result,
                       const std::string& strides) {
    return module_text(
        "  x = f32[4,6] parameter(0)\n  w = f32[" + w +
            "] parameter(1)\n  v = f32[4] parameter(2)\n  y = (f32[" + result +
            "], s8[4]) custom-call(x, w, v), custom_call_target=\"__cublas$lt$matmul\", "
            "backend_config={\"gemm_backend_config\":{\"alpha_real\":1,\"alpha_imag\":0,\"beta\":0,"
            "\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_"
            "dimensions\":[\"0\"]},\"epilogue\":\"BIAS\"" +
            strides + "}}\n  ROOT r = f32[" + result + "] get-tuple-element(y), index=0\n",
        1);
  };
  const auto is_call = [](const std::string& text) {
    const Module module = with_operations_of_libraries(read_hlo("f", text));
    return std::ranges::any_of(
        module.entry_computation().instructions,
        [](const Instruction& each) { return each.opcode == "custom-call"; });
  };
  CHECK_FALSE(is_call(call("6,4", "4,4", "")));
  CHECK(is_call(call("6", "4", "")));
  CHECK(is_call(call("6,3,4", "4,3,4", "")));
  const std::string scalar = module_text(
      "  x = f32[] parameter(0)\n  y = (f32[], s8[4]) custom-call(x, x), "
      "custom_call_target=\"__cublas$lt$matmul\", backend_config={\"gemm_backend_config\":{\"alpha_"
      "real\":1,\"dot_dimension_numbers\":{},\"lhs_stride\":\"3\"}}\n  ROOT r = f32[] "
      "get-tuple-element(y), index=0\n",
      1);
  CHECK(is_call(scalar));
}

TEST_CASE("batches, and products in bf16 that are scaled in f32") {
  const auto call = [](const std::string& alpha) {
    return module_text(
        "  x = bf16[8,5,3]{2,1,0} parameter(0)\n  w = bf16[8,3,7]{2,1,0} parameter(1)\n  y = "
        "(bf16[8,5,7]{2,1,0}, s8[4]{0}) custom-call(x, w), "
        "custom_call_target=\"__cublas$lt$matmul\", "
        "backend_config={\"gemm_backend_config\":{\"alpha_real\":" +
            alpha +
            ",\"alpha_imag\":0,\"beta\":0,\"dot_dimension_numbers\":{\"lhs_batch_dimensions\":["
            "\"0\"]"
            ",\"lhs_contracting_dimensions\":[\"2\"],\"rhs_batch_dimensions\":[\"0\"],\"rhs_"
            "contracting_dimensions\":[\"1\"]},\"epilogue\":\"DEFAULT\",\"lhs_stride\":\"15\","
            "\"rhs_"
            "stride\":\"21\"}}\n  ROOT r = bf16[8,5,7]{2,1,0} get-tuple-element(y), index=0\n",
        1);
  };
  const auto dot = [](const std::string& factor) {
    return module_text(
        "  x = bf16[8,5,3] parameter(0)\n  w = bf16[8,3,7] parameter(1)\n  d = f32[8,5,7] dot(x, "
        "w), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
        "rhs_contracting_dims={1}\n  f = f32[] constant(" +
            factor +
            ")\n  b = f32[8,5,7] broadcast(f), dimensions={}\n  m = f32[8,5,7] multiply(d, b)\n  "
            "ROOT r = bf16[8,5,7] convert(m)\n",
        1);
  };
  CHECK(outcome(dot("0.001"), call("0.0010000000474974513")) == Outcome::Established);
  CHECK(outcome(dot("0.00101"), call("0.0010000000474974513")) == Outcome::Refuted);
  CHECK(outcome(dot("1"), call("1")) == Outcome::Established);
}

TEST_CASE("a convolution by cuDNN, with a bias and a rectifier") {
  const std::string inputs =
      "  x = f32[2,5,5,3] parameter(0)\n  w = f32[4,3,3,3] parameter(1)\n  v = f32[4] "
      "parameter(2)\n";
  const std::string how = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f";
  const auto call = [&](const std::string& target, const std::string& operands,
                        const std::string& config) {
    return module_text(inputs + "  y = (f32[2,5,5,4]{3,2,1,0}, u8[0]{0}) custom-call(" + operands +
                           "), " + how + ", custom_call_target=\"" + target +
                           "\", backend_config={\"cudnn_conv_backend_config\":{" + config +
                           "}}\n  ROOT r = f32[2,5,5,4] get-tuple-element(y), index=0\n",
                       1);
  };
  const auto written = [&](const std::string& lines) {
    return module_text(inputs + "  c = f32[2,5,5,4] convolution(x, w), " + how + "\n" + lines, 1);
  };
  const std::string plain = written("  ROOT r = f32[2,5,5,4] copy(c)\n");
  const std::string zeros =
      "  z = f32[] constant(0)\n  zs = f32[2,5,5,4] broadcast(z), dimensions={}\n";
  const std::string sum =
      "  b = f32[2,5,5,4] broadcast(v), dimensions={3}\n  s = f32[2,5,5,4] add(c, b)\n";
  const std::string biased = written(sum + "  ROOT r = f32[2,5,5,4] copy(s)\n");
  const std::string rectified = written(sum + zeros + "  ROOT r = f32[2,5,5,4] maximum(s, zs)\n");
  const std::string none =
      "\"activation_mode\":\"kNone\",\"conv_result_scale\":1,\"side_input_"
      "scale\":0,\"leakyrelu_alpha\":0";
  const std::string relu = replaced(none, "kNone", "kRelu");
  const std::string forward = "__cudnn$convForward";
  const std::string fused = "__cudnn$convBiasActivationForward";
  CHECK(outcome(plain, call(forward, "x, w", none)) == Outcome::Established);
  CHECK(outcome(biased, call(fused, "x, w, v", none)) == Outcome::Established);
  CHECK(outcome(rectified, call(fused, "x, w, v", relu)) == Outcome::Established);
  CHECK(outcome(biased, call(fused, "x, w, v", relu)) == Outcome::Refuted);
  CHECK(outcome(rectified, call(fused, "x, w, v", none)) == Outcome::Refuted);
  CHECK(outcome(plain, call(fused, "x, w, v", none)) == Outcome::Refuted);
  for (const std::string& open :
       {call(fused, "x, w, v", replaced(none, "kNone", "kElu")),
        call(fused, "x, w, v", replaced(none, "_scale\":0", "_scale\":1")),
        call(fused, "x, w", none), call(forward, "x, w, v", none),
        call("__cudnn$convBackwardInput", "x, w", none), call(forward, "x, w", relu),
        call(forward, "x, w", replaced(none, "result_scale\":1", "result_scale\":2")),
        call(fused, "x, w, x", none),
        call(forward, "x, w", none + ",\"serialized_graph\":\"f\"")}) {
    CAPTURE(open);
    CHECK(outcome(plain, open) == Outcome::Undecided);
  }
}

TEST_CASE("a certificate of a module that calls a library is about its operations") {
  const TemporaryFile before(kBoth, ".hlo");
  const TemporaryFile after(text_of({.operands = "x, w, v", .epilogue = "BIAS_RELU"}), ".hlo");
  const std::string folder = after.path() + ".d";
  const Ran ran =
      run({"check", "--before", before.path(), "--after", after.path(), "--certify", folder});
  CHECK(ran.exit == kEstablished);
  CHECK_MESSAGE(ran.out.find("\ncertificate: ") != std::string::npos, ran.out);
  std::string problem;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    problem += read_file(file.path().string());
  CHECK(problem.find("written_from") != std::string::npos);
  CHECK(problem.find("__cublas$") == std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace p2::hlo
