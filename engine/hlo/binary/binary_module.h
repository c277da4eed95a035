#pragma once

#include <string>
#include <string_view>

#include "p2/limits.h"

namespace p2::hlo {

/// The text, as XLA prints it, of a binary module: HloProto, HloModuleProto or
/// HloModuleProtoWithConfig (xla/service/hlo.proto, xla/xla.proto). Positions in `source` are then
/// those of this text. The numbers of replicas and partitions are in it where the file has them.
/// Throws InputError for what XLA does not read either, and LimitReached.
std::string text_of_binary_module(const std::string& source, std::string_view bytes,
                                  const Limits& limits = {});

}  // namespace p2::hlo
