/* export_parts.h - the text of the exported bot, built in: actors/export/NAME, by name. */
#ifndef DIZHU_ACTORS_EXPORT_PARTS_H
#define DIZHU_ACTORS_EXPORT_PARTS_H

typedef struct {
    const char *name, *text;
} ExportPart;

/* Ends with a NULL name. Generated from the directory when the build is configured. */
extern const ExportPart export_parts[];

#endif
