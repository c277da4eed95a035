#pragma once

#include <string>

#include "engine/base/plot.h"
#include "engine/program/derivation.h"

namespace p2 {

/// The devices in their hardware, each with its coordinates along the axes and coloured by the
/// first axis of more than one part. The grid has at most kMaxPicturedDevices devices.
HardwarePicture placement_picture(const DeviceGrid& grid);

/// What the groups of a step send, each device to the next of its group, or to and from the root.
std::vector<HardwarePicture::Transfer> transfers_of(const Step& step);

/// The placement, and the groups of every step one after the other; transfers that leave the
/// outermost level that a step crosses are marked.
HardwarePicture program_picture(const Program& program, const Instance& instance);

/// What the devices hold at the start and after every legal step, as figures 7 and 8 of the P2
/// paper draw it: a matrix per device, rows chunks, columns contributors. Where the program is
/// refuted, the devices and the contribution at fault are marked. Of many devices those of the
/// group at fault or of the first class; of many steps the last ones. Empty where a matrix would be
/// too large.
std::string draw_states(const Program& program, Dialect dialect, const Instance* instance,
                        const Limits& limits);

}  // namespace p2
