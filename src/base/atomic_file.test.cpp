// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/check.h"
#include "support/error_text.h"
#include "support/temp_folder.h"

namespace nbx {
namespace {

int files_in(const TempFolder& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) count += entry.exists();
  return count;
}

TEST(AtomicFile, TheTargetHasTheOldContentUntilCommitAndThenTheNew) {
  const TempFolder folder;
  const std::string path = folder.write("a.txt", "old");
  AtomicFile file(path);
  file.write("new ");
  file.write("content");
  EXPECT_EQ(TempFolder::read(path), "old");
  EXPECT_EQ(file.written(), 11);
  file.commit();
  EXPECT_EQ(TempFolder::read(path), "new content");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, WithoutCommitNothingIsLeft) {
  const TempFolder folder;
  EXPECT_THROW(
      {
        AtomicFile file(folder / "a.txt");
        file.write("half");
        throw Error(Code::cancelled, "stopped");
      },
      Error);
  EXPECT_EQ(files_in(folder), 0);
}

TEST(AtomicFile, ANewFileHasTheUsualModeAndAnOldOneKeepsIts) {
  const TempFolder folder;
  const mode_t mask = ::umask(022);
  write_file_atomically(folder / "new.txt", "x");
  ::umask(mask);
  struct stat facts = {};
  ASSERT_EQ(::stat((folder / "new.txt").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0644u);
  const std::string old = folder.write("old.txt", "x");
  ASSERT_EQ(::chmod(old.c_str(), 0600), 0);
  write_file_atomically(old, "y");
  ASSERT_EQ(::stat(old.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST(AtomicFile, ALinkStaysALinkAndItsTargetIsReplaced) {
  const TempFolder folder;
  const std::string target = folder.write("target.txt", "old");
  std::filesystem::create_symlink(target, folder / "link.txt");
  write_file_atomically(folder / "link.txt", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(TempFolder::read(target), "new");
}

TEST(AtomicFile, AFolderThatIsNotThereAndATargetThatIsNoFileAreNamed) {
  const TempFolder folder;
  const std::string path = folder / "absent/a.txt";
  EXPECT_NAMES(error_text(Code::file, [&] { AtomicFile file(path); }), path);
  EXPECT_NAMES(error_text(Code::file, [&] { AtomicFile file(folder / "."); }), "not a regular file");
  error_text(Code::file, [] { write_file_atomically("", "x"); });
}

}  // namespace
}  // namespace nbx
