// What a module multiplies by a mask: a product with 0 is none where a factor is infinite.

#include <set>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/claims.h"
#include "proofs/kernel/xla/relation.h"

namespace p2 {

using kernel::xla::RelatedModules;
using kernel::xla::Tensors;

std::vector<std::string> masked_factors(const CertificateFiles& problem) try {
  std::set<std::string> found;
  kernel::xla::with_related_modules(problem, [&](RelatedModules& modules, const auto&) {
    const Tensors& tensors = modules.tensors();
    const auto narrow = [&](std::size_t number) {
      while (kernel::xla::is_one_of(tensors.at(number).form.opcode,
                                    {"broadcast", "reshape", "transpose"}))
        number = tensors.at(number).operands[0];
      return number;
    };
    const auto is_mask = [&](std::size_t number) {
      const Tensors::Tensor& known = tensors.at(narrow(number));
      return known.form.opcode == "convert" && tensors.at(known.operands[0]).kind == "pred";
    };
    for (std::size_t k = 0; k < tensors.count(); ++k) {
      const auto& [form, operands, kind, sizes] = tensors.at(k);
      if (kind != "float" || !kernel::xla::is_one_of(form.opcode, {"dot", "multiply"})) continue;
      for (std::size_t side = 0; side < 2; ++side) {
        if (!is_mask(operands[side])) continue;
        for (const std::size_t each : {narrow(operands[1 - side]), operands[1 - side]}) {
          const auto name = modules.names().find(each);
          if (name == modules.names().end() || tensors.is_finite(each) ||
              !tensors.can_be_finite(each))
            continue;
          found.insert(name->second);
          break;
        }
      }
    }
  });
  return {found.begin(), found.end()};
} catch (const kernel::CheckFailure&) {
  return {};
}

}  // namespace p2
