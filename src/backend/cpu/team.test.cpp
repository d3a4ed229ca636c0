// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/team.h"

#include <gtest/gtest.h>
#include <nbx/error.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nbx {
namespace {

const int kSizes[] = {1, 2, 3, 7, 64};

TEST(Team, EveryChunkRunsExactlyOnceWithAWorkerOfItsOwn) {
  for (int threads : kSizes) {
    Team team(threads);
    EXPECT_EQ(team.threads(), threads);
    const auto busy = std::make_unique<std::atomic<int>[]>(static_cast<size_t>(threads));
    std::vector<int> hits(1000, 0);  // plain ints: the sanitizer sees two threads on one chunk
    for (int round = 0; round < 20; ++round)
      team.run(1000, [&](int64_t chunk, int worker) {
        ASSERT_TRUE(worker >= 0 && worker < threads);
        EXPECT_EQ(busy[static_cast<size_t>(worker)].fetch_add(1), 0);
        ++hits[static_cast<size_t>(chunk)];
        busy[static_cast<size_t>(worker)].fetch_sub(1);
      });
    for (int h : hits) ASSERT_EQ(h, 20);
  }
}

TEST(Team, ResultsOfARunAreVisibleToTheCallerAndToTheNextRun) {
  for (int threads : kSizes) {
    Team team(threads);
    std::vector<int64_t> a(64, 1), b(64, 0);
    for (int round = 0; round < 200; ++round) {
      team.run(64, [&](int64_t c, int) { b[static_cast<size_t>(c)] = a[static_cast<size_t>(63 - c)] + 1; });
      team.run(64, [&](int64_t c, int) { a[static_cast<size_t>(c)] = b[static_cast<size_t>(63 - c)]; });
    }
    for (int64_t v : a) ASSERT_EQ(v, 201);
  }
}

TEST(Team, AnEmptyRangeCallsNothing) {
  Team team(3);
  team.run(0, [](int64_t, int) { FAIL(); });
  team.run(-5, [](int64_t, int) { FAIL(); });
  parallel_rows(team, 0, 4, [](int64_t, int64_t) { FAIL(); });
}

TEST(Team, OneChunkRunsOnTheCaller) {
  Team team(7);
  const auto self = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i)
    team.run(1, [&](int64_t chunk, int worker) {
      EXPECT_EQ(chunk, 0);
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(std::this_thread::get_id(), self);
    });
}

TEST(Team, SeveralThreadsTakePart) {
  Team team(2);
  std::atomic<int> arrived{0};
  // Each chunk waits for the other: this ends only when both threads run at once.
  team.run(2, [&](int64_t, int) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(Team, ANestedCallRunsInlineWithTheSameWorker) {
  for (int threads : kSizes) {
    Team team(threads);
    std::atomic<int64_t> inner{0};
    team.run(16, [&](int64_t, int worker) {
      const auto self = std::this_thread::get_id();
      team.run(8, [&](int64_t, int nested) {
        EXPECT_EQ(nested, worker);
        EXPECT_EQ(std::this_thread::get_id(), self);
        inner.fetch_add(1);
      });
    });
    EXPECT_EQ(inner.load(), 16 * 8);
  }
}

TEST(Team, AChunkMayUseAnotherTeam) {
  Team outer(2), second(3);
  std::atomic<int> calls{0};
  outer.run(4, [&](int64_t, int) { second.run(5, [&](int64_t, int) { calls.fetch_add(1); }); });
  EXPECT_EQ(calls.load(), 20);
}

TEST(Team, AnExceptionReachesTheCallerOnceAndTheTeamGoesOn) {
  for (int threads : kSizes) {
    Team team(threads);
    std::atomic<int> inside{0};
    for (int round = 0; round < 10; ++round) {
      int caught = 0;
      try {
        team.run(100, [&](int64_t chunk, int) {
          inside.fetch_add(1);
          if (chunk % 10 == 3) {
            inside.fetch_sub(1);
            throw std::runtime_error("chunk");
          }
          inside.fetch_sub(1);
        });
      } catch (const std::runtime_error& e) {
        ++caught;
        EXPECT_STREQ(e.what(), "chunk");
        EXPECT_EQ(inside.load(), 0);
      }
      EXPECT_EQ(caught, 1);
      std::atomic<int> after{0};
      team.run(10, [&](int64_t, int) { after.fetch_add(1); });
      EXPECT_EQ(after.load(), 10);
    }
  }
}

TEST(Team, CallersOnSeveralThreadsTakeTurns) {
  Team team(3);
  int64_t unguarded = 0;  // safe only because one run at a time writes it, from one-chunk runs
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) team.run(1, [&](int64_t, int) { ++unguarded; });
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(unguarded, 400);
}

TEST(Team, SleepingWorkersWakeUp) {
  Team team(3);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
    team.run(3, [&](int64_t, int) {
      arrived.fetch_add(1);
      while (arrived.load() < 3) std::this_thread::yield();
    });
  }
}

TEST(Team, RowsAreCutByTheGrainAlone) {
  for (int threads : kSizes) {
    Team team(threads);
    std::vector<int> owner(103, -1);
    parallel_rows(team, 103, 10, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin % 10, 0);
      EXPECT_EQ(end, std::min<int64_t>(103, begin + 10));
      for (int64_t i = begin; i < end; ++i) owner[static_cast<size_t>(i)] = static_cast<int>(begin / 10);
    });
    for (int i = 0; i < 103; ++i) ASSERT_EQ(owner[static_cast<size_t>(i)], i / 10);
  }
}

TEST(Team, ScratchIsTheWorkersOwnAndStaysWhereItIs) {
  for (int threads : kSizes) {
    Team team(threads);
    std::vector<void*> first(static_cast<size_t>(threads), nullptr);
    for (size_t bytes : {size_t{4096}, size_t{100}, size_t{4096}})
      team.run_with_scratch(200, bytes, [&](int64_t chunk, int worker, void* scratch) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
        void*& seen = first[static_cast<size_t>(worker)];
        if (seen == nullptr) seen = scratch;
        EXPECT_EQ(seen, scratch);
        const size_t count = bytes / sizeof(int64_t);
        int64_t* p = static_cast<int64_t*>(scratch);
        for (size_t i = 0; i < count; ++i) p[i] = chunk;
        team.run_with_scratch(1, bytes, [&](int64_t, int, void* nested) { static_cast<int64_t*>(nested)[0] = -1; });
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(p[i], chunk);
      });
  }
}

TEST(Team, AThreadCountOutOfRangeIsNamed) {
  try {
    Team team(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::value);
    EXPECT_NE(std::string(e.what()).find("threads is 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace nbx
