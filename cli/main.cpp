#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return p2::dispatch({argv + 1, argv + argc}, std::cout, std::cerr);
}
