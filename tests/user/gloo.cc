// SPDX-License-Identifier: GPL-2.0
/*
 * gloo.cc - a rank of a program of gloo, which is given no transport but that of verbs: sums over
 * all ranks by a ring of chunks, and by halving and doubling, and a broadcast from each rank. All
 * data is checked. A rank that finds a wrong number says where, and ends.
 *
 *	gloo DEVICE INDEX RANK RANKS DIR
 *
 * INDEX is that of a GID, and DIR an empty directory in which the ranks find each other.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/ibverbs/device.h>

namespace {

using Numbers = std::vector<uint64_t>;

const int counts[] = { 1, 7, 1000, 65539, 262144 };
const int rounds = 3;	/* with the same queue pairs */

int rank, ranks;

struct Ranks {
	std::shared_ptr<gloo::transport::Device> device;
	gloo::rendezvous::FileStore files;
	std::vector<std::shared_ptr<void>> kept;

	Ranks(const std::string &name, int index, const std::string &dir) :
		device(gloo::transport::ibverbs::CreateDevice({ name, 1, index })), files(dir)
	{
	}

	/*
	 * New queue pairs to all other ranks. A pair of gloo has few slots for buffers, so each
	 * algorithm has its own.
	 */
	std::shared_ptr<gloo::Context> connect(const std::string &name)
	{
		auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
		gloo::rendezvous::PrefixStore store(name, files);

		context->connectFullMesh(store, device);
		return context;
	}

	/* A Work over new queue pairs, which are found by @name, that lives as long as this rank */
	template <class Kind, class... More>
	std::shared_ptr<Kind> keep(const std::string &name, More... more)
	{
		auto work = std::make_shared<Kind>(connect(name), more...);

		kept.push_back(work);
		return work;
	}

	/* Wait until all ranks have come here, and what they have sent has completed. */
	void end()
	{
		std::vector<std::string> names;

		files.set("end" + std::to_string(rank), {});
		for (int of = 0; of < ranks; of++)
			names.push_back("end" + std::to_string(of));
		files.wait(names);
		std::this_thread::sleep_for(std::chrono::seconds(1));
	}
};

uint64_t number(int of, int at)
{
	return (of + 1) * (uint64_t)0x9e3779b97f4a7c15 + at * (uint64_t)(at + of);
}

void check(const std::string &what, const Numbers &numbers, int at, uint64_t wanted)
{
	if (numbers[at] == wanted)
		return;
	printf("NOT OK  gloo: rank %d: %s: number %d of %zu is %#llx and not %#llx\n", rank,
	       what.c_str(), at, numbers.size(), (unsigned long long)numbers[at],
	       (unsigned long long)wanted);
	exit(1);
}

/*
 * Numbers of a rank and an algorithm that works on them, with a context of its own. gloo ends a
 * program that destroys a buffer before its last send has completed, over each device, and its
 * algorithms do not wait for each of theirs: so these stay until all ranks have ended.
 */
template <class Algorithm> struct Work {
	Numbers numbers;
	Algorithm algorithm;

	template <class... More>
	Work(const std::shared_ptr<gloo::Context> &context, int count, More... more) :
		numbers(count), algorithm(context, { numbers.data() }, count, more...)
	{
	}
};

/* Each round sums what the one before has left, which is the same at all ranks. */
template <class Algorithm> void sum(Ranks &all, const std::string &what)
{
	for (int count : counts) {
		auto work = all.keep<Work<Algorithm>>(what + std::to_string(count), count);
		Numbers &numbers = work->numbers, wanted(count);

		for (int at = 0; at < count; at++) {
			numbers[at] = number(rank, at);
			for (int of = 0; of < ranks; of++)
				wanted[at] += number(of, at);
		}
		for (int round = 0; round < rounds; round++) {
			work->algorithm.run();
			for (int at = 0; at < count; at++) {
				check(what, numbers, at, wanted[at]);
				wanted[at] *= ranks;
			}
		}
	}
}

void broadcast(Ranks &all, const std::string &what)
{
	for (int count : counts) {
		for (int root = 0; root < ranks; root++) {
			auto work = all.keep<Work<gloo::BroadcastOneToAll<uint64_t>>>(
				what + std::to_string(count) + "." + std::to_string(root), count, root);
			Numbers &numbers = work->numbers;

			for (int at = 0; at < count && rank == root; at++)
				numbers[at] = number(root, at);
			work->algorithm.run();
			for (int at = 0; at < count; at++)
				check(what, numbers, at, number(root, at));
		}
	}
}

void done(const char *what)
{
	if (!rank)
		printf("ok      gloo: %s, %d ranks\n", what, ranks);
	fflush(stdout);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "Usage: gloo DEVICE INDEX RANK RANKS DIR\n");
		return 2;
	}
	rank = atoi(argv[3]), ranks = atoi(argv[4]);
	try {
		Ranks all(argv[1], atoi(argv[2]), argv[5]);

		sum<gloo::AllreduceRingChunked<uint64_t>>(all, "ring");
		done("allreduce_ring_chunked");
		sum<gloo::AllreduceHalvingDoubling<uint64_t>>(all, "halving");
		done("allreduce_halving_doubling");
		broadcast(all, "broadcast");
		done("broadcast_one_to_all");
		all.end();
	} catch (const std::exception &error) {
		printf("NOT OK  gloo: rank %d: %s\n", rank, error.what());
		return 1;
	}
	if (!rank)
		printf("3 passed, 0 failed\n");
	return 0;
}
