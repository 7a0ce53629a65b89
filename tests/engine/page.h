/* page.h - reads the worked examples of docs/: the first block of a page in a given language. */
#ifndef DIZHU_TESTS_ENGINE_PAGE_H
#define DIZHU_TESTS_ENGINE_PAGE_H
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text between ```LANGUAGE and ``` of docs/PAGE; empty if there is none. */
static inline void page_block(const char *page, const char *language, char *out, size_t max) {
    char path[512], line[512], fence[32];
    snprintf(path, sizeof path, "%s/docs/%s", SOURCE_DIR, page);
    int n = snprintf(fence, sizeof fence, "```%s", language);
    FILE *f = fopen(path, "r");
    size_t size = 0;
    bool in = false;
    out[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        if (in && strncmp(line, "```", 3) == 0) break;
        if (in && size + strlen(line) < max) size += (size_t)sprintf(out + size, "%s", line);
        if (strncmp(line, fence, (size_t)n) == 0) in = true;
    }
    if (f) fclose(f);
}

/* The bytes of the first hex block: two digits each, `#` starts a comment. 0: none, or not hex. */
static inline size_t page_hex(const char *page, uint8_t *out, size_t max) {
    char text[8192];
    size_t n = 0;
    page_block(page, "hex", text, sizeof text);
    for (char *p = text; *p;) {
        if (*p == '#') p += strcspn(p, "\n");
        if (isspace((unsigned char)*p)) p++;
        else if (n < max && isxdigit((unsigned char)p[0]) && isxdigit((unsigned char)p[1])) {
            out[n++] = (uint8_t)strtoul((char[]){p[0], p[1], 0}, NULL, 16);
            p += 2;
        } else if (*p) return 0;
    }
    return n;
}

#endif
