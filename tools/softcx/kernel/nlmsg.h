/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of netlink: adds attributes to answers, and finds them in requests. */
#ifndef SOFTCX_NLMSG_H
#define SOFTCX_NLMSG_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rdma/rdma_netlink.h>

#include "nldev.h"

enum {
	PART_SIZE = 3072, /* some programs read with a buffer of one page */
	ENTRY_SIZE = 384, /* attributes of one object never take more */
};

/* -- messages ---------------------------------------------------------------------------------- */

struct message {
	_Alignas(NLMSG_ALIGNTO) uint8_t bytes[NLMSG_ALIGN(PART_SIZE + 2 * ENTRY_SIZE)];
	size_t size;
};

static inline struct nlmsghdr *header_of(struct message *m)
{
	return (struct nlmsghdr *)(void *)m->bytes;
}

static inline void begin(struct message *m, uint32_t port, uint32_t seq, uint16_t type,
			 uint16_t flags)
{
	memset(m->bytes, 0, sizeof(m->bytes));
	m->size = NLMSG_HDRLEN;
	*header_of(m) = (struct nlmsghdr){
		.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = seq, .nlmsg_pid = port
	};
}

static inline void send_message(struct message *m, nldev_sink *sink, void *context)
{
	header_of(m)->nlmsg_len = (uint32_t)m->size;
	sink(context, m->bytes, m->size);
}

static inline void put(struct message *m, uint16_t type, const void *value, size_t size)
{
	const struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };

	memcpy(m->bytes + m->size, &attr, sizeof(attr));
	memcpy(m->bytes + m->size + NLA_HDRLEN, value, size);
	m->size += NLA_HDRLEN + NLA_ALIGN(size);
}

static inline void put_u8(struct message *m, uint16_t type, unsigned value)
{
	put(m, type, &(uint8_t){ (uint8_t)value }, 1);
}

static inline void put_u32(struct message *m, uint16_t type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

static inline void put_u64(struct message *m, uint16_t type, uint64_t value)
{
	put(m, type, &value, sizeof(value));
}

static inline void put_text(struct message *m, uint16_t type, const char *text)
{
	put(m, type, text, strlen(text) + 1);
}

/* All attributes up to nest_end() are inside of it. */
static inline size_t nest(struct message *m, uint16_t type)
{
	const size_t at = m->size;

	put(m, type | NLA_F_NESTED, "", 0);
	return at;
}

static inline void nest_end(struct message *m, size_t at)
{
	const uint16_t length = (uint16_t)(m->size - at);

	memcpy(m->bytes + at + offsetof(struct nlattr, nla_len), &length, sizeof(length));
}

/* -- requests ---------------------------------------------------------------------------------- */

enum { ASKED_MAX = RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID };

struct asked {
	const struct nlmsghdr *header;
	const struct nlattr *attrs[ASKED_MAX + 1]; /* NULL: it is not there */
};

static inline struct asked parse(const struct nlmsghdr *header)
{
	struct asked asked = { .header = header };
	const uint8_t *at = (const uint8_t *)header + NLMSG_HDRLEN;
	size_t left = header->nlmsg_len - NLMSG_HDRLEN;

	while (left >= NLA_HDRLEN) {
		const struct nlattr *attr = (const struct nlattr *)(const void *)at;
		const unsigned type = attr->nla_type & NLA_TYPE_MASK;
		const size_t size = NLA_ALIGN(attr->nla_len);

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > left)
			break;
		if (type <= ASKED_MAX)
			asked.attrs[type] = attr;
		at += size;
		left -= size < left ? size : left;
	}
	return asked;
}

static inline bool asks_u32(const struct asked *asked, unsigned type, uint32_t *value)
{
	const struct nlattr *attr = asked->attrs[type];

	if (!attr || attr->nla_len < NLA_HDRLEN + sizeof(*value))
		return false;
	memcpy(value, (const uint8_t *)attr + NLA_HDRLEN, sizeof(*value));
	return true;
}

static inline bool asks_text(const struct asked *asked, unsigned type, const char *text)
{
	const struct nlattr *attr = asked->attrs[type];
	const size_t size = strlen(text);

	return attr && attr->nla_len >= NLA_HDRLEN + size &&
	       !strncmp((const char *)attr + NLA_HDRLEN, text, attr->nla_len - NLA_HDRLEN);
}

#endif
