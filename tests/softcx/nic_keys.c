/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The translation of random keys over keys: lists, repeat blocks and equal pieces, with circles,
 * nonsense and huge numbers. A second translator, which goes byte by byte and has no table, says
 * where each byte of a range is. The model's spans must cover exactly those bytes, and there are
 * never more spans than bytes.
 */
#include "unit.h"
#include "bsn_cmd.h"
#include "bsn_umr.h"
#include "datasheet.h"
#include "nic/keys.h"
#include "rig.h"

enum {
	MKEYS = 8,
	MOST_ENTRIES = 12,
	REGIONS = 3,
	MOST_LENGTH = 600,
	GRAPHS = 5000,
	RANGES = 60,
};

/* A key as the test made it. */
struct key {
	uint32_t number, pdn, mode, page_log2, room;
	int access;
	uint64_t start, length, va;
	struct bsn_klm entries[MOST_ENTRIES]; /* as they were written, 16 bytes each */
	uint8_t bytes[MOST_ENTRIES * BSN_XLT_SIZE];
};

static struct rig rig;
static struct key keys[MKEYS + REGIONS];
static uint32_t other_pd;
static uint64_t seed;

static uint32_t pick(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* -- the second translator --------------------------------------------------------------------- */

static const struct key *find_key(uint32_t number)
{
	for (unsigned i = 0; i < MKEYS + REGIONS; i++)
		if (keys[i].number == number)
			return &keys[i];
	return NULL;
}

/* Finds the entry of a byte by adding up lengths; false after the last entry. */
static bool find_entry(const struct key *key, uint64_t offset, uint32_t *mkey, uint64_t *addr)
{
	struct bsn_repeat repeat;
	uint64_t round;

	if (key->mode == BSN_MKEY_MODE_KSM) {
		const uint64_t page = offset >> key->page_log2;
		if (page >= key->room)
			return false;
		*mkey = key->entries[page].mkey;
		offset -= page << key->page_log2;
		*addr = key->entries[page].va + offset;
		return *addr >= offset;
	}
	if (key->entries[0].mkey != BSN_REPEAT_OP) {
		for (unsigned i = 0; i < key->room; offset -= key->entries[i++].byte_count) {
			if (offset >= key->entries[i].byte_count)
				continue;
			*mkey = key->entries[i].mkey;
			*addr = key->entries[i].va + offset;
			return *addr >= offset;
		}
		return false;
	}
	bsn_repeat_decode(&repeat, key->bytes);
	if (!repeat.byte_count || repeat.num_entries >= key->room)
		return false;
	round = offset / repeat.byte_count;
	offset %= repeat.byte_count;
	for (unsigned i = 1; i <= repeat.num_entries && round < repeat.repeat_count; i++) {
		struct bsn_repeat_entry entry;
		bsn_repeat_entry_decode(&entry, key->bytes + (size_t)i * BSN_XLT_SIZE);
		if (offset < entry.byte_count) {
			*mkey = entry.mkey;
			*addr = entry.va + round * entry.stride + offset;
			return *addr >= entry.va;
		}
		offset -= entry.byte_count;
	}
	return false;
}

/* The address of a byte; 0: it does not open. */
static uint64_t translate(uint32_t number, uint64_t addr, int access)
{
	const int writes =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	for (unsigned depth = 0; depth <= CX_MAX_INDIRECTION; depth++) {
		const struct key *key = find_key(number);
		if (!key || key->pdn != rig.pd || addr < key->start ||
		    addr - key->start >= key->length || access & ~key->access)
			return 0;
		if (key->mode == BSN_MKEY_MODE_MTT)
			return key->va + (addr - key->start);
		if (depth == CX_MAX_INDIRECTION ||
		    !find_entry(key, addr - key->start, &number, &addr))
			return 0;
		access = access & writes ? IBV_ACCESS_LOCAL_WRITE : 0;
	}
	return 0;
}

/* -- random keys ------------------------------------------------------------------------------- */

static uint32_t pick_count(void)
{
	static const uint32_t odd[] = { 0, 1, UINT16_MAX, (1u << 31) - 1, 1u << 31 };

	return pick(5) ? 1 + pick(200) : odd[pick(5)];
}

static uint64_t pick_addr(uint32_t number)
{
	const struct key *key = find_key(number);

	if (!pick(20))
		return (uint64_t)pick(UINT32_MAX) << 32;
	return (key ? key->start : 0) + pick(key && key->mode == BSN_MKEY_MODE_MTT ? 3000 : 300);
}

/* Picks mostly a region; else any mkey, even itself, or a key that does not exist. */
static uint32_t pick_key(void)
{
	static const uint32_t none[] = { 0, 0x100, UINT32_MAX };

	if (!pick(40))
		return none[pick(3)];
	if (!pick(20))
		return keys[MKEYS + 1 + pick(REGIONS - 1)].number;
	return pick(2) ? keys[MKEYS].number : keys[pick(MKEYS)].number;
}

static void make_repeat(struct key *key)
{
	static const uint32_t repeats[] = { 0, 1, 3, 7, UINT32_MAX };
	struct bsn_repeat repeat = { .op = BSN_REPEAT_OP, .repeat_count = repeats[pick(5)] };

	repeat.num_entries = pick(8) ? 1 + pick(key->room - 1) : pick(UINT16_MAX + 1);
	for (unsigned i = 1; i < key->room; i++) {
		struct bsn_repeat_entry entry = { .stride = pick(4) ? pick(300) : pick(3) * 32767,
						  .byte_count = pick_count() & UINT16_MAX,
						  .mkey = pick_key() };

		entry.va = pick_addr(entry.mkey);
		if (i <= repeat.num_entries)
			repeat.byte_count += entry.byte_count;
		bsn_repeat_entry_encode(key->bytes + (size_t)i * BSN_XLT_SIZE, &entry);
	}
	if (!pick(10))
		repeat.byte_count = pick_count();
	bsn_repeat_encode(key->bytes, &repeat);
}

static void make_list(struct key *key)
{
	for (unsigned i = 0; i < key->room; i++) {
		struct bsn_klm klm = { .byte_count = pick_count(), .mkey = pick_key() };
		klm.va = pick_addr(klm.mkey);
		bsn_klm_encode(key->bytes + (size_t)i * BSN_XLT_SIZE, &klm);
	}
}

static void fill_key(struct key *key)
{
	static const uint32_t pages[] = { 0, 3, 8, 12, 31 };

	key->pdn = pick(30) ? rig.pd : other_pd;
	key->mode = pick(3) ? BSN_MKEY_MODE_KLM : BSN_MKEY_MODE_KSM;
	key->page_log2 = pages[pick(5)];
	key->room = 4 + 4 * pick(MOST_ENTRIES / 4);
	key->access = pick(4) ? RIG_ACCESS : (int)pick(16);
	key->start = pick(3) ? 0 : pick(2) ? pick(1000) : UINT64_MAX - pick(1000);
	key->length = pick(4) ? 1 + pick(1500) : pick(2) ? UINT64_MAX : 1ull << 40;
	if (key->mode == BSN_MKEY_MODE_KLM && pick(2))
		make_repeat(key);
	else
		make_list(key);
	for (unsigned i = 0; i < key->room; i++)
		bsn_klm_decode(&key->entries[i], key->bytes + (size_t)i * BSN_XLT_SIZE);
}

static void create_mkey(struct key *key)
{
	const struct bsn_mkey_ctx ctx = {
		.a = !!(key->access & IBV_ACCESS_REMOTE_ATOMIC),
		.rw = !!(key->access & IBV_ACCESS_REMOTE_WRITE),
		.rr = !!(key->access & IBV_ACCESS_REMOTE_READ),
		.lw = !!(key->access & IBV_ACCESS_LOCAL_WRITE),
		.access_mode_1_0 = key->mode,
		.mkey_7_0 = key->number & UINT8_MAX,
		.pd = key->pdn,
		.start_addr = key->start,
		.len = key->length,
		.log_page_size = key->page_log2,
	};

	/* as predicted */
	assert_int_equal(rig_mkey_create(&rig, &ctx, key->entries, key->room), key->number);
}

static void destroy_mkey(const struct key *key)
{
	uint8_t in[BSN_MEANING_IN_SIZE], out[BSN_CMD_OUT_SIZE];

	ENCODE(cmd_in, in, .opcode = BSN_CMD_DESTROY_MKEY);
	ENCODE(cmd_object, in + BSN_CMD_OBJECT_OFFSET, .number = key->number >> 8);
	assert_int_equal(cx_command(rig.hca, NULL, in, sizeof(in), out, sizeof(out)), 0);
}

static void create_region(struct key *key, uint32_t pdn, int access)
{
	const struct cx_mr_attr attr = { .pdn = pdn,
					 .va = (uintptr_t)rig.buf,
					 .iova = 0x5000,
					 .length = sizeof(rig.buf),
					 .access = access };

	*key = (struct key){ .pdn = pdn,
			     .mode = BSN_MKEY_MODE_MTT,
			     .access = access,
			     .start = attr.iova,
			     .length = attr.length,
			     .va = attr.va };
	assert_int_equal(cx_mr_create(rig.hca, &attr, &key->number), 0);
}

/* Keys name each other before they exist, so their numbers are predicted: indices count upwards. */
static void make_graph(uint32_t *next_index)
{
	for (unsigned i = 0; i < MKEYS; i++)
		keys[i] = (struct key){ .number = (*next_index)++ << 8 | pick(256) };
	for (unsigned i = 0; i < MKEYS; i++)
		fill_key(&keys[i]);
	for (unsigned i = 0; i < MKEYS; i++)
		create_mkey(&keys[i]);
}

/* -- ranges ------------------------------------------------------------------------------------ */

static bool opens_by_bytes(const struct key *key, uint64_t addr, uint32_t length, int access)
{
	for (uint32_t i = 0; i < length; i++)
		if (!translate(key->number, addr + i, access))
			return false;
	return true;
}

static void check_spans(const struct key *key, uint64_t addr, uint32_t length,
			const struct cx_claim *claim)
{
	struct cx_span span;

	for (uint32_t done = 0; done < length; done += (uint32_t)span.len) {
		assert_int_equal(
			cx_key_span(rig.hca, key->number, claim, addr + done, length - done, &span),
			CX_TPT_OK);
		assert_in_range(span.len, 1, length - done);
		for (uint32_t i = 0; i < span.len; i++)
			assert_int_equal(span.va + i,
					 translate(key->number, addr + done + i, claim->access));
	}
}

/* Checks one range of a key; returns whether it opened. */
static bool check_range(const struct key *key)
{
	static const int accesses[] = { 0, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE,
					IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC };
	const struct cx_claim claim = { rig.pd, rig.qp[0].number, accesses[pick(5)] };
	const uint64_t addr = key->start + (pick(10) ? pick(600) : pick(UINT32_MAX));
	const uint32_t length = 1 + pick(pick(4) ? 60 : MOST_LENGTH);
	const bool wraps = addr + length - 1 < addr;
	struct cx_walk walk = cx_walk_key(key->number, addr, &(struct cx_qp){ 0 }, 0, length);
	unsigned detail;

	walk.claim = claim;
	detail = cx_walk_check(rig.hca, &walk);
	assert_int_equal(!detail, !wraps && opens_by_bytes(key, addr, length, claim.access));
	if (!detail)
		check_spans(key, addr, length, &claim);
	return !detail;
}

static void random_keys_translate_as_by_hand(void **state)
{
	const char *given = getenv("BSN_SEED");
	uint32_t next_index, opened = 0;

	seed = given ? strtoull(given, NULL, 0) : 7;
	printf("# BSN_SEED=%llu\n", (unsigned long long)seed);
	rig_setup(&rig, IBV_QPT_RC);
	assert_int_equal(cx_pd_create(rig.hca, &other_pd), 0);
	create_region(&keys[MKEYS], rig.pd, RIG_ACCESS);
	create_region(&keys[MKEYS + 1], rig.pd, IBV_ACCESS_REMOTE_READ);
	create_region(&keys[MKEYS + 2], other_pd, RIG_ACCESS);
	next_index = (keys[MKEYS + 2].number >> 8) + 1;
	for (unsigned graph = 0; graph < GRAPHS; graph++) {
		make_graph(&next_index);
		for (unsigned i = 0; i < RANGES; i++)
			opened += check_range(&keys[pick(MKEYS)]);
		for (unsigned i = 0; i < MKEYS; i++)
			destroy_mkey(&keys[i]);
	}
	printf("# %u of %u ranges open\n", opened, GRAPHS * RANGES);
	assert_true(opened > GRAPHS * RANGES / 50);
	rig_teardown(&rig);
}

/* On a device that is gone, only calls that destroy something work. */
static void a_removed_device_gives_its_keys_back(void **state)
{
	struct cx_config config = rig_config();
	uint8_t in[16] = { 0 }, out[16];
	uint32_t pd;

	config.fault_plan = "remove-device";
	rig_open(&rig, &config);
	rig_qp_create(&rig, &rig.qp[0]);
	rig_qp_connect(&rig, &rig.qp[0], rig.qp[0].number);
	assert_int_equal(cx_pd_create(rig.hca, &pd), 0);
	keys[0] = (struct key){
		.number = ((rig.key >> 8) + 1) << 8, .pdn = pd, .mode = BSN_MKEY_MODE_KLM, .room = 4
	};
	create_mkey(&keys[0]);
	rig_post_write(&rig, &rig.qp[0], rig.buf, rig.buf + 64, 8, BSN_CE_ALWAYS);
	cx_step(rig.hca, 0);
	assert_true(cx_is_removed(rig.hca));
	ENCODE(cmd_in, in, .opcode = BSN_CMD_NOP);
	assert_int_equal(cx_command(rig.hca, NULL, in, sizeof(in), out, sizeof(out)), -EIO);
	assert_int_equal(cx_pd_destroy(rig.hca, pd), -EBUSY);
	destroy_mkey(&keys[0]);
	assert_int_equal(cx_pd_destroy(rig.hca, pd), 0);
	rig_teardown(&rig);
}

UNIT_MAIN(NULL, UNIT(random_keys_translate_as_by_hand), UNIT(a_removed_device_gives_its_keys_back))
