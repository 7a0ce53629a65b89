/* ---- numbers as text: five letters for four bytes ---- */

typedef struct {
    const char *at;
    uint32_t bytes;
    int left; /* of bytes */
} Letters;

/* 85 letters from '#', without '?' and '\\'. */
static uint32_t letter_value(char c) {
    uint32_t v = (uint32_t)(unsigned char)c - 35;
    return v - (c > '?') - (c > '\\');
}

static uint32_t next_byte(Letters *l) {
    if (l->left == 0) {
        int i;
        l->bytes = 0;
        for (i = 0; i < 5; i++) l->bytes = l->bytes * 85 + letter_value(*l->at++);
        l->left = 4;
    }
    return l->bytes >> (8 * --l->left) & 255;
}

static float next_float(Letters *l) {
    uint32_t u = 0;
    float f;
    int i;
    for (i = 0; i < 4; i++) u |= next_byte(l) << (8 * i);
    memcpy(&f, &u, sizeof f);
    return f;
}
