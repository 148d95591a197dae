// Other programs: their end, their output, what is said when they fail.
#include "backup/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <string>
#include <thread>

#include "backup/file_tree.h"
#include "file/temporary_directory.h"

namespace hailstone {
namespace {

class ChildProcessTest : public testing::Test {
 protected:
  Status shell(const std::string& command, const std::string& output = {}) {
    return run_program({"sh", "-c", command}, log_, {}, output);
  }
  TemporaryDirectory directory_;
  const std::string log_ = directory_.file("log");
};

TEST_F(ChildProcessTest, OutputGoesToTheLogOrAFile) {
  ASSERT_TRUE(shell("echo out; echo err >&2"));
  ASSERT_TRUE(shell("echo again"));
  EXPECT_EQ(*read_text(log_), "out\nerr\nagain\n");
  ASSERT_TRUE(shell("echo out; echo err >&2", directory_.file("out")));
  EXPECT_EQ(*read_text(directory_.file("out")), "out\n");
  EXPECT_EQ(*read_text(log_), "out\nerr\nagain\nerr\n");
}

TEST_F(ChildProcessTest, AFailureHasTheLastLines) {
  const Status done = shell("for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 3");
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message().contains("exit code 3")) << done.error().message();
  EXPECT_TRUE(done.error().message().ends_with("line 3\nline 4\nline 5\nline 6\nline 7"))
      << done.error().message();
  const Status killed = shell("kill -9 $$");
  ASSERT_FALSE(killed);
  EXPECT_TRUE(killed.error().message().contains("signal 9")) << killed.error().message();
}

TEST_F(ChildProcessTest, AProgramThatIsNotThere) {
  const Status done = run_program({"no-such-program"}, log_, {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::NotFound);
  EXPECT_TRUE(done.error().message().contains("no-such-program")) << done.error().message();
}

TEST_F(ChildProcessTest, IsKilledWhenItIsStoppedOrForgotten) {
  int asked = 0;
  const Status done = run_program({"sleep", "1000"}, log_, [&] { return ++asked > 2; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::Interrupted);
  {
    auto child = ChildProcess::start({"sh", "-c", "echo $$; exec sleep 1000"}, log_);
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->is_running());
    while (read_text(log_)->empty()) std::this_thread::yield();
  }
  EXPECT_EQ(kill(std::stoi(*read_text(log_)), 0), -1);
  EXPECT_EQ(errno, ESRCH);
  auto ended = ChildProcess::start({"sh", "-c", "exit 1"}, log_);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->wait({}));
  EXPECT_FALSE(ended->is_running());
}

}  // namespace
}  // namespace hailstone
