#pragma once

#include <string>

namespace p2::hlo {

/// Modules before and after what compilers do with collectives, all of them right.
struct Rewrite {
  const char* name;
  std::string before;
  std::string after;
};

Rewrite by_host();           ///< all-reduce over 8 as three collectives with hosts of 4
Rewrite scatter_made();      ///< all-reduce and dynamic-slice through a table as reduce-scatter
Rewrite split_reduction();   ///< all-reduce over 8 as two around a dynamic-slice
Rewrite folded();            ///< two all-reduces as one
Rewrite gathered_locally();  ///< all-reduce as all-gather and a local reduction
Rewrite ring_step();         ///< all-gather as permutes, updates of slices and an addition
Rewrite exchanged();         ///< all-to-all as slices of an all-gather
Rewrite largest();           ///< an all-reduce with maximum in two levels

}  // namespace p2::hlo
