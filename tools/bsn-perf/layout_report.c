/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `bsn-perf layout`: for people, and as JSON. */
#include "layout.h"

#include "perf.h"

enum { NAME_WIDTH = 22 };

/* -- for people ------------------------------------------------------------------------------- */

static void print_figure(FILE *to, const struct layout_figures *f, double value)
{
	if (f->is_there)
		fprintf(to, " %11.1f", value);
	else
		fprintf(to, " %11s", "-");
}

/* Bunsen's share of libmlx5's. */
static void print_share(FILE *to, double bunsen, double libmlx5)
{
	if (libmlx5 > 0)
		fprintf(to, " %7.0f %%", 100 * bunsen / libmlx5);
	fputc('\n', to);
}

static void print_sides(FILE *to)
{
	fprintf(to, "%-*s", NAME_WIDTH, "");
	for (unsigned side = 0; side < LAYOUT_SIDES; side++)
		fprintf(to, " %11s", layout_sides[side]->name);
	fputs("   bunsen/libmlx5\n", to);
}

static void print_table(FILE *to, const struct layout *layout,
			double (*of)(const struct layout_figures *))
{
	print_sides(to);
	for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++) {
		const struct layout_figures *const mlx5 = &layout->figures[LAYOUT_SIDE_MLX5][row];
		if (!layout->wanted[row])
			continue;
		fprintf(to, "%-*s", NAME_WIDTH, layout_rows[row].name);
		for (unsigned side = 0; side < LAYOUT_SIDES; side++)
			print_figure(to, &layout->figures[side][row],
				     of(&layout->figures[side][row]));
		print_share(to, of(&layout->figures[LAYOUT_SIDE_BUNSEN][row]),
			    mlx5->is_there ? of(mlx5) : -1);
	}
}

static double median_of_figures(const struct layout_figures *f)
{
	return f->ns;
}

static double p10_of_figures(const struct layout_figures *f)
{
	return f->ns_p10;
}

static double instructions_of(const struct layout_figures *f)
{
	return f->instructions;
}

static const char *const shown[] = { "mmio",         "mmio_bytes", "wqe_fetch", "wqe_fetch_bytes",
				     "payload_read", "cqe_write" };
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

static void print_bus(FILE *to, const struct layout *layout)
{
	fprintf(to, "%-*s %-11s", NAME_WIDTH, "", "");
	for (unsigned i = 0; i < SHOWN; i++)
		fprintf(to, " %16s", shown[i]);
	fputc('\n', to);
	for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++) {
		for (unsigned side = 0; side < LAYOUT_SIDES; side++) {
			const struct bus *bus = &layout->figures[side][row].bus;
			if (!bus->count)
				continue;
			fprintf(to, "%-*s %-11s", NAME_WIDTH, layout_rows[row].name,
				layout_sides[side]->name);
			for (unsigned i = 0; i < SHOWN; i++)
				fprintf(to, " %16.5g", bus_value(bus, shown[i]));
			fputc('\n', to);
		}
	}
}

void layout_print_text(FILE *to, const struct layout *layout)
{
	const struct bsn_device_info *info = layout->rig.info;

	fprintf(to, "device %s: %s\nstore %s, CPU %s\n", info->name, info->path_why,
		store_name(info), cpu_name());
	for (unsigned side = 0; side < LAYOUT_SIDES; side++)
		if (layout->why_not[side])
			fprintf(to, "no %s: %s\n", layout_sides[side]->name, layout->why_not[side]);
	fprintf(to, "\nns per operation, median of %u rounds\n", layout->rounds);
	print_table(to, layout, median_of_figures);
	fputs("\nns per operation, tenth percentile\n", to);
	print_table(to, layout, p10_of_figures);
	if (layout->has_instructions) {
		fputs("\ninstructions per operation, by callgrind\n", to);
		print_table(to, layout, instructions_of);
	}
	if (layout->has_bus) {
		fputs("\nwhat each asks the bus for; how a device reads is softcx's choice\n", to);
		print_bus(to, layout);
	}
}

/* -- as JSON ---------------------------------------------------------------------------------- */

static struct json_object *bus_to_json(const struct bus *bus)
{
	struct json_object *object = json_object_new_object();

	for (unsigned i = 0; i < bus->count; i++)
		json_object_object_add(object, bus->counters[i].name,
				       json_figure(bus->counters[i].value));
	return object;
}

static struct json_object *figures_to_json(const struct layout *layout,
					   const struct layout_figures *f)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "ns", json_figure(f->ns));
	json_object_object_add(object, "ns_p10", json_figure(f->ns_p10));
	if (layout->has_instructions)
		json_object_object_add(object, "instructions", json_figure(f->instructions));
	if (f->bus.count)
		json_object_object_add(object, "bus", bus_to_json(&f->bus));
	return object;
}

void layout_print_json(FILE *to, const struct layout *layout)
{
	struct json_object *report = json_object_new_object(), *rows = json_object_new_array();

	json_add_device(report, layout->rig.info);
	json_object_object_add(report, "rounds", json_object_new_int((int)layout->rounds));
	for (unsigned row = 0; row < LAYOUT_ROW_COUNT; row++) {
		struct json_object *object = layout->wanted[row] ? json_object_new_object() : NULL;
		if (!object)
			continue;
		json_object_object_add(object, "op", json_object_new_string(layout_rows[row].name));
		for (unsigned side = 0; side < LAYOUT_SIDES; side++)
			if (layout->figures[side][row].is_there)
				json_object_object_add(
					object, layout_sides[side]->name,
					figures_to_json(layout, &layout->figures[side][row]));
		json_object_array_add(rows, object);
	}
	json_object_object_add(report, "rows", rows);
	json_print(to, report);
}
