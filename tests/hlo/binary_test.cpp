#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "engine/hlo/binary/binary_module.h"
#include "engine/hlo/text/hlo_text.h"
#include "hlo.pb.h"
#include "p2/error.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

// Binary modules: examples/hlo/mlp-partitioned.pb as XLA (jaxlib 0.10.2) writes it from
// mlp-partitioned.hlo, and messages that are put together here.

namespace p2::hlo {
namespace {

const std::string kExamples = std::string(P2_SOURCE_DIR) + "/examples/hlo/";

std::string text_of(const binary::ModuleFile& file) {
  return text_of_binary_module("m.pb", file.SerializeAsString());
}

/// One computation with a constant of these dimensions; `change` makes the literal.
binary::ModuleFile constant_module(std::int32_t type, const std::vector<std::int64_t>& dimensions,
                                   const std::function<void(binary::Literal&)>& change) {
  binary::ModuleFile file;
  binary::Module& module = *file.mutable_module();
  module.set_name("m");
  module.set_entry_computation_id(1);
  binary::Computation& computation = *module.add_computations();
  computation.set_name("main");
  computation.set_id(1);
  computation.set_root_id(7);
  binary::Instruction& instruction = *computation.add_instructions();
  instruction.set_name("c");
  instruction.set_id(7);
  instruction.set_opcode("constant");
  instruction.mutable_shape()->set_element_type(type);
  for (const std::int64_t size : dimensions) instruction.mutable_shape()->add_dimensions(size);
  *instruction.mutable_literal()->mutable_shape() = instruction.shape();
  change(*instruction.mutable_literal());
  return file;
}

/// The elements that the reader of text finds in the only constant.
std::vector<std::string> elements_of(const binary::ModuleFile& file) {
  const Module module = read_hlo("m.pb", text_of(file));
  std::vector<std::string> texts;
  for (const LiteralElement& each : module.computations[0].instructions[0].literal->elements) {
    texts.push_back(each.text.empty() ? to_string(each.number) : each.text);
  }
  return texts;
}

/// The module of the example, to be changed.
binary::ModuleFile example() {
  binary::ModuleFile file;
  REQUIRE(file.mutable_module()->ParseFromString(bytes_of(kExamples + "mlp-partitioned.pb")));
  return file;
}

binary::Instruction& instruction_called(binary::ModuleFile& file, const std::string& name) {
  for (binary::Computation& computation : *file.mutable_module()->mutable_computations()) {
    for (binary::Instruction& each : *computation.mutable_instructions()) {
      if (each.name() == name) return each;
    }
  }
  FAIL("no instruction ", name);
  throw std::logic_error(name);
}

}  // namespace

TEST_CASE("a binary module is the module of the text that XLA made it from") {
  const std::string bytes = bytes_of(kExamples + "mlp-partitioned.pb");
  CHECK(is_binary_module(bytes));
  CHECK_FALSE(is_binary_module(bytes_of(kExamples + "mlp-partitioned.hlo")));
  CHECK_FALSE(is_binary_module("\n\nHloModule m\n"));
  CHECK_FALSE(is_binary_module(""));
  const std::string text = text_of_binary_module("m.pb", bytes);
  CHECK(text.find("%down = f32[6,8]{1,0} all-reduce(%part), channel_id=1, "
                  "replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=%add") !=
        std::string::npos);
  const Ran same = run({"check", "--before", kExamples + "mlp-partitioned.hlo", "--after",
                        kExamples + "mlp-partitioned.pb"});
  CHECK(same.exit == 0);
  const Ran partitioned = run(
      {"check", "--before", kExamples + "mlp.hlo", "--after", kExamples + "mlp-partitioned.pb"});
  CHECK(partitioned.exit == 0);
  binary::ModuleFile changed = example();
  instruction_called(changed, "down").set_opcode("copy");
  instruction_called(changed, "down").clear_called_computation_ids();
  const TemporaryFile file(changed.SerializeAsString(), ".pb");
  CHECK(run({"check", "--before", kExamples + "mlp.hlo", "--after", file.path()}).exit == 1);
}

TEST_CASE("devices of a binary module are those of its configuration") {
  binary::ModuleFile file = example();
  CHECK(text_of(file).starts_with("HloModule mlp\n"));
  file.mutable_configuration()->set_num_partitions(4);
  CHECK(text_of(file).starts_with("HloModule mlp, num_partitions=4\n"));
  file.mutable_module()->mutable_device_assignment()->set_replica_count(2);
  CHECK(text_of(file).starts_with("HloModule mlp, replica_count=2, num_partitions=4\n"));
}

TEST_CASE("constants of binary modules are in the physical order of their layout") {
  const auto numbers = [](std::vector<std::int64_t> layout) {
    return constant_module(4, {2, 3}, [&](binary::Literal& literal) {
      for (int i = 0; i < 6; ++i) literal.add_s32s(i);
      for (const std::int64_t each : layout) {
        literal.mutable_shape()->mutable_layout()->add_minor_to_major(each);
      }
    });
  };
  using Texts = std::vector<std::string>;
  CHECK(elements_of(numbers({1, 0})) == Texts{"0", "1", "2", "3", "4", "5"});
  CHECK(elements_of(numbers({0, 1})) == Texts{"0", "2", "4", "1", "3", "5"});
  CHECK(elements_of(numbers({})) == Texts{"0", "1", "2", "3", "4", "5"});
}

TEST_CASE("integers of fewer than 8 bits are read where each has a byte") {
  using Texts = std::vector<std::string>;
  const auto elements = [](std::int32_t type, std::int64_t size, const std::string& bytes) {
    return elements_of(constant_module(type, {size}, [&](binary::Literal& literal) {
      if (type == 21) literal.set_s4s(bytes);
      if (type == 22) literal.set_u4s(bytes);
      if (type == 26) literal.set_s2s(bytes);
      if (type == 27) literal.set_u2s(bytes);
    }));
  };
  // As XLA writes them: the bits of the sign left out; or as numbers of 8 bits.
  CHECK(elements(21, 5, std::string("\x09\x00\x07\x0e\x08", 5)) ==
        Texts{"-7", "0", "7", "-2", "-8"});
  CHECK(elements(21, 2, "\xf9\x07") == Texts{"-7", "7"});
  CHECK(elements(22, 3, std::string("\x0f\x00\x08", 3)) == Texts{"15", "0", "8"});
  CHECK(elements(26, 4, std::string("\x03\x02\x01\x00", 4)) == Texts{"-1", "-2", "1", "0"});
  CHECK(elements(27, 2, "\x03\x01") == Texts{"3", "1"});
  // Several to a byte, as older XLA wrote them; a single one has zeros below it.
  for (const std::string bytes : {"\x97", "\x90"}) {
    CHECK_THROWS_AS(elements(21, 1, bytes), LimitReached);
    CHECK_THROWS_AS(elements(22, 2, bytes), LimitReached);
    CHECK_THROWS_AS(elements(22, 1, bytes), LimitReached);
  }
  CHECK_THROWS_AS(elements(26, 1, "\x40"), LimitReached);
}

TEST_CASE("small floating-point numbers are what their formats say") {
  const auto value = [](std::int32_t type, const std::string& bytes, auto set) {
    return text_of(
        constant_module(type, {}, [&](binary::Literal& literal) { set(literal, bytes); }));
  };
  const auto holds = [](const std::string& text, const std::string& number) {
    CAPTURE(text);
    CHECK(text.find(" constant(" + number + ")") != std::string::npos);
  };
  const auto bf16 = [](auto& literal, const auto& bytes) { literal.set_bf16s(bytes); };
  holds(value(16, std::string("\x80\x3f", 2), bf16), "1");
  holds(value(16, std::string("\xc0\xff", 2), bf16), "nan");
  holds(value(16, std::string("\x80\xff", 2), bf16), "-inf");
  const auto f16 = [](auto& literal, const auto& bytes) { literal.set_f16s(bytes); };
  holds(value(10, std::string("\xff\x7b", 2), f16), "65504");
  holds(value(10, std::string("\x01\x00", 2), f16), "5.960464477539063e-08");
  const auto e4m3fn = [](auto& literal, const auto& bytes) { literal.set_f8e4m3fns(bytes); };
  holds(value(20, "\x7e", e4m3fn), "448");
  holds(value(20, "\x7f", e4m3fn), "nan");
  holds(value(20, "\x80", e4m3fn), "-0");
  const auto e5m2 = [](auto& literal, const auto& bytes) { literal.set_f8e5m2s(bytes); };
  holds(value(19, "\x7b", e5m2), "57344");
  holds(value(19, "\x7c", e5m2), "inf");
  const auto e4m3fnuz = [](auto& literal, const auto& bytes) { literal.set_f8e4m3fnuzs(bytes); };
  holds(value(25, "\x7f", e4m3fnuz), "240");
  holds(value(25, "\x80", e4m3fnuz), "nan");
  const auto e5m2fnuz = [](auto& literal, const auto& bytes) { literal.set_f8e5m2fnuzs(bytes); };
  holds(value(24, "\x7f", e5m2fnuz), "57344");
  const auto e4m3b11 = [](auto& literal, const auto& bytes) { literal.set_f8e4m3b11fnuzs(bytes); };
  holds(value(23, "\x7f", e4m3b11), "30");
  const auto e3m4 = [](auto& literal, const auto& bytes) { literal.set_f8e3m4s(bytes); };
  holds(value(29, "\x6f", e3m4), "15.5");
}

TEST_CASE("what a binary module cannot mean is refused, and what is not known leaves it open") {
  const auto refused = [](const std::function<void(binary::ModuleFile&)>& change) {
    binary::ModuleFile file = example();
    change(file);
    CHECK_THROWS_AS(text_of(file), InputError);
  };
  using File = binary::ModuleFile;
  refused([](File& f) { instruction_called(f, "up").set_name("up = f32[] parameter(3)\n  %x"); });
  refused([](File& f) { instruction_called(f, "up").set_name("x"); });
  refused([](File& f) { instruction_called(f, "up").set_opcode("dot(%x), other=("); });
  refused([](File& f) { instruction_called(f, "up").set_operand_ids(0, 4711); });
  refused([](File& f) { instruction_called(f, "up").mutable_shape()->set_element_type(99); });
  refused([](File& f) { instruction_called(f, "down").set_called_computation_ids(0, 4711); });
  refused([](File& f) { f.mutable_module()->set_entry_computation_id(4711); });
  refused([](File& f) { f.mutable_module()->mutable_computations(1)->set_root_id(4711); });
  refused([](File& f) { f.mutable_module()->clear_computations(); });

  const auto open = [](const std::string& field, const std::string& name) {
    binary::ModuleFile file = example();
    binary::Instruction& instruction = instruction_called(file, name);
    REQUIRE(instruction.MergeFromString(field));
    CHECK_THROWS_AS(text_of(file), LimitReached);
  };
  open(std::string("\xf2\x05\x02\x08\x01", 5), "down");  // field 94, a message
  open(std::string("\x9a\x06\x00", 3), "x");             // field 99, empty
  open(std::string("\xf2\x01\x02\x78\x01", 5), "up");    // field 15 of the dimensions of a dot
  binary::ModuleFile wide = constant_module(21, {2}, [](binary::Literal& literal) {
    literal.set_s4s("\x12");  // four bits: how they are packed differs between versions
  });
  CHECK_THROWS_AS(text_of(wide), LimitReached);
}

TEST_CASE("groups of collectives are read from every field that XLA has had for them") {
  const auto groups = [](const std::function<void(binary::Instruction&)>& change) {
    binary::ModuleFile file = example();
    binary::Instruction& down = instruction_called(file, "down");
    down.clear_replica_groups();
    down.clear_device_list();
    change(down);
    const Module module = read_hlo("m.pb", text_of(file));
    for (const Instruction& each : module.computations[module.entry].instructions) {
      if (each.name == "down") return each.attributes.groups.lists;
    }
    return std::vector<std::vector<std::int64_t>>();
  };
  const std::vector<std::vector<std::int64_t>> strided = {{0, 2}, {1, 3}};
  const auto fill = [](binary::IotaGroups& iota) {
    iota.set_groups(2);
    iota.set_devices_per_group(2);
    for (const int each : {2, 2}) iota.add_reshape_dims(each);
    for (const int each : {1, 0}) iota.add_transpose(each);
  };
  CHECK(groups([](binary::Instruction& down) {
          for (const int first : {0, 1}) {
            binary::ReplicaGroup& group = *down.add_replica_groups();
            group.add_ids(first);
            group.add_ids(first + 2);
          }
        }) == strided);
  CHECK(groups([&](binary::Instruction& down) {
          fill(*down.mutable_device_list()->mutable_iota());
        }) == strided);
  CHECK(groups([&](binary::Instruction& down) { fill(*down.mutable_iota_groups()); }) == strided);
  CHECK(groups([](binary::Instruction& down) {
          binary::MeshGroups& mesh = *down.mutable_mesh_groups();
          for (const char* name : {"a", "b"}) {
            binary::Mesh::Axis& axis = *mesh.mutable_mesh()->add_axes();
            axis.set_name(name);
            axis.set_size(2);
          }
          mesh.add_axes()->set_axis(0);
        }) == strided);
}

TEST_CASE("damaged binary modules are refused or read, and nothing else happens") {
  const std::string bytes = bytes_of(kExamples + "mlp-partitioned.pb");
  std::mt19937 random(1);
  std::size_t read = 0;
  std::size_t refused = 0;
  const auto attempt = [&](const std::string& damaged) {
    try {
      read_hlo("m.pb", text_of_binary_module("m.pb", damaged));
      ++read;
    } catch (const InputError&) {
      ++refused;
    } catch (const LimitReached&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < bytes.size(); ++size) attempt(bytes.substr(0, size));
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    const auto changes = 1 + random() % 4;
    for (std::size_t k = 0; k < changes; ++k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    attempt(damaged);
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}

}  // namespace p2::hlo
