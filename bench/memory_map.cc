// The rows of ./run bench memory in a std::map, for what memory and a processor can do without a server.
// usage: memory_map ROWS
// Prints rows inserted a second, resident memory above idle, bytes of the values, and rows found a second.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

namespace {

constexpr uint64_t most_text = 4096, lookups = 1'000'000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t resident() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:" && status >> word) return std::stoull(word) * 1024;
  }
  std::fprintf(stderr, "memory_map: /proc/self/status does not tell the resident memory\n");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: memory_map ROWS\n");
    return 1;
  }
  const uint64_t rows = std::strtoull(argv[1], nullptr, 10);
  uint64_t state = 88172645463325252U;
  const auto next_random = [&] {
    state ^= state << 13;  // xorshift64, Marsaglia 2003
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  const uint64_t idle = resident();
  std::map<uint32_t, std::string> map;
  uint64_t bytes = 0;
  double start = now();
  for (uint64_t id = 1; id <= rows; ++id) {
    std::string text(next_random() % (most_text + 1), '\0');
    for (size_t i = 0; i + sizeof state <= text.size(); i += sizeof state) {
      const uint64_t value = next_random();
      std::memcpy(text.data() + i, &value, sizeof value);
    }
    bytes += sizeof(uint32_t) + text.size();
    map.emplace_hint(map.end(), static_cast<uint32_t>(id), std::move(text));
  }
  const double inserting = now() - start;
  const uint64_t taken = resident() - idle;
  start = now();
  uint64_t found = 0;
  for (uint64_t i = 0; i < lookups; ++i) found += map.count(static_cast<uint32_t>(next_random() % rows + 1));
  const double finding = now() - start;
  if (found != lookups) return 1;
  std::printf("%.0f %llu %llu %.0f\n", static_cast<double>(rows) / inserting,
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(bytes),
              static_cast<double>(lookups) / finding);
  return 0;
}
