/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages by RDMA WRITE into a ring in the receiver's memory: the receiver posts no receives, and
 * polls no completions for them. Each end has
 *
 *	an inbox   memory with a ring for each sender, and one thread that reads it
 *	lines      one for each peer: a connected RC QP, the peer's ring in our inbox, and our ring
 *	           in the peer's inbox
 *
 *	bsn_msg_inbox_create(device, &(struct bsn_msg_inbox_attr){ .senders = 8 }, &inbox);
 *	bsn_msg_line_create(inbox, qp, user, &line);   each QP, of BSN_MSG_RECORD bytes inline
 *	bsn_msg_line_address(line, &mine);             exchange(&mine, &peer); bsn_qp_connect()
 *	bsn_msg_line_connect(line, &peer);
 *
 *	bsn_msg_send(line, "hello", 5, BSN_F_RING);
 *	bsn_msg_poll(inbox, &msg);                     msg.data, msg.length, msg.line
 *
 * Messages do not depend on the order in which their bytes arrive:
 *
 *	short     up to BSN_MSG_SHORT bytes are in their record of 64 bytes, one inline WRITE. The
 *	          record's first word is a checksum of the ring's key, the message's number, its
 *	          length and all of its bytes; the receiver takes the record after it is right
 *	longer    the bytes are one WRITE, and the record is a later WRITE of the same QP. An RC QP
 *	          executes WRITEs in order (IBTA 9.5), and inboxes never have relaxed ordering; so
 *	          the bytes are in memory when the record is
 *	credits   the receiver writes into the sender's inbox how many messages it took; that word
 *	          has a checksum, too
 *
 * A line fails with -EPROTO if a checksum stays wrong for @patience_ns, or if the peer gives
 * credits for messages that were never sent. The other lines go on.
 *
 * Threads: one thread uses an inbox and its lines, and is the poster of their QPs. The application
 *           posts no sends to these; receives, and other requests of the peer, are allowed.
 * Room: the application polls the CQ of the QPs: that frees room in the send queues, and reports
 *           broken connections. The lines' own requests are unsignaled; if one fails, its id is the
 *           line's address.
 *
 * Rules of parameters and results are those of bsn.h. Both paths have it.
 */
#ifndef BSN_MSG_H
#define BSN_MSG_H

#include "bsn.h"

BSN_HEADER_BEGIN

#define BSN_MSG_RECORD 64 /* bytes of a record: max_inline that a QP needs */
#define BSN_MSG_SHORT  48 /* bytes of a message that one WRITE carries */

/** struct bsn_msg_inbox - where messages arrive */
struct bsn_msg_inbox;

/** struct bsn_msg_line - messages to and from one peer */
struct bsn_msg_line;

/**
 * struct bsn_msg_inbox_attr - sizes, of each sender's ring
 * @pd: that of the QPs; NULL: the device's own
 * @senders: lines, at most; 0: 1
 * @depth: messages that may be unread; 4 to 65536, a power of two; 0: 64
 * @bytes: for messages longer than BSN_MSG_SHORT, each at most a quarter of this; a power of two up
 *	to 2^31; 0: none
 * @patience_ns: how long a checksum may stay wrong; 0: a second
 */
struct bsn_msg_inbox_attr {
	struct bsn_pd *pd;
	uint32_t senders;
	uint32_t depth;
	uint32_t bytes;
	uint64_t patience_ns;
};
BSN_API int bsn_msg_inbox_create(struct bsn_device *device, const struct bsn_msg_inbox_attr *attr,
				 struct bsn_msg_inbox **inbox);
/** bsn_msg_inbox_destroy - Return: -EBUSY it has lines */
BSN_API int bsn_msg_inbox_destroy(struct bsn_msg_inbox *inbox);

/**
 * bsn_msg_line_create - a ring for one peer
 * @qp: RC, of bsn_qp_create(), in the inbox's protection domain, with max_inline of BSN_MSG_RECORD;
 *	connected before the first message is sent
 * @user: comes with each message
 *
 * Return: -ENOSPC the inbox has as many lines as @senders; -EOPNOTSUPP not RC, or attached; -EINVAL
 * another domain, or too small a max_inline.
 */
BSN_API int bsn_msg_line_create(struct bsn_msg_inbox *inbox, struct bsn_qp *qp, void *user,
				struct bsn_msg_line **line);

/**
 * bsn_msg_line_destroy - destroys a line
 *
 * The peer must not send any more: if it might, call bsn_qp_fail() of the line's QP first. The QP
 * may be destroyed afterwards.
 */
BSN_API int bsn_msg_line_destroy(struct bsn_msg_line *line);

/** struct bsn_msg_address - where the peer writes; to be sent as it is */
struct bsn_msg_address {
	uint8_t bytes[64];
};
BSN_API int bsn_msg_line_address(const struct bsn_msg_line *line, struct bsn_msg_address *address);

/**
 * bsn_msg_line_connect - lets the line send to the peer's ring
 * @peer: bsn_msg_line_address() of the peer's line
 *
 * Return: -EPROTO not the address of a line, or of a host of another byte order; -EISCONN it is
 * already connected.
 */
BSN_API int bsn_msg_line_connect(struct bsn_msg_line *line, const struct bsn_msg_address *peer);

/**
 * bsn_msg_send - sends a message; its bytes are copied now
 * @length: up to the QP's max_inline, and no more than a quarter of the peer's @bytes; up to
 *	BSN_MSG_SHORT always
 * @flags: BSN_F_RING; or 0: a later message with it, or bsn_msg_ring(), publishes this one
 *
 * Order: the peer gets the messages of a line in the order in which they were sent
 * Context: the inbox's thread; no allocation, no lock, no system call
 * Return: 0; -EAGAIN the peer has not read enough, or the send queue is full: poll both; -EMSGSIZE
 * too long; -ENOTCONN; -EINVAL unknown flags; -EPROTO the peer's credits are wrong, and the line
 * has failed. Unless 0, nothing was sent.
 */
BSN_API int bsn_msg_send(struct bsn_msg_line *line, const void *data, uint32_t length,
			 unsigned flags);

/**
 * bsn_msg_send_from - a message longer than BSN_MSG_SHORT, from registered memory
 * @id: of the completion, where @flags have BSN_F_SIGNALED; after it the memory may change
 *
 * The rest is as of bsn_msg_send(); -EINVAL it is short.
 */
BSN_API int bsn_msg_send_from(struct bsn_msg_line *line, const struct bsn_sge *local, uint64_t id,
			      unsigned flags);

/** bsn_msg_ring - publishes what was sent without BSN_F_RING */
BSN_API int bsn_msg_ring(struct bsn_msg_line *line);

/**
 * struct bsn_msg - a message; @data is in the inbox, on a boundary of 8 bytes, until the next
 * bsn_msg_poll()
 */
struct bsn_msg {
	const void *data;
	uint32_t length;
	struct bsn_msg_line *line;
	void *user; /* of the line */
};

/**
 * bsn_msg_poll - the next message of any line; each line in turn
 *
 * Frees the message of the last call. The sender gets its credits a quarter of a ring at a time.
 * Context: as bsn_msg_send().
 * Return: 1; 0 there is none; -EPROTO a line has failed: @msg->line and @msg->user say which. That
 * is reported once for each line, which is then skipped.
 */
BSN_API int bsn_msg_poll(struct bsn_msg_inbox *inbox, struct bsn_msg *msg);

BSN_HEADER_END

#endif
