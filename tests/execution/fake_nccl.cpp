// A stand-in for NCCL and the CUDA runtime, for hosts without a GPU: the entry points that
// engine/execution/nccl uses, between processes forked from one, on memory of the host. It checks
// what NCCL asks of its callers, that all ranks of a communicator make the same call, and writes
// down every call as it comes in, if FAKE_NCCL_RECORD names a folder.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "engine/execution/elements.h"
#include "tests/execution/shared_arena.h"

namespace {

using p2::execution::BFloat16;

constexpr int kMost = 64;

struct Call {
  int what = 0;
  std::size_t count = 0;
  int type = 0;
  int root = 0;
};

/// Halves of transfers that wait for the others, by sender and receiver.
struct Mail {
  static constexpr int kMostRanks = 24;
  static constexpr int kMostHalves = 64;
  struct Queue {
    int begin = 0;
    int end = 0;
    struct Half {
      void* memory;
      std::size_t bytes;
      std::atomic<int>* open;  // operations of its rank's group that are not done
    } halves[kMostHalves];
  };
  Queue sends[kMostRanks][kMostRanks];
  Queue receives[kMostRanks][kMostRanks];
};

/// A communicator, in memory that all ranks share.
struct Room {
  int ranks = 0;
  int world[kMost];  // the ranks of its members in the first communicator
  int here = 0;
  std::uint64_t round = 0;
  bool differ = false;
  Call call;
  const void* send[kMost];
  void* receive[kMost];
  int colour[kMost];
  int key[kMost];
  Room* given[kMost];
  int position[kMost];
  Mail* mail = nullptr;  // made for the first transfer
};

/// An operation of the group that is open in this process.
struct Posted {
  Room* room;
  int from;
  int to;
  bool is_send;
  void* memory;
  std::size_t bytes;
};
std::vector<Posted> posted;

}  // namespace

struct ncclComm {
  Room* room;
  int position;
};

namespace {

/// Posts what this rank brings; the last to come does the work of all.
template <typename Post, typename Work>
bool meet(Room& room, Post post, Work work) {
  SharedArena& shared = shared_arena();
  ::pthread_mutex_lock(&shared.mutex);
  post();
  const std::uint64_t round = room.round;
  if (++room.here == room.ranks) {
    if (!room.differ) work();
    room.here = 0;
    ++room.round;
    ::pthread_cond_broadcast(&shared.changed);
  }
  while (room.round == round) ::pthread_cond_wait(&shared.changed, &shared.mutex);
  const bool same = !room.differ;
  ::pthread_mutex_unlock(&shared.mutex);
  return same;
}

template <typename Element, typename Sum>
void add_up(const Room& room, std::size_t first, std::size_t count, void* to) {
  std::vector<Element> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    Sum sum{};
    for (int rank = 0; rank < room.ranks; ++rank) {
      sum += static_cast<Sum>(static_cast<const Element*>(room.send[rank])[first + i]);
    }
    result[i] = static_cast<Element>(sum);
  }
  std::memcpy(to, result.data(), count * sizeof(Element));
}

void add_up(const Room& room, std::size_t first, std::size_t count, void* to) {
  switch (room.call.type) {
    case ncclFloat64:
      return add_up<double, double>(room, first, count, to);
    case ncclInt32:
      return add_up<std::int32_t, std::uint32_t>(room, first, count, to);
    case ncclBfloat16:
      return add_up<BFloat16, float>(room, first, count, to);
    default:
      return add_up<float, float>(room, first, count, to);
  }
}

std::size_t bytes_of(int type) { return type == ncclFloat64 ? 8 : type == ncclBfloat16 ? 2 : 4; }

constexpr const char* kNames[] = {"AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast"};

void work(Room& room) {
  const Call& call = room.call;
  const std::size_t bytes = call.count * bytes_of(call.type);
  switch (call.what) {
    case 0: {
      void* sum = std::malloc(bytes);
      add_up(room, 0, call.count, sum);
      for (int rank = 0; rank < room.ranks; ++rank) std::memcpy(room.receive[rank], sum, bytes);
      std::free(sum);
      break;
    }
    case 1:
      for (int rank = 0; rank < room.ranks; ++rank) {
        add_up(room, static_cast<std::size_t>(rank) * call.count, call.count, room.receive[rank]);
      }
      break;
    case 2:
      for (int to = 0; to < room.ranks; ++to) {
        for (int rank = 0; rank < room.ranks; ++rank) {
          std::memcpy(
              static_cast<std::byte*>(room.receive[to]) + static_cast<std::size_t>(rank) * bytes,
              room.send[rank], bytes);
        }
      }
      break;
    case 3:
      add_up(room, 0, call.count, room.receive[call.root]);
      break;
    default:
      for (int rank = 0; rank < room.ranks; ++rank) {
        if (rank != call.root) std::memcpy(room.receive[rank], room.send[call.root], bytes);
      }
  }
}

void record(const ncclComm& comm, const Call& call) {
  const char* folder = std::getenv("FAKE_NCCL_RECORD");
  if (folder == nullptr) return;
  const Room& room = *comm.room;
  const std::string name = std::to_string(room.world[comm.position]);
  std::ofstream file(std::string(folder) + "/rank-" + name, std::ios::app);
  file << kNames[call.what] << " [";
  for (int rank = 0; rank < room.ranks; ++rank) file << (rank == 0 ? "" : ",") << room.world[rank];
  file << "] position " << comm.position << " count " << call.count << " type " << call.type
       << " root " << call.root << "\n";
}

ncclResult_t collective(ncclComm* comm, const void* send, void* receive, const Call& call) {
  record(*comm, call);
  Room& room = *comm->room;
  const auto key = [](const Call& of) { return std::tuple(of.what, of.count, of.type, of.root); };
  const bool same = meet(
      room,
      [&] {
        if (room.here == 0) room.call = call;
        room.differ = room.differ || key(room.call) != key(call);
        room.send[comm->position] = send;
        room.receive[comm->position] = receive;
      },
      [&] { work(room); });
  return same ? ncclSuccess : ncclInvalidUsage;
}

/// Deals the ranks of `room` out by colour, in the order of their keys.
void split(Room& room) {
  std::fill_n(room.given, room.ranks, nullptr);
  for (int rank = 0; rank < room.ranks; ++rank) {
    if (room.colour[rank] == NCCL_SPLIT_NOCOLOR || room.given[rank] != nullptr) continue;
    std::vector<int> members;
    for (int other = rank; other < room.ranks; ++other) {
      if (room.colour[other] == room.colour[rank]) members.push_back(other);
    }
    std::stable_sort(members.begin(), members.end(),
                     [&](int a, int b) { return room.key[a] < room.key[b]; });
    auto* made = new (take_shared(sizeof(Room))) Room;
    made->ranks = static_cast<int>(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      made->world[i] = room.world[members[i]];
      room.given[members[i]] = made;
      room.position[members[i]] = static_cast<int>(i);
    }
  }
}

/// Pairs an operation with the first that waits for it, or has it wait. Holds the lock.
bool pair_up(const Posted& each, std::atomic<int>* open) {
  if (each.room->mail == nullptr) each.room->mail = new (take_shared(sizeof(Mail))) Mail;
  Mail& mail = *each.room->mail;
  Mail::Queue& others = (each.is_send ? mail.receives : mail.sends)[each.from][each.to];
  Mail::Queue& own = (each.is_send ? mail.sends : mail.receives)[each.from][each.to];
  if (others.begin == others.end) {
    own.halves[own.end++ % Mail::kMostHalves] = {each.memory, each.bytes, open};
    return own.end - own.begin <= Mail::kMostHalves;
  }
  const Mail::Queue::Half& other = others.halves[others.begin++ % Mail::kMostHalves];
  if (other.bytes != each.bytes) return false;
  void* to = each.is_send ? other.memory : each.memory;
  const void* from = each.is_send ? each.memory : other.memory;
  std::memcpy(to, from, each.bytes);
  --*other.open;
  --*open;
  return true;
}

ncclResult_t post(ncclComm* comm, int peer, bool is_send, void* memory, std::size_t bytes) {
  const int from = is_send ? comm->position : peer;
  const int to = is_send ? peer : comm->position;
  if (std::max(from, to) >= Mail::kMostRanks) return ncclInvalidArgument;
  posted.push_back({comm->room, from, to, is_send, memory, bytes});
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGroupStart() { return posted.empty() ? ncclSuccess : ncclInvalidUsage; }

ncclResult_t ncclGroupEnd() {
  static auto* open = new (take_shared(sizeof(std::atomic<int>))) std::atomic<int>(0);
  SharedArena& shared = shared_arena();
  ::pthread_mutex_lock(&shared.mutex);
  *open = static_cast<int>(posted.size());
  bool fits = true;
  for (const Posted& each : posted) fits = pair_up(each, open) && fits;
  posted.clear();
  ::pthread_cond_broadcast(&shared.changed);
  while (*open > 0 && fits) ::pthread_cond_wait(&shared.changed, &shared.mutex);
  ::pthread_mutex_unlock(&shared.mutex);
  return fits ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclSend(const void* memory, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t) {
  return post(comm, peer, true, const_cast<void*>(memory), count * bytes_of(type));
}
ncclResult_t ncclRecv(void* memory, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
  return post(comm, peer, false, memory, count * bytes_of(type));
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  auto* room = new (take_shared(sizeof(Room))) Room;
  std::memcpy(id->internal, &room, sizeof(room));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  Room* room = nullptr;
  std::memcpy(&room, id.internal, sizeof(room));
  *comm = new ncclComm{room, rank};
  meet(
      *room,
      [&] {
        room->ranks = ranks;
        room->world[rank] = rank;
      },
      [] {});
  return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t* made, ncclConfig_t*) {
  Room& room = *comm->room;
  meet(
      room,
      [&] {
        room.colour[comm->position] = colour;
        room.key[comm->position] = key;
      },
      [&] { split(room); });
  Room* given = room.given[comm->position];
  *made = given == nullptr ? nullptr : new ncclComm{given, room.position[comm->position]};
  // Nobody splits again before all have read.
  meet(
      room, [] {}, [] {});
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t) { return "the ranks made different calls"; }

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  return collective(comm, send, receive, {0, count, type, -1});
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  return collective(comm, send, receive, {1, count, type, -1});
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  return collective(comm, send, receive, {2, count, type, -1});
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t, int root, ncclComm_t comm, cudaStream_t) {
  return collective(comm, send, receive, {3, count, type, root});
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t) {
  return collective(comm, send, receive, {4, count, type, root});
}
}
