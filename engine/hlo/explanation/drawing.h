#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/flow.h"

namespace p2::hlo {

/// A module of which an element is drawn: its arrays, and what is known of their elements.
class DrawnModule {
 public:
  using Index = std::vector<std::int64_t>;

  /// All must outlive this. `other_word`: `before` or `after`, which the other module is.
  DrawnModule(const Module& subject, const Devices& devices, const Trace& trace,
              const char* other_word)
      : subject_(subject), devices_(devices), trace_(trace), other_word_(other_word) {}
  DrawnModule(const DrawnModule&) = delete;
  DrawnModule& operator=(const DrawnModule&) = delete;
  virtual ~DrawnModule() = default;

  const Module& subject() const { return subject_; }
  const Devices& devices() const { return devices_; }
  const std::vector<TracedArray>& arrays() const { return trace_.arrays; }
  const TracedArray& array(std::uint32_t number) const { return trace_.arrays[number]; }
  const char* other_word() const { return other_word_; }

  /// What an element of an array on a device is of the other module.
  virtual std::optional<HeldElement> element(std::uint32_t array, std::uint32_t device,
                                             const Index& index) = 0;
  /// Which indices a device has of a dimension; nothing where it has all, or that is not known.
  virtual std::optional<HeldRange> range(std::uint32_t array, std::uint32_t device,
                                         std::size_t dimension) = 0;
  /// The number that a scalar is on a device, for all inputs.
  virtual std::optional<std::int64_t> number(std::uint32_t array, std::uint32_t device) = 0;

 private:
  const Module& subject_;
  const Devices& devices_;
  const Trace& trace_;
  const char* other_word_;
};

/// The arrays of a data flow, without their elements.
Trace trace_of(const Flow& flow);

/// An element of an output on a device, by its index there; without one the first.
struct OutputElement {
  std::size_t output = 0;
  std::uint32_t device = 0;
  DrawnModule::Index index = {};
};

/// The one that differs, else the first.
OutputElement drawn_element(const ModuleDecision& decision);

/// A tree of the operations that make up an element of `array`, back to products, reductions and
/// parameters, with the devices on which they run:
///
///     output 0 [0,0] on device 0
///     └ device 0: y[0,0] = add, y[0,0] before
///       ├ device 0: x[0,0] = parameter, x[0,0] before
///       └ device 0: down[0,0] = all-reduce (add), down[0,0] before
///         ├ device 0: part[0,0] = dot over 0:4 of dimension 1 of active before, …
///         └ device 1: part[0,0] = dot over 4:8 of dimension 1 of active before, …
std::string draw(DrawnModule& module, std::uint32_t array, const OutputElement& element);

}  // namespace p2::hlo
