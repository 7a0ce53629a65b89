#include "server/pages.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE = 32 << 20, MAX_DEPTH = 6 };

struct Pages {
    Page *page;
    int n, cap;
};

static const char *mime_of(const char *path) {
    static const struct {
        const char *suffix, *mime;
    } kinds[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".webmanifest", "application/manifest+json"},
        {".wasm", "application/wasm"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".txt", "text/plain; charset=utf-8"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i].suffix) == 0) return kinds[i].mime;
    return "application/octet-stream";
}

static Page *find(const Pages *p, const char *path) {
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->page[i].path, path) == 0) return &p->page[i];
    return NULL;
}

static Page *find_or_add(Pages *p, const char *path) {
    Page *page = find(p, path);
    if (page) return page;
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 32;
        p->page = realloc(p->page, (size_t)p->cap * sizeof *p->page);
        if (!p->page) abort();
    }
    page = &p->page[p->n++];
    memset(page, 0, sizeof *page);
    snprintf(page->path, sizeof page->path, "%s", path);
    page->mime = mime_of(path);
    page->forever = strncmp(path, "/assets/", 8) == 0;
    return page;
}

static void set_etag(Page *page) {
    uint8_t hash[16];
    char hex[2 * sizeof hash + 1];
    crypto_generichash(hash, sizeof hash, page->plain.p, page->plain.n, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(page->etag, sizeof page->etag, "\"%s\"", hex);
}

static Status add_file(Pages *p, const char *file, const char *path) {
    uint8_t *bytes;
    size_t n, len = strlen(path);
    char name[256];
    if (len >= sizeof name) return ST_OK; // no link of ours is that long
    TRY(file_read(file, MAX_FILE, &bytes, &n));
    memcpy(name, path, len + 1);
    bool gz = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    bool br = len > 3 && strcmp(path + len - 3, ".br") == 0;
    if (gz || br) name[len - 3] = '\0';
    Page *page = find_or_add(p, name);
    Body body = {bytes, n};
    if (gz) page->gzip = body;
    else if (br) page->brotli = body;
    else page->plain = body;
    if (!gz && !br) set_etag(page);
    return ST_OK;
}

static Status add_folder(Pages *p, const char *dir, const char *prefix, int depth) {
    DIR *d = opendir(dir);
    if (!d) {
        log_error("%s: %s", dir, strerror(errno));
        return ST_IO;
    }
    Status st = ST_OK;
    for (struct dirent *e; st == ST_OK && (e = readdir(d)) != NULL;) {
        char file[1024], path[1024];
        struct stat s;
        if (e->d_name[0] == '.') continue;
        snprintf(file, sizeof file, "%s/%s", dir, e->d_name);
        snprintf(path, sizeof path, "%s/%s", prefix, e->d_name);
        if (lstat(file, &s) != 0) continue;
        if (S_ISREG(s.st_mode)) st = add_file(p, file, path);
        else if (S_ISDIR(s.st_mode) && depth < MAX_DEPTH) st = add_folder(p, file, path, depth + 1);
    }
    closedir(d);
    return st;
}

Status pages_load(const char *dir, Pages **out) {
    Pages *p = calloc(1, sizeof *p);
    if (!p) return ST_NOMEM;
    Status st = add_folder(p, dir, "", 0);
    if (st == ST_OK && !find(p, "/index.html")) {
        log_error("%s has no index.html: is the page built?", dir);
        st = ST_IO;
    }
    if (st != ST_OK) {
        pages_free(p);
        return st;
    }
    *out = p;
    return ST_OK;
}

void pages_free(Pages *p) {
    for (int i = 0; p && i < p->n; i++) {
        free((void *)p->page[i].plain.p);
        free((void *)p->page[i].gzip.p);
        free((void *)p->page[i].brotli.p);
    }
    if (p) free(p->page);
    free(p);
}

const Page *pages_find(const Pages *p, const char *path) {
    const char *last = strrchr(path, '/');
    if (!last || !strchr(last, '.')) path = "/index.html";
    const Page *page = find(p, path);
    return page && page->plain.p ? page : NULL;
}
