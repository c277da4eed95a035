#include <doctest/doctest.h>

#include "p2/error.h"
#include "engine/reshard/task_file.h"

using namespace p2;

TEST_CASE("tasks are read, hosts in any order") {
  const UnitTasks tasks =
      read_tasks("t", R"({"tasks":[{"size":3,"sender_hosts":[2,1],"receiver_hosts":[0]},
                        {"size":1,"sender_hosts":[0],"receiver_hosts":[7,0]}]})");
  CHECK(tasks == UnitTasks{{3, {1, 2}, {0}}, {1, {0}, {0, 7}}});
}

TEST_CASE("mistakes in a file of tasks are told with their place") {
  const std::pair<const char*, const char*> bad[] = {
      {R"({})", "t:1:1: "},
      {R"({"tasks":[]})", "t:1:10: no task"},
      {R"({"tasks":[],"hosts":2})", "t:1:13: "},
      {R"({"tasks":[{"size":0,"sender_hosts":[1],"receiver_hosts":[0]}]})", "t:1:19: "},
      {R"({"tasks":[{"size":1.5,"sender_hosts":[1],"receiver_hosts":[0]}]})", "t:1:19: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[],"receiver_hosts":[0]}]})", "t:1:36: no host"},
      {R"({"tasks":[{"size":1,"sender_hosts":[1,1],"receiver_hosts":[0]}]})",
       "t:1:39: host 1 stands twice"},
      {R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[-1]}]})", "t:1:58: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[1]}]})", "t:1:11: "},
      {R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[0],"to":1}]})", "t:1:61: "},
  };
  for (const auto& [text, message] : bad) {
    CAPTURE(text);
    try {
      read_tasks("t", text);
      FAIL("no error");
    } catch (const InputError& error) {
      CAPTURE(error.what());
      CHECK(std::string(error.what()).rfind(message, 0) == 0);
    }
  }
}
