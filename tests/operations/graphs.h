#pragma once

#include <string>

#include "engine/strategy/operation.h"

namespace p2::operations {

/// Two matrix products with something between, on four devices of which a word moved costs 5000.
inline std::string two_layers(
    const std::string& levels = R"({"name":"all","size":4,"bandwidth":16000000000})") {
  return R"({"format":"operation-graph/1","model":"two layers","batch":128,
"machine":{"flops":10000000000000,"word_bytes":8,"levels":[)" +
         levels + R"(]},
"operations":[
{"name":"first","kind":"gemm","dims":{"b":128,"n":4096,"k":9216},"pointwise":3},
{"name":"second","kind":"gemm","dims":{"b":128,"n":1024,"k":4096},"model":"k"},
{"name":"loss","kind":"loss","dims":{"b":128,"c":1024}}],
"tensors":[{"from":"first","to":"second"},{"from":"second","to":"loss","input":0}]})";
}

/// The text with the first `from` replaced.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "not found: " + from : text.replace(at, from.size(), to);
}

}  // namespace p2::operations
