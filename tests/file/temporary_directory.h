// A directory of its own for a test, removed with everything in it. In memory, where the system has a place
// for it, for tests that care about what files hold and not about a real disk: they write little and sync
// much.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace hailstone {

class TemporaryDirectory {
 public:
  enum class Place { Disk, Memory };

  explicit TemporaryDirectory(Place place = Place::Disk) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = place == Place::Memory && ::access(memory.c_str(), W_OK | X_OK) == 0;
    std::string name =
        (in_memory ? memory : std::filesystem::temp_directory_path()) / "hailstone-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a directory like " << name;
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;  // a directory left behind is no failure of what was tested
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hailstone
