/* record_json.h - a game record as one JSON object, for people and other programs. docs/record.md
 * has an example. Both directions are exact: the same record comes back.                    */
#ifndef DIZHU_ACTORS_RECORD_JSON_H
#define DIZHU_ACTORS_RECORD_JSON_H
#include "engine/record.h"
#include <jansson.h>

/* A new reference; NULL: out of memory. */
json_t *record_to_json(const Record *r);
/* ST_PARSE: a field is missing, unknown or of the wrong kind; *why, if given, becomes a static text
 * that says what. The record has not been replayed.                                         */
Status record_from_json(const json_t *object, Record *out, const char **why);

#endif
