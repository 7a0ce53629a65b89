#include "server/pick.h"
#include <dirent.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { BUSY_MS = 500 };

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The share of wins in eval-rule.json beside the model, if it is of this model. */
static double share_of_model(const char *model) {
    char path[PICK_PATH_BYTES];
    const char *a, *b;
    double wp = -1, share = -1;
    int folder = (int)(last_part(model) - model);
    snprintf(path, sizeof path, "%.*seval-rule.json", folder, model);
    json_t *o = json_load_file(path, 0, NULL);
    if (json_unpack(o, "{s:s, s:s, s:F}", "a", &a, "b", &b, "wp", &wp) == 0 &&
        strncmp(a, "net:", 4) == 0 && strcmp(last_part(a + 4), last_part(model)) == 0 &&
        strcmp(b, "rule") == 0)
        share = wp;
    json_decref(o);
    return share;
}

void pick_init(Pick *p, const char *model, const char *run) {
    *p = (Pick){model, run, model ? share_of_model(model) : -1};
}

static bool file_in(const char *folder, const char *name, struct stat *st, char *out) {
    int n = snprintf(out, PICK_PATH_BYTES, "%s/%s", folder, name);
    return n < PICK_PATH_BYTES && stat(out, st) == 0 && S_ISREG(st->st_mode);
}

/* The run itself, or of several the one whose weights are newest; false: no weights yet. */
static bool find_run(const char *run, char folder[PICK_PATH_BYTES]) {
    char path[PICK_PATH_BYTES], name[PICK_PATH_BYTES];
    struct stat st;
    time_t newest = 0;
    snprintf(folder, PICK_PATH_BYTES, "%s", run);
    if (file_in(run, "weights.safetensors", &st, path)) return true;
    DIR *d = opendir(run);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        int n = snprintf(name, sizeof name, "%s/%s", run, e->d_name);
        if (e->d_name[0] == '.' || n >= (int)sizeof name) continue;
        if (!file_in(name, "weights.safetensors", &st, path) || st.st_mtime <= newest) continue;
        newest = st.st_mtime;
        memcpy(folder, name, sizeof name);
    }
    if (d) closedir(d);
    return newest != 0;
}

/* The best share of wins that the run had against `rule`; < 0: it has not been measured. */
static double share_of_run(const char *folder) {
    char path[PICK_PATH_BYTES];
    struct stat st;
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    double share = -1;
    if (!file_in(folder, "metrics.sqlite", &st, path)) return -1;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        sqlite3_prepare_v2(db, "SELECT max(wp) FROM evaluation WHERE opponent = 'rule'", -1, &q,
                           NULL);
        if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL)
            share = sqlite3_column_double(q, 0);
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return share;
}

void pick_weights(const Pick *p, char out[PICK_PATH_BYTES]) {
    char folder[PICK_PATH_BYTES];
    struct stat st;
    snprintf(out, PICK_PATH_BYTES, "%s", p->model ? p->model : "");
    if (!p->run || !find_run(p->run, folder)) return;
    bool better = p->bar < 0 || share_of_run(folder) > p->bar;
    if (better || !p->model) file_in(folder, "weights.safetensors", &st, out);
}
