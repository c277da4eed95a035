// Tests an AllReduce of one's own over all ranks, without any library:
//   p2-verify oracle examples/oracle/allreduce.p2 --output vectors
//   g++ -std=c++20 examples/oracle/check.cpp -o check && ./check vectors 4
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

std::vector<float> load(const std::string& path) {  // .npy 1.0: 10 bytes, a header, the elements
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::size_t start =
      10 + static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  const auto* first = reinterpret_cast<const float*>(bytes.data() + start);
  return {first, first + (bytes.size() - start) / sizeof(float)};
}

int main(int, char** argv) {
  const std::string folder = std::string(argv[1]) + "/";
  const int ranks = std::stoi(argv[2]);
  std::vector<float> sum = load(folder + "input-rank-0.npy");  // what is tested: put yours here
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<float> input = load(folder + "input-rank-" + std::to_string(rank) + ".npy");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[i];
  }
  bool right = true;
  for (int rank = 0; rank < ranks; ++rank) {
    right = right && load(folder + "expected-rank-" + std::to_string(rank) + ".npy") == sum;
  }
  std::cout << (right ? "every rank has the right sum\n" : "wrong\n");
  return right ? 0 : 1;
}
