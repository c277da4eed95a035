#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/operation.h"

namespace p2::operations {

/// An operation as it stands in a file: what its kind adds is not in it yet.
struct OperationSketch {
  std::string name;
  std::string kind;
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  std::optional<std::int64_t> pointwise;  ///< instead of what the kind says
  std::string data;                       ///< empty: the kind decides
  std::string model;
  // For the kind einsum alone: dimension names with blanks between.
  std::vector<std::string> inputs = {};
  std::vector<std::string> weights = {};
  std::string output = {};
};

/// A tensor by the names of what it joins.
struct TensorSketch {
  std::string from;
  std::string to;
  std::size_t input = 0;
};

/// An operation graph as it stands in a file.
struct GraphSketch {
  std::string model;
  std::int64_t batch = 1;
  std::vector<OperationSketch> operations;
  std::vector<TensorSketch> tensors;
};

/// What a kind says. Tensors are written as names of dimensions and constant lengths with blanks
/// between; `c.h.w` is one axis as long as all of them that is split like the first, and an axis
/// `*` stands for all dimensions. Dimensions that an operation may leave out and does are not
/// there.
struct Kind {
  std::string name = {};
  std::string dimensions = {};  ///< `*`: any
  std::string optional = {};    ///< those of them that may be left out
  std::string whole = {};       ///< those that no configuration splits
  std::vector<std::string> inputs = {};
  std::vector<std::string> weights = {};
  std::string output = {};
  std::string partial = {};  ///< empty: the output
  std::string work = {};     ///< empty: the output
  std::int64_t multiply = 0;
  std::int64_t pointwise = 0;
  std::string model = {};    ///< the dimension that an expert splits; empty: none
  bool many_inputs = false;  ///< any number of inputs like the first
  bool scattered = false;
};

const std::vector<Kind>& kinds();

/// The operation, or std::invalid_argument that says what is wrong with it.
Operation make_operation(const OperationSketch& sketch);

}  // namespace p2::operations
