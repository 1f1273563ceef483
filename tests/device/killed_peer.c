/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status of a request whose peer was killed. The peer is a process of its own, on the same
 * device. Speaks TAP. usage: killed_peer DEVICE
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "bsn_syndrome.h"
#include "end.h"

/* The retries that make the wait short: 4.096 us << 14, twice, at the most four times that. */
static const struct bsn_connect_attr impatient = { .retry_count = 1, .timeout = 14 };

/* What travels between the two. */
struct card {
	struct bsn_address address;
	struct bsn_remote memory;
};

static void open_card(struct end *e, const char *device, struct card *card)
{
	open_end(e, device, NULL, 0);
	must(bsn_qp_address(e->qp, &card->address));
	card->memory = bsn_remote_of(e->buf, 0);
}

static void send_card(int fd, const struct card *card)
{
	if (write(fd, card, sizeof(*card)) != sizeof(*card))
		die("the other process is gone");
}

static void get_card(int fd, struct card *card)
{
	if (read(fd, card, sizeof(*card)) != sizeof(*card))
		die("the other process is gone");
}

/* Answers, connects, answers again, and waits to be killed. */
static void be_peer(const char *device)
{
	struct card mine, other;
	struct end e;

	open_card(&e, device, &mine);
	get_card(STDIN_FILENO, &other);
	must(bsn_qp_connect(e.qp, &other.address, &impatient));
	send_card(STDOUT_FILENO, &mine);
	get_card(STDIN_FILENO, &other); /* never comes */
}

static pid_t start_peer(char *self, char *device, int *to, int *from)
{
	int there[2], back[2];
	pid_t peer;

	if (pipe(there) || pipe(back))
		die("no pipes");
	peer = fork();
	if (peer < 0)
		die("no process");
	if (!peer) {
		dup2(there[0], STDIN_FILENO);
		dup2(back[1], STDOUT_FILENO);
		close(there[1]);
		execv(self, (char *[]){ self, device, (char *)"peer", NULL });
		_exit(127);
	}
	close(there[0]);
	close(back[1]);
	*to = there[1];
	*from = back[0];
	return peer;
}

static struct bsn_completion write_to(struct end *e, const struct bsn_remote *memory)
{
	const struct bsn_sge local = bsn_sge_of(e->buf, 0, 64);

	must(bsn_write(bsn_qp_ep(e->qp), &local, memory, 1, BSN_F_SIGNALED | BSN_F_RING));
	return await(e);
}

static void kill_and_ask(char *self, char *device)
{
	struct bsn_completion before, after;
	struct card mine, other;
	struct end e;
	int to, from;
	const pid_t peer = start_peer(self, device, &to, &from);

	open_card(&e, device, &mine);
	send_card(to, &mine);
	get_card(from, &other);
	must(bsn_qp_connect(e.qp, &other.address, &impatient));
	before = write_to(&e, &other.memory);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	after = write_to(&e, &other.memory);
	printf("syndromes: a peer that was killed: %#x %#x, expected %#x %#x\n",
	       (unsigned)after.syndrome, (unsigned)after.vendor_syndrome,
	       (unsigned)BSN_SYNDROME_RETRY_EXCEEDED, (unsigned)BSN_VENDOR_TIMEOUT_EXCEEDED);
	if (before.status || !after.status)
		printf("not ");
	printf("ok 1 - a peer that was killed\n1..1\n# alive: %s; killed: %s\n",
	       ibv_wc_status_str(before.status), ibv_wc_status_str(after.status));
	close_end(&e);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[2], "peer"))
		be_peer(argv[1]);
	else if (argc == 2)
		kill_and_ask(argv[0], argv[1]);
	else
		fprintf(stderr, "usage: killed_peer DEVICE\n");
	return argc == 2 ? 0 : 2;
}
