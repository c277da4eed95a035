#pragma once

#include <string>
#include <vector>

#include "tests/hlo/small_relations.h"

/// What facts of p2-check say, element by element.
namespace p2::hlo::small {

/// Of one element of what devices hold. Without devices: the whole's is the sum of all summands.
struct Claim {
  std::vector<std::size_t> devices;  ///< whose elements are reduced to that of the whole
  Index own, whole;                  ///< indices in the devices' arrays and in the tensor
  bool are_copies = false;           ///< the devices' elements are equal, and no more
};

struct Claims {
  std::string contradiction;  ///< why the fact cannot be true; empty if it can
  std::vector<Claim> all;
};

/// `own` and `whole`: the sizes of the devices' arrays and of the tensor.
Claims claims_of(const kernel::xla::RelatedModules& modules, const kernel::xla::Fact& fact,
                 const Index& own, const Index& whole);

/// `add`, for an operation that reduces.
std::string name_of(kernel::xla::Op op);

/// Of a share, the indices whose summands a device has; all of them without a device.
std::vector<Index> summands_of(const kernel::xla::RelatedModules& modules,
                               const kernel::xla::Fact& fact,
                               const std::vector<std::size_t>& device);

/// Why a fact is false of the arrays that devices have; empty where it is true.
std::string contradiction(const kernel::xla::RelatedModules& modules, const kernel::xla::Fact& fact,
                          const std::vector<Array>& devices, WholeTensors& wholes);

}  // namespace p2::hlo::small
