/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts: each is one open of the device, with its objects. */
#include "kernel.h"

#include <stdlib.h>

static struct uverbs_context *contexts;

struct uverbs_context *uverbs_open(const struct uverbs_host *host)
{
	struct uverbs_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->host = host;
	ctx->hca = host->hca;
	ctx->config = cx_config(host->hca);
	if (cx_context_create(ctx->hca, &ctx->number)) {
		free(ctx);
		return NULL;
	}
	pthread_mutex_lock(&kernel_lock);
	ctx->next = contexts;
	contexts = ctx;
	pthread_mutex_unlock(&kernel_lock);
	return ctx;
}

void uverbs_close(struct uverbs_context *ctx)
{
	pthread_mutex_lock(&kernel_lock);
	if (!ctx->foreign) {
		object_destroy_all(ctx);
		event_files_orphan(ctx);
		cx_context_destroy(ctx->hca, ctx->number);
	}
	for (struct uverbs_context **link = &contexts; *link; link = &(*link)->next) {
		if (*link == ctx) {
			*link = ctx->next;
			break;
		}
	}
	pthread_mutex_unlock(&kernel_lock);
	free(ctx);
}

void uverbs_after_fork_child(void)
{
	pthread_mutex_init(&kernel_lock, NULL);
	for (struct uverbs_context *ctx = contexts; ctx; ctx = ctx->next)
		ctx->foreign = true;
	event_files_disown();
	watch_after_fork_child();
}
